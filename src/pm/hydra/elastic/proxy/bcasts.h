/*
 * The proxy's part in broadcasts of process sets (pmi_adapt_set.h, wire/bcast.h): it sets the gates
 * of its processes' slots on the board, and reads their counts.
 *
 * State: the set that each slot counts, at most PMI_SET_BCASTS_MAX of a process; owned by bcasts.c,
 * used from the event loop only.
 */

#ifndef PROXY_BCASTS_H_INCLUDED
#define PROXY_BCASTS_H_INCLUDED

#include "hydra.h"

/* STEP_BCAST.  An error if the payload is malformed. */
HYD_status HYD_bcasts_order(const char *payload, size_t bytes);
/* The process with this number counts no more calls. */
void HYD_bcasts_ended(int process_id);

#endif /* PROXY_BCASTS_H_INCLUDED */
