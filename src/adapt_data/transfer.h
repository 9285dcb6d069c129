/*
 * Moves one array: messages between this process and its peers (exchange.h), and what it keeps.
 *
 * A message holds the next elements for one peer, at most `chunk`.  Both ends take their peers by
 * the distance from sender to receiver.  SPEC-epop V8, V10, X1.
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
    int peer;                   /* the next message's */
    int64_t run, in_run;        /* where it begins */
    int64_t of_peer;            /* elements of this peer that are done with */
};

struct adapt_transfer {
    int64_t chunk;              /* elements */
    struct adapt_element element;
    struct adapt_direction send, receive;
    struct adapt_exchange exchange;
};

/* Begins transfer->exchange.  old_part, new_part and schedule stay until it is through.  An MPI
 * error. */
int adapt_transfer_begin(struct adapt_transfer *transfer, struct adapt_channel *channel,
                         const struct adapt_schedule *schedule, const void *old_part,
                         void *new_part);

#endif /* TRANSFER_H_INCLUDED */
