/*
 * Processes that programs start one by one (clauses DA6-DA9, DA11), on this proxy's host: executed,
 * watched by a pidfd, signalled by name as long as they have not been waited for, and ended with
 * SIGTERM and END_GRACE_MS later SIGKILL.  Each is the leader of a process group of its own.  They
 * have no standard input.  Each has two pipes of its own for its output, which goes on in whole
 * lines, as output of the first process of this proxy; if mpiexec labels lines (--label-tasks),
 * with its name (wire/task.h).  Many at a time, or all without descriptors for these, share two
 * pipes.  Output is forwarded before the end of its process is reported.  The proxy stays as long
 * as one lives; the kernel kills those of a killed proxy.
 *
 * State: the living processes and the pipes, owned by tasks.c; used from the event loop only.  At
 * most PMI_TASKS_MAX.
 */

#ifndef PROXY_TASKS_H_INCLUDED
#define PROXY_TASKS_H_INCLUDED

#include "hydra.h"

/* The environment that a process of the launch gets; that of tasks is the same without the process
 * manager's part. */
void HYD_tasks_environment(const struct HYD_env *env);
/* Or all processes of this proxy are such ones, started together as one MPI_COMM_WORLD
 * (--adapt-tasks UID:NUMBER,...): PMI and output are as of any, but what is notified of them and to
 * them goes as for the others. */
int HYD_tasks_are_world(void);
/* They have been started. */
HYD_status HYD_tasks_adopt(void);
/* One of them aborts, and waits for this before it exits. */
HYD_status HYD_tasks_answer_abort(int pmi_fd);
/* STEP_TASK.  An error if the payload is malformed. */
HYD_status HYD_tasks_order(const char *payload, size_t bytes);
int HYD_tasks_live(void);
/* mpiexec passes a signal on: it is for these processes, too. */
void HYD_tasks_signalled(int signum);

#endif /* PROXY_TASKS_H_INCLUDED */
