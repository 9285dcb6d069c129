/*
 * Connections of new proxies: the port on which those of an expansion connect, their first message
 * (handshake.h checks it), and their time limit.  proxy/connection.h has the proxy's side.
 *
 * A proxy of an expansion is up when Hydra has read its id and sent it the program
 * (HYD_step_proxy_up).  It will not come up when its launcher has ended before without a message,
 * or its time is over: then it counts as disconnected, with all of its processes.
 */

#ifndef MPIEXEC_CONNECTIONS_H_INCLUDED
#define MPIEXEC_CONNECTIONS_H_INCLUDED

#include "hydra.h"

struct HYD_step_group;

/* Opens the group's port; returns "host:port" for its proxies, to be freed. */
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

/* ---- called by stock files ---- */

/* The next connection of a control port of stock's; -1: there is none, or nothing to open it
 * with. */
HYD_status HYD_step_accept(int listen_fd, const struct HYD_pg *pg, int *fd);
/* A proxy has connected and has received its program. */
void HYD_step_proxy_up(struct HYD_proxy *proxy);

#endif /* MPIEXEC_CONNECTIONS_H_INCLUDED */
