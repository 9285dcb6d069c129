/*
 * Authentication of proxies: the first data on a new control connection is the proxy's id and, from the network, its
 * half of the job's secret (wire/job_secret.h).  A connection with another secret, or of a proxy that is not
 * expected, is closed, and the job continues: such connections are counted and reported once.  No function blocks,
 * and unauthenticated connections are limited to the expected proxies and STRANGERS_MAX: the one that is silent for
 * the longest time is closed first.
 *
 * For the launch, for expansions and for MPI_Comm_spawn alike, with or without the step manager's core. State: the
 * unauthenticated connections, used from the event loop only.
 */

#ifndef STEP_HANDSHAKE_H_INCLUDED
#define STEP_HANDSHAKE_H_INCLUDED

#include "hydra.h"

/* A connection has been accepted on a control port. */
void HYD_step_newcomer(int fd);

/* A new connection for this process group has something: HYD_SUCCESS, and the daemon's id; or id -1, if
 * more has to come or the connection has been closed (and deregistered), which ends the job if a daemon of
 * its launch has inherited it. */
HYD_status HYD_step_handshake(int fd, int pgid, int *proxy_id);

/* Whether this daemon has not come yet, and still may. */
struct HYD_proxy;
int HYD_step_is_awaited(const struct HYD_proxy *proxy);
/* The job ends: no further proxy is expected.  Hydra assumes that every proxy with a connection is authenticated. */
void HYD_step_await_nobody(void);

/* Words for the command line of the daemons. */
HYD_status HYD_step_proxy_args(struct HYD_string_stash *stash);

/* Number of refused connections. */
unsigned HYD_step_unauthenticated(void);

#endif /* STEP_HANDSHAKE_H_INCLUDED */
