/*
 * The message engine: two lists of messages, those that this process sends and those that it
 * receives, processed with at most EXCHANGE_MESSAGES in transit in each direction.
 *
 * Both ends have their lists in the same order where it matters: by the distance from sender to
 * receiver around all processes, and by the same number after it.  So the first unfinished message
 * is in transit at both its ends, and there is always progress.  A process that waits for one
 * exchange makes progress with all that have begun, because another process may wait for another
 * one first.  SPEC-epop V8, V10, X1.
 *
 * State: unfinished exchanges are in a list of the process; one thread.
 */

#ifndef EXCHANGE_H_INCLUDED
#define EXCHANGE_H_INCLUDED

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#define EXCHANGE_MESSAGES 8

/* One list; private to exchange.c. */
struct adapt_exchange_side {
    int64_t next, through;      /* messages before `next` have been posted; so many are complete */
    MPI_Request requests[EXCHANGE_MESSAGES];
};

struct adapt_exchange {
    MPI_Comm all;               /* what its messages go over, and their tag */
    int tag;
    int64_t sends, receives;    /* how many */
    void *state;
    /* Begins number k of a list; called for 0, 1, ... */
    int (*post) (void *state, bool sends, int64_t k, MPI_Request * request);
    /* Number k is there, one after the other.  May be NULL: then they may be through in any
     * order. */
    int (*arrived) (void *state, int64_t k);

    /* private */
    struct adapt_exchange_side send, receive;
    struct adapt_exchange *next;
    int code;
};

/* Posts what it can.  The exchange stays where it is until it is through.  An MPI error, also
 * below. */
int adapt_exchange_begin(struct adapt_exchange *exchange);
/* Makes progress.  *done: all has arrived and all has been sent. */
int adapt_exchange_test(struct adapt_exchange *exchange, bool *done);
/* Until that is so. */
int adapt_exchange_wait(struct adapt_exchange *exchange);

/* Ends it with an error that the caller has had: none of its messages is pending then.  So does
 * every error of the three functions above. */
void adapt_exchange_abandon(struct adapt_exchange *exchange, int code);

/* From sender to receiver around `processes` processes. */
int adapt_exchange_distance(int sender, int receiver, int processes);

/* The most bytes of one message: MPIX_ADAPT_DATA_CHUNK. */
int64_t adapt_exchange_chunk(void);

#endif /* EXCHANGE_H_INCLUDED */
