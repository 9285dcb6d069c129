/*
 * The daemon's part in wishes (pmi_adapt_wish.h): each goes up to mpiexec as it comes, and its end is put on the board.
 * Nothing is decided or kept here.
 */

#ifndef PROXY_WISH_H_INCLUDED
#define PROXY_WISH_H_INCLUDED

#include "hydra.h"

/* STEP_WISHED.  An error if the payload is malformed. */
HYD_status HYD_wish_ended(const char *payload, size_t bytes);

#endif /* PROXY_WISH_H_INCLUDED */
