/*
 * Moves one array: messages between this process and its peers (exchange.h), and elements that it
 * keeps.
 *
 * A message holds the next elements for one peer, at most `chunk`. Both ends process their peers in
 * the order of the distance from sender to receiver.  SPEC-epop V8, V10, X1.
 */

#ifndef TRANSFER_H_INCLUDED
#define TRANSFER_H_INCLUDED

#include "adapt_data.h"
#include "channel.h"
#include "exchange.h"
#include "schedule.h"

struct adapt_element {
    MPI_Datatype type;
    MPI_Aint extent, true_lb, true_extent;      /* bytes */
    int size;                   /* bytes of data, without gaps */
};

struct adapt_direction {
    const struct adapt_side *side;
    char *part;
    int peer;                   /* of the next message */
    int64_t run, in_run;        /* start of the next message */
    int64_t of_peer;            /* finished elements of this peer */
};

struct adapt_transfer {
    int64_t chunk;              /* elements */
    struct adapt_element element;
    struct adapt_direction send, receive;
    struct adapt_exchange exchange;
};

/* Begins transfer->exchange. old_part, new_part and schedule must stay until it is complete.
 * Returns an MPI error. */
int adapt_transfer_begin(struct adapt_transfer *transfer, struct adapt_channel *channel,
                         const struct adapt_schedule *schedule, const void *old_part,
                         void *new_part);

#endif /* TRANSFER_H_INCLUDED */
