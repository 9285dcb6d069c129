/*
 * Processes that programs start one by one (clauses DA6-DA9, DA11), on this proxy's host.  The
 * proxy executes them, watches them by a pidfd, sends them signals by name, and ends them with
 * SIGTERM and END_GRACE_MS later SIGKILL.  Each is the leader of its own process group and has no
 * standard input.  Each has two pipes for its output, which is forwarded in whole lines as output
 * of the first process of this proxy, or with its name if mpiexec labels lines (--label-tasks,
 * wire/task.h).  If there are many, or descriptors are missing, all share two pipes.  Output is
 * forwarded before the end of its process is reported.  The proxy exists as long as one of them
 * lives; the kernel kills those of a killed proxy.
 *
 * State: the living processes and the pipes, owned by tasks.c; used from the event loop only.  At
 * most PMI_TASKS_MAX.
 */

#ifndef PROXY_TASKS_H_INCLUDED
#define PROXY_TASKS_H_INCLUDED

#include "hydra.h"

/* The environment of a process of the launch.  Tasks get the same without the process manager's
 * variables. */
void HYD_tasks_environment(const struct HYD_env *env);
/* Whether all processes of this proxy are tasks that were started together as one MPI_COMM_WORLD
 * (--adapt-tasks UID:NUMBER,...).  Their PMI and output are as usual; their reports and orders are
 * as for other tasks. */
int HYD_tasks_are_world(void);
/* The processes of such a world have been started. */
HYD_status HYD_tasks_adopt(void);
/* A process of such a world aborts, and waits for this reply before it exits. */
HYD_status HYD_tasks_answer_abort(int pmi_fd);
/* STEP_TASK.  An error if the payload is malformed. */
HYD_status HYD_tasks_order(const char *payload, size_t bytes);
int HYD_tasks_live(void);
/* Passes a signal of mpiexec on to these processes too. */
void HYD_tasks_signalled(int signum);

#endif /* PROXY_TASKS_H_INCLUDED */
