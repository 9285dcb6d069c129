/*
 * The message engine: two lists of messages, those that this process sends and those that it
 * receives, processed with at most EXCHANGE_MESSAGES in transit in each direction.
 *
 * Both ends sort their lists in the same way: by the distance from sender to receiver around all
 * processes, then by the same number.  So the first unfinished message is in transit at both its
 * ends, and there is always progress.  A process that waits for one exchange makes progress with
 * all that have begun, because another process may wait for another exchange first.  SPEC-epop V8,
 * V10, X1.
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
    int64_t next, through;      /* number of posted messages; number of complete ones */
    MPI_Request requests[EXCHANGE_MESSAGES];
};

struct adapt_exchange {
    MPI_Comm all;               /* communicator and tag of its messages */
    int tag;
    int64_t sends, receives;    /* their number */
    void *state;
    /* Starts message k of a list; called for 0, 1, ... */
    int (*post) (void *state, bool sends, int64_t k, MPI_Request * request);
    /* Message k has arrived; called in order.  May be NULL: then messages may complete in any
     * order. */
    int (*arrived) (void *state, int64_t k);

    /* private */
    struct adapt_exchange_side send, receive;
    struct adapt_exchange *next;
    int code;
};

/* Posts as many messages as possible.  The exchange must keep its address until it is complete.
 * Returns an MPI error, as do the functions below. */
int adapt_exchange_begin(struct adapt_exchange *exchange);
/* Makes progress.  *done: all has arrived and all has been sent. */
int adapt_exchange_test(struct adapt_exchange *exchange, bool *done);
/* Waits until that is so. */
int adapt_exchange_wait(struct adapt_exchange *exchange);

/* Ends the exchange with an error of the caller: afterwards none of its messages is pending.  So
 * does every error of the three functions above. */
void adapt_exchange_abandon(struct adapt_exchange *exchange, int code);

/* Distance from sender to receiver around `processes` processes. */
int adapt_exchange_distance(int sender, int receiver, int processes);

/* The max bytes of one message: MPIX_ADAPT_DATA_CHUNK. */
int64_t adapt_exchange_chunk(void);

#endif /* EXCHANGE_H_INCLUDED */
