/*
 * What boxes and items that are under way have alike: an exchange on a communicator of its own, of all
 * processes of the window, and what is to be done when it is through.  SPEC-epop X1, X2.
 */

#ifndef MOTION_H_INCLUDED
#define MOTION_H_INCLUDED

#include "adapt_motion.h"
#include "exchange.h"

/* The first member of what its owner has allocated. */
struct MPIX_Adapt_motion_s {
    struct adapt_exchange exchange;
    MPI_Comm all;
    MPI_Request reminder;
    /* With the code of the exchange; frees all but the communicator and the motion. */
    int (*finish) (struct MPIX_Adapt_motion_s * motion, int code);
};

/* The exchange has begun, and the program is to wait for it: commit refuses the window until then, and
 * tells the name. */
int adapt_motion_remind(struct MPIX_Adapt_motion_s *motion, const char *kind, const char *name);

#endif /* MOTION_H_INCLUDED */
