/*
 * Processes that MPI_Comm_spawn starts, until it is certain that they run (DS4).  Stock replies
 * when their proxies are being started, and ends the job if one of these fails.  Here the reply
 * waits until each proxy has reported that all of its processes have called MPI_Init.  The spawn
 * has failed if a process or a launcher ends before that, or if a proxy does not connect within
 * MPIEXEC_ADAPT_LAUNCH. mpiexec then kills the others, and replies when all have ended.  The job
 * continues.  A process that ends later without MPI_Finalize ends the job, with its exit code.
 *
 * State: a list of such groups.  Failed ones stay in it until the end, so that their exit codes are
 * ignored.
 */

#ifndef MPIEXEC_SPAWNED_H_INCLUDED
#define MPIEXEC_SPAWNED_H_INCLUDED

#include "hydra.h"

typedef HYD_status(*HYD_spawned_reply) (int fd, int pid, const char *line);

/* Launches the group's proxies with these arguments.  `reply` sends the reply to the process `pid`
 * at the proxy's connection `fd`. */
HYD_status HYD_spawned_launch(struct HYD_pg *pg, char **args, int fd, int pid,
                              HYD_spawned_reply reply);

/* HYD_ADAPT_SPAWN_BEGAN or HYD_ADAPT_SPAWN_ENDED (wire/kinds.h) has arrived from this proxy. */
void HYD_spawned_message(struct HYD_proxy *proxy, uint32_t kind, const char *payload, size_t bytes);

/* A proxy of any group has connected. */
void HYD_spawned_up(const struct HYD_proxy *proxy);
/* A proxy has ended, or its connection is broken.  Returns whether only a failed spawn is affected
 * (0: the job). */
int HYD_spawned_ended(struct HYD_proxy *proxy);
int HYD_spawned_failed(struct HYD_proxy *proxy);
/* Reports to the step manager how many processes run, if there is one.  To be called after a proxy
 * has ended. */
void HYD_spawned_count(void);
/* Whether the reply about this group is still pending. */
int HYD_spawned_is_pending(const struct HYD_pg *pg);
/* Whether nothing of this group of MPI_Comm_spawn is left. */
int HYD_spawned_is_over(const struct HYD_pg *pg);
/* Whether this launcher's exit code does not concern the job. */
int HYD_spawned_excuses(pid_t pid);
void HYD_spawned_free(void);

#endif /* MPIEXEC_SPAWNED_H_INCLUDED */
