/*
 * A process' mailbox: the memory in which the lanes that lead to it end (posix_lane_ring.h), and who claims them.
 *
 * A nameless file of its own, which others of its user on its host open through /proc by what its card says, after
 * having looked that it is the right one (mpl_shm_nameless.h).  So nothing has to be found, named or cleaned up,
 * and in another pid namespace nothing is found.  It is made with the first card, sealed in its size, and holds no
 * pages but those that were written.
 *
 * A lane here is both directions: ours into the peer's mailbox, the peer's into ours.  States: free; claimed, in
 * the peer's mailbox; open, when the peer has claimed one in ours; departed, after its end; broken, if what comes is no
 * message.  All is under the critical section.
 */

#ifndef POSIX_MAILBOX_H_INCLUDED
#define POSIX_MAILBOX_H_INCLUDED

#include "posix_lane_ring.h"

#define MPIDI_POSIX_LANES_MAX 256

enum lane_state { LANE_FREE, LANE_CLAIMED, LANE_BROKEN, LANE_OPEN, LANE_DEPARTED };

/* Where a process' mailbox is, and which one. */
struct lane_card {
    char boot[40];              /* the host, since it was started */
    unsigned pid, fd;
    unsigned long long device, inode, nonce;
};

struct mailbox_head;
struct lane_wait;               /* posix_lanes.c */

struct lane {
    enum lane_state state;
    bool busy;                  /* while a message of it is handled */
    struct lane_end in, out;
    struct lane_pace pace;      /* of what is long and goes out */
    MPIR_Request *active;       /* the message that comes in parts */
    struct lane_card peer;
    int avtid, lpid;            /* its address */
    unsigned stuck;             /* how often nothing could be sent since something could */
    struct lane_wait *waits, *last_wait;        /* messages that have gone out and wait for an answer, in order */
    unsigned looks;             /* how often they were looked at */
    /* claimed: the head of the peer's mailbox, and the place there; open: the memory of the lane */
    struct mailbox_head *head;
    size_t slot;
    void *memory;
    size_t memory_bytes;
    size_t own_slot;            /* where it ends in our mailbox */
};

extern struct lane MPIDI_POSIX_lane[MPIDI_POSIX_LANES_MAX];
extern int MPIDI_POSIX_lanes_top;       /* those from here on are free */

/* Rows of ch4_api.txt: lanes_card writes the own card as text, "" if there is no mailbox; lanes_offer claims a lane
 * for the process at that place of the tables, in the mailbox that a card tells; lanes_settle, when that process has
 * tried, too, returns the number of the open lane, or -1; lanes_undecided says whether a lane is claimed there and the
 * other process has not settled since; lanes_departed frees the first lane behind `number` whose
 * peer has ended and of which nothing waits to be received, and returns its number, or -1. */

/* Whether the peer still has its mailbox; if not, the lane is departed. */
bool MPIDI_POSIX_lane_lives(struct lane *lane);

/* The peer has ended: who waits for its answers gets an error. */
void MPIDI_POSIX_lane_fail_waits(struct lane *lane);

#endif /* POSIX_MAILBOX_H_INCLUDED */
