/*
 * Moves one array: messages between this process and its peers, and what it keeps.
 *
 * A message holds the next elements for one peer, at most `chunk`; at most TRANSFER_MESSAGES are
 * under way in each direction.  Both ends take their peers by the distance from sender to receiver.
 * So the message of the smallest distance that is not through is under way at both its ends, and
 * something always goes on.  SPEC-epop V8, V10, X1.
 */

#ifndef TRANSFER_H_INCLUDED
#define TRANSFER_H_INCLUDED

#include "adapt_data.h"
#include "schedule.h"

#define TRANSFER_MESSAGES 8

struct adapt_element {
    MPI_Datatype type;
    MPI_Aint extent, true_lb, true_extent;      /* bytes */
};

struct adapt_direction {
    const struct adapt_side *side;
    char *part;
    int peer;                   /* the next message's */
    int64_t run, in_run;        /* where it begins */
    int64_t of_peer;            /* elements of this peer that are done with */
    MPI_Request requests[TRANSFER_MESSAGES];
    int active;
};

struct adapt_transfer {
    MPI_Comm old_world, intercomm;
    int old_size;
    bool joins;
    int tag;
    int64_t chunk;              /* elements */
    struct adapt_element element;
    struct adapt_direction send, receive;
};

/* The communicators are nobody else's.  old_part, new_part and schedule stay until it is done.  An
 * MPI error. */
int adapt_transfer_begin(struct adapt_transfer *transfer, const struct adapt_schedule *schedule,
                         const void *old_part, void *new_part);
/* wait: until all has arrived and all has been sent. */
int adapt_transfer_progress(struct adapt_transfer *transfer, bool wait, bool *done);

#endif /* TRANSFER_H_INCLUDED */
