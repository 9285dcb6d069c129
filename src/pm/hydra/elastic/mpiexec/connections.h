/*
 * Node daemons that come up: the port on which those of an expansion connect, their first words (who may say them:
 * greeting.h), and how long they may take.  The daemon's side is proxy/connection.h.
 *
 * A daemon of an expansion has come up when Hydra has taken its id and told it what to run (HYD_step_proxy_up, glue.h).
 * It will not come up when its launcher has ended before that without a word, or its time is over: then it counts as
 * departed, with all of its processes.
 */

#ifndef MPIEXEC_CONNECTIONS_H_INCLUDED
#define MPIEXEC_CONNECTIONS_H_INCLUDED

#include "hydra.h"

#define HYD_STEP_KILL_LAUNCHER_MS 5000  /* for a launcher that was given up to end, before it is killed */

struct HYD_step_group;

/* Opens the group's port; "host:port", to be freed, is what its proxies are told. */
HYD_status HYD_step_listen(struct HYD_step_group *group, char **port_string);
void HYD_step_stop_listening(struct HYD_step_group *group);
/* The launcher of proxy number i has given it this connection beforehand. */
HYD_status HYD_step_await_on(struct HYD_step_group *group, int i, int fd);
/* Proxy number i will not come up. */
void HYD_step_proxy_failed(struct HYD_step_group *group, int i);
/* When the next group's time for its proxies to come up is over, <0: none waits. */
int64_t HYD_step_next_launch_limit(void);
/* Gives up the proxies whose time is over. */
void HYD_step_end_slow_launches(int64_t now_ms);

#endif /* MPIEXEC_CONNECTIONS_H_INCLUDED */
