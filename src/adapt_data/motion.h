/*
 * The common part of boxes and items in transit: an exchange over the window's channel, and the
 * work after its completion.  SPEC-epop X1, X2.
 */

#ifndef MOTION_H_INCLUDED
#define MOTION_H_INCLUDED

#include "adapt_motion.h"
#include "channel.h"
#include "exchange.h"

/* The first member of an object that its owner has allocated. */
struct MPIX_Adapt_motion_s {
    struct adapt_exchange exchange;
    struct adapt_channel *channel;
    struct adapt_debt debt;
    /* Called with the error code of the exchange; frees all except the motion. */
    int (*finish) (struct MPIX_Adapt_motion_s * motion, int code);
};

#endif /* MOTION_H_INCLUDED */
