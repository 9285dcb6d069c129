/*
 * Connections of new proxies: the port for the proxies of an expansion, their first message
 * (handshake.h checks it), and their time limit. proxy/connection.h has the proxy's side.
 *
 * A proxy of an expansion is up when Hydra has read its id and sent it the program
 * (HYD_step_proxy_up).  If its launcher ends before that without a message, or its time is over,
 * the proxy and all of its processes count as disconnected.
 */

#ifndef MPIEXEC_CONNECTIONS_H_INCLUDED
#define MPIEXEC_CONNECTIONS_H_INCLUDED

#include "hydra.h"

struct HYD_step_group;

/* Opens the group's port; returns "host:port" for its proxies, to be freed. */
HYD_status HYD_step_listen(struct HYD_step_group *group, char **port_string);
void HYD_step_stop_listening(struct HYD_step_group *group);
/* Proxy number i has inherited this connection from its launcher. */
HYD_status HYD_step_await_on(struct HYD_step_group *group, int i, int fd);
/* Proxy number i cannot be started. */
void HYD_step_proxy_failed(struct HYD_step_group *group, int i);
/* The next time at which the limit for proxies of a group is over, <0: no group waits. */
int64_t HYD_step_next_launch_limit(void);
/* Marks the proxies whose time is over as failed. */
void HYD_step_end_slow_launches(int64_t now_ms);

/* ---- called by stock files ---- */

/* The next connection on a stock control port; -1: there is none, or no free descriptor for it. */
HYD_status HYD_step_accept(int listen_fd, const struct HYD_pg *pg, int *fd);
/* A proxy has connected and has received its program. */
void HYD_step_proxy_up(struct HYD_proxy *proxy);

#endif /* MPIEXEC_CONNECTIONS_H_INCLUDED */
