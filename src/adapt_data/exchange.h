/*
 * Two lists of messages, those that this process sends and those that it receives, worked off with at
 * most EXCHANGE_MESSAGES under way in each direction.
 *
 * Both ends have their lists in the same order where it matters: by the distance from sender to
 * receiver around all processes, and by the same number behind it.  So the first message that is not
 * through is under way at both its ends, and something always goes on.  SPEC-epop V8, V10.
 */

#ifndef EXCHANGE_H_INCLUDED
#define EXCHANGE_H_INCLUDED

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#define EXCHANGE_MESSAGES 8

struct adapt_exchange {
    int64_t sends, receives;    /* how many */
    void *state;
    /* Begins number k of a list. */
    int (*post) (void *state, bool sends, int64_t k, MPI_Request * request);
    /* Number k is there, one after the other (may be NULL). */
    int (*arrived) (void *state, int64_t k);
};

int adapt_exchange(const struct adapt_exchange *exchange);
/* From sender to receiver around `processes` processes. */
int adapt_exchange_distance(int sender, int receiver, int processes);

/* How much one message may hold, in bytes: MPIX_ADAPT_DATA_CHUNK. */
int64_t adapt_exchange_chunk(void);

#endif /* EXCHANGE_H_INCLUDED */
