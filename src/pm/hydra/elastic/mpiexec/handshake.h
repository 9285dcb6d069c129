/*
 * Authentication of proxies: the first data on a new control connection is the proxy's id and, from
 * the network, its half of the job's secret (wire/job_secret.h).  A connection with another secret,
 * or of a proxy that is not expected, is closed, and the job continues: such connections are
 * counted and reported once.  No function blocks, and the number of unauthenticated connections has
 * a limit (newcomers.h).
 *
 * For the launch, for expansions and for MPI_Comm_spawn alike, with or without the step manager's
 * core. State: the number of refused connections, used from the event loop only.
 */

#ifndef STEP_HANDSHAKE_H_INCLUDED
#define STEP_HANDSHAKE_H_INCLUDED

#include "hydra.h"

/* A new connection for this process group is readable.  Returns HYD_SUCCESS and the proxy's id.
 * The id is -1 if data is missing, or if the connection has been closed (and deregistered); the
 * latter ends the job if a proxy of the launch has inherited the connection. */
HYD_status HYD_step_handshake(int fd, int pgid, int *proxy_id);

/* Arguments for the command line of the proxies. */
HYD_status HYD_step_proxy_args(struct HYD_string_stash *stash);

/* Number of refused connections. */
unsigned HYD_step_unauthenticated(void);

#endif /* STEP_HANDSHAKE_H_INCLUDED */
