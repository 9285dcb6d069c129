/*
 * The proxy's part in size requests (pmi_adapt_request.h): forwards each to mpiexec unchanged, and
 * puts its end on the board.  Makes no decision and stores nothing.
 */

#ifndef PROXY_REQUESTS_H_INCLUDED
#define PROXY_REQUESTS_H_INCLUDED

#include "hydra.h"

/* STEP_SIZE_REQUEST_ENDED.  An error if the payload is malformed. */
HYD_status HYD_request_ended(const char *payload, size_t bytes);

#endif /* PROXY_REQUESTS_H_INCLUDED */
