/*
 * The launch of an expansion: makes a process group, assigns it to nodes (nodes.h) and starts it.
 * Later steps are in connections.h (its proxies connect), launcher_ends.h, exits.h and groups.h (it
 * is removed).
 */

#ifndef MPIEXEC_LAUNCH_H_INCLUDED
#define MPIEXEC_LAUNCH_H_INCLUDED

#include "hydra.h"

struct step_world;

/* Starts `count` processes of a program of the launch; the uid of the first is `first_uid`. 0 and
 * the group's number; or -1 with the reason in `error`, after complete cleanup. */
int HYD_step_launch(uint32_t epoch, int count, int program, int pre, uint32_t first_uid, int modify,
                    const char *const *hosts, int n_hosts, int *group, char *error,
                    size_t error_bytes);
/* Processes that a program starts in its slots (stepmgr/stepmgr.h).  0, or -1 with a message in
 * error. */
int HYD_step_launch_world(const struct step_world *world, int *group, char *error,
                          size_t error_bytes);
/* Number of programs with which the job was launched. */
int HYD_step_programs(void);

#endif /* MPIEXEC_LAUNCH_H_INCLUDED */
