/*
 * Processes that MPI_Comm_spawn starts, until it is certain that they run (DS4).  Stock answers
 * when their proxies are being started, and ends the job if one of these fails.  Here the answer
 * waits until each proxy has reported that all of its processes have called MPI_Init.  The spawn
 * has failed if one of them, or a launcher, ends before, or if a proxy does not connect within
 * MPIEXEC_ADAPT_LAUNCH: mpiexec then kills the others, and answers when none is left.  The job
 * continues.  A process that ends later without MPI_Finalize ends the job, with its exit code.
 *
 * A list of such groups; those that have failed stay in it until the end, so that their exit codes
 * do not count.
 */

#ifndef MPIEXEC_SPAWNED_H_INCLUDED
#define MPIEXEC_SPAWNED_H_INCLUDED

#include "hydra.h"

typedef HYD_status(*HYD_spawned_reply) (int fd, int pid, const char *line);

/* Launches the group's proxies with these arguments.  The process `pid` at the proxy's connection
 * `fd` gets its answer by `reply`. */
HYD_status HYD_spawned_launch(struct HYD_pg *pg, char **args, int fd, int pid,
                              HYD_spawned_reply reply);

/* HYD_ADAPT_SPAWN_BEGAN or HYD_ADAPT_SPAWN_ENDED of wire/kinds.h has come from this proxy. */
void HYD_spawned_message(struct HYD_proxy *proxy, uint32_t kind, const char *payload, size_t bytes);

/* A proxy has connected; has ended, or its connection is broken.  Any group's. */
void HYD_spawned_up(const struct HYD_proxy *proxy);
/* Whether that is the matter of a spawn that has failed (0: of the job). */
int HYD_spawned_ended(struct HYD_proxy *proxy);
int HYD_spawned_failed(struct HYD_proxy *proxy);
/* Reports to the step manager how many processes run, if there is one.  To be called after a proxy
 * has ended. */
void HYD_spawned_count(void);
/* Whether it is not certain yet that the processes of this group run. */
int HYD_spawned_is_pending(const struct HYD_pg *pg);
/* Whether nothing of this group of MPI_Comm_spawn is left. */
int HYD_spawned_is_over(const struct HYD_pg *pg);
/* Whether this launcher's exit code does not concern the job. */
int HYD_spawned_excuses(pid_t pid);
void HYD_spawned_free(void);

#endif /* MPIEXEC_SPAWNED_H_INCLUDED */
