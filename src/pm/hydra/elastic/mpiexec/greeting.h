/*
 * Who may be a node daemon: what comes first on a new control connection is the daemon's proxy id and,
 * from the network, its half of the job's secret (wire/job_secret.h).  Whoever does not know it, or is not
 * awaited, is cut off, and the job goes on: strangers are counted and told of once.  Nothing waits, and
 * no more connections are kept than daemons are still to come, and STRANGERS_MAX: who has been silent
 * for longest goes first.
 *
 * For the launch, for expansions and for MPI_Comm_spawn alike, with or without the step manager's core.
 * State: the connections that have not said enough, used from the event loop only.
 */

#ifndef STEP_GREETING_H_INCLUDED
#define STEP_GREETING_H_INCLUDED

#include "hydra.h"

/* A connection has been accepted on a control port. */
void HYD_step_newcomer(int fd);

/* A new connection for this process group has something: HYD_SUCCESS, and the daemon's id; or id -1, if
 * more has to come or the connection has been closed (and deregistered), which ends the job if a daemon of
 * its launch has inherited it. */
HYD_status HYD_step_greeting(int fd, int pgid, int *proxy_id);

/* Whether this daemon has not come yet, and still may. */
struct HYD_proxy;
int HYD_step_is_awaited(const struct HYD_proxy *proxy);
/* The job ends: who has not come yet need not any more.  Hydra takes every daemon that has a connection for one that
 * has said who it is. */
void HYD_step_await_nobody(void);

/* Words for the command line of the daemons. */
HYD_status HYD_step_proxy_args(struct HYD_string_stash *stash);

/* How many strangers there were. */
unsigned HYD_step_strangers(void);

#endif /* STEP_GREETING_H_INCLUDED */
