/*
 * The connections of this process to the job that it was started in: the adapt board (pmi_adapt.h),
 * which it shares with the proxy, and the messages to the proxy.  Adaptations, sessions and process
 * requests use this file; it depends on none of them.
 *
 * Owned by whichever thread holds the library's critical section.
 */

#ifndef CONNECT_BOARD_H_INCLUDED
#define CONNECT_BOARD_H_INCLUDED

#include "mpiimpl.h"
#include "pmi_adapt.h"
#include <stdbool.h>

extern struct MPIR_Board {
    /* NULL: it is not open */
    struct pmi_adapt_control *control;
    struct pmi_adapt_slot *slot;
    size_t bytes;
    int fd;

    /* sent by the proxy at the start */
    unsigned uid;
    unsigned join_epoch;        /* 0: process of the launch */
    int pre, local_pre;         /* joining only: pre-existing processes, those of this host */
    /* joining only: by MPIX_Comm_modify, in the world when MPI_Init returns */
    bool created;

    /* this process has requested changes through process sets, or was started by one */
    bool changes_by_sets;
} MPIR_Board;

/* ---- connect_board.c ---- */
/* Maps the board that PMI_ADAPT names.  No MPI is needed.  Without the variable, or where it is not
 * for this process, nothing happens. */
void MPIR_Board_open(void);
void MPIR_Board_close(void);
/* Whether this process was started by an addition, and its number in the job, before anything is
 * initialised. */
bool MPIR_Board_joins(unsigned *uid);
/* Whether MPIX_Comm_modify creates this process, before anything is initialised. */
bool MPIR_Board_is_created(void);
/* Whether the board belongs to this process' group; queries PMI for its name, so after MPI_Init. */
int MPIR_Board_is_ours(void);
/* One-way message to the proxy, printf-like; the newline is added. */
int MPIR_Board_notify_proxy(const char *format, ...) ATTRIBUTE((format(printf, 1, 2)));

/* ---- connect_replies.c ---- */
/* The slot's count of answers (pmi_adapt_set.h), also of a process that does not adapt: it stays
 * mapped from then on.  NULL: there is none. */
uint32_t *MPIR_Board_answered(void);
/* The slot's entries for texts of process sets; NULL before the first call of the function
 * above. */
struct pmi_adapt_bcast *MPIR_Board_bcasts(void);
/* Of this process' slot, PMI_SET_CREATIONS_MAX; NULL: there is no board. */
uint64_t *MPIR_Board_creations(void);
/* Where `offer` and `invalidations` are; NULL before the first call of that function. */
const struct pmi_adapt_control *MPIR_Board_words(void);
/* The slot's entries for answers; NULL before the first call of that function. */
struct pmi_adapt_answer *MPIR_Board_answers(void);
/* Waits until that differs from seen, for a moment in which others get the processor; then makes
 * progress. */
int MPIR_Board_spin_for_answer(const uint32_t * answered, uint32_t seen);
/* Sleeps until that differs from seen, for at most some milliseconds; then makes progress. */
int MPIR_Board_await_answer(const uint32_t * answered, uint32_t seen);

#endif /* CONNECT_BOARD_H_INCLUDED */
