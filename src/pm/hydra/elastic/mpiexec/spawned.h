/*
 * Processes that MPI_Comm_spawn starts, until it is certain that they have been started (DS4).  Stock answers when
 * their node daemons are on their way, and ends the job if one of these fails.  Here the answer waits until each daemon
 * has told that its processes have been executed (PID_LIST).  If one of them, or its launcher, ends before, or does
 * not come within MPIEXEC_ADAPT_LAUNCH, the spawn has failed: what has been started for it is killed, and when nothing
 * is left of it that is the answer.  The job goes on.
 *
 * A list of such groups; those that have failed stay in it until the end, so that their exit codes are nobody's.
 */

#ifndef MPIEXEC_SPAWNED_H_INCLUDED
#define MPIEXEC_SPAWNED_H_INCLUDED

#include "hydra.h"

typedef HYD_status(*HYD_spawned_reply) (int fd, int pid, const char *line);

/* Launches the group's daemons with these arguments.  The process `pid` behind the proxy's connection `fd` gets its
 * answer by `reply`. */
HYD_status HYD_spawned_launch(struct HYD_pg *pg, char **args, int fd, int pid, HYD_spawned_reply reply);

/* A daemon has told that its processes run; has connected; has ended, or its connection is broken.  Any group's. */
void HYD_spawned_started(const struct HYD_proxy *proxy);
void HYD_spawned_up(const struct HYD_proxy *proxy);
/* Whether that is the matter of a spawn that has failed (0: of the job). */
int HYD_spawned_ended(struct HYD_proxy *proxy);
int HYD_spawned_lost(struct HYD_proxy *proxy);
/* Whether this launcher's exit code says nothing of the job. */
int HYD_spawned_excuses(pid_t pid);
void HYD_spawned_free(void);

#endif /* MPIEXEC_SPAWNED_H_INCLUDED */
