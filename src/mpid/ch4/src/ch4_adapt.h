/*
 * Adaptations of MPI_COMM_WORLD in ch4: what its parts (ch4_adapt.c, posix_adapt.c, ofi_adapt.c) offer
 * each other, and the hooks in upstream functions.  doc/design/world.md has the whole picture.
 *
 * The *union* is the table of all processes of an adaptation: the pre-existing ones at their ranks in
 * the old world, then the joining ones in the order of their own.  In the window av_table0 is the union;
 * commit compacts it, so that an index is a world rank again.
 */

#ifndef CH4_ADAPT_H_INCLUDED
#define CH4_ADAPT_H_INCLUDED

#include "pmi_adapt.h"

/* Source mark of this process' active messages, unique in the job; 0: not part of an elastic job. */
extern uint64_t MPIDI_Adapt_am_source;

/* The host's new shared memory, as its processes see it.  A slot is a place in the segment; local_index
 * gives the union index of the process that gets it. */
typedef struct {
    char *base;
    size_t bytes;
    int *local_index;
    int n_local, my_slot;
} MPIDI_Adapt_segment_t;

MPL_STATIC_INLINE_PREFIX const struct pmi_adapt_member
    *MPIDI_Adapt_plan_members(const struct pmi_adapt_plan *plan)
{
    return (const struct pmi_adapt_member *) ((const char *) plan + plan->members_offset);
}

MPL_STATIC_INLINE_PREFIX const struct pmi_adapt_host
    *MPIDI_Adapt_plan_hosts(const struct pmi_adapt_plan *plan)
{
    return (const struct pmi_adapt_host *) ((const char *) plan + plan->hosts_offset);
}

/* ---- ch4_adapt.c ---- */
/* An empty table of addresses, without references; NULL: no memory. */
MPIDI_av_table_t *MPIDI_Adapt_new_table(int size);
/* Hook of MPID_Comm_commit_pre_hook: nonzero if comm belongs to an adaptation and has its maps now. */
int MPIDI_Adapt_comm_map(MPIR_Comm * comm);

/* In the window: whether all of its processes share this host's memory, so that they use nothing else. */
bool MPIDI_Adapt_shares_memory(void);
/* Of a process that was there before, while the table in use is still the world's: makes the communicators of the
 * window over this one. */
int MPIDI_Adapt_make_comms_ahead(const struct pmi_adapt_plan *plan, int index,
                                 MPIDI_av_table_t * union_table);
/* The adaptation is withdrawn. */
int MPIDI_Adapt_drop_comms_ahead(void);

/* ---- ch4_adapt_ahead.c ---- */
/* What MPID_Adapt_ahead has made, now the caller's.  The table first; no segment: base is NULL. */
MPIDI_av_table_t *MPIDI_Adapt_take_table(void);
MPIDI_Adapt_segment_t MPIDI_Adapt_take_segment(void);
/* Commit: the segment that this process made (if it did) has been mapped by all of the host. */
void MPIDI_Adapt_close_made_segment(void);
/* Commit: so many have left, and these are their entries. */
int MPIDI_Adapt_gone_reserve(int n);
void MPIDI_Adapt_gone_add(const MPIDI_av_entry_t * entry, unsigned uid);

/* ---- ofi_adapt.c ---- */
int MPIDI_OFI_adapt_card(void **card, int *bytes);
/* Inserts the addresses of a card and fills the table entry. */
int MPIDI_OFI_adapt_insert(const void *card, int bytes, MPIDI_av_entry_t * entry);
/* Forgets a process that left with the number that it marked its active messages with. */
int MPIDI_OFI_adapt_remove(MPIDI_av_entry_t * entry, uint64_t am_source);
/* Mark that a process with this number uses. */
uint64_t MPIDI_OFI_adapt_am_source(unsigned uid);

/* ---- posix_adapt.c ---- */
/* Bytes of a segment for so many processes of a host. */
size_t MPIDI_POSIX_adapt_segment_bytes(int local_size);
/* Sets up the queues of one slot in a fresh segment; to be done for each before anybody moves. */
void MPIDI_POSIX_adapt_fill(const MPIDI_Adapt_segment_t * segment, int slot);
/* Looks at what this process will use first, so that it need not be mapped in the window. */
void MPIDI_POSIX_adapt_touch(const MPIDI_Adapt_segment_t * segment);
/* Prepare: the table of slots, room for which is given, goes by union index; what was index i is i + shift. */
void MPIDI_POSIX_adapt_renumber(int *slots, int union_size, int shift);
/* On a host that processes join (these do it beforehand, the others in begin): moves to the new segment, which is
 * this file's from here on. */
int MPIDI_POSIX_adapt_move(const MPIDI_Adapt_segment_t * segment);
/* Commit: what the collectives of this communicator of the former world use is given back by tidy. */
void MPIDI_POSIX_adapt_keep_collectives(MPIR_Comm * comm);
/* Commit: new_index[i] is the world rank of union index i, or -1. */
int MPIDI_POSIX_adapt_commit(const int *new_index, int union_size, int new_size);
/* Some time after commit, and before the next prepare: gives back the memory of the former world. */
int MPIDI_POSIX_adapt_tidy(void);

#endif /* CH4_ADAPT_H_INCLUDED */
