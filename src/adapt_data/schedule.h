/*
 * The elements of one array that one process sends, receives and keeps.  Pure: no MPI, no state but
 * its own.  SPEC-epop V1, V9.
 *
 * Each process of the window has one number: an old process its old rank, joining process j the
 * number old_size + j.
 */

#ifndef SCHEDULE_H_INCLUDED
#define SCHEDULE_H_INCLUDED

#include "distribution.h"

/* Elements that are contiguous in this process' part. */
struct adapt_run {
    int64_t first, count;       /* in the part */
};

/* The elements that are exchanged with one process, in increasing order of elements. */
struct adapt_peer {
    int process;
    int64_t first_run, runs, elements;
};

/* One direction, in the order of processing. */
struct adapt_side {
    struct adapt_run *runs;
    struct adapt_peer *peers;
    int peer_count;
};

struct adapt_schedule {
    struct adapt_side send, receive;
    /* in the old and in the new part; equal sums */
    struct adapt_run *retained_from, *retained_to;
    int64_t retained_from_runs, retained_to_runs;
    int64_t stay, sent, received;       /* elements */
    int64_t old_part, new_part; /* elements */
    void *memory;               /* of all of them */
};

/* The roles of all processes in a window. */
struct adapt_roles {
    int old_size, new_size;
    int old_rank, new_rank;     /* of this process; -1: joining, leaving */
    const int *new_rank_of;     /* [old_size] by old rank */
    const int *process_of_new;  /* [new_size] by new rank: the process' number */
};

const char *adapt_schedule_make(struct adapt_schedule *made, const struct adapt_distribution *old,
                                const struct adapt_distribution *coming,
                                const struct adapt_roles *roles);
void adapt_schedule_clear(struct adapt_schedule *schedule);

#endif /* SCHEDULE_H_INCLUDED */
