/*
 * Environment and output of the processes of tasks.h, for tasks.c.
 *
 * State: the pipes, owned by task_output.c; the environment, owned by task_environment.c.
 */

#ifndef PROXY_TASK_OUTPUT_H_INCLUDED
#define PROXY_TASK_OUTPUT_H_INCLUDED

#include "hydra.h"
#include <stdint.h>
#include <sys/resource.h>

extern char **HYD_task_environment;     /* NULL: no memory, or not known yet */
/* limit of descriptors for these processes if it differs from the proxy's, else rlim_max is 0 */
extern struct rlimit HYD_task_descriptors;

/* Makes the pipes of a process that is started next; `ends`: write ends for standard output and
 * standard error.  Returns "" or an error. */
const char *HYD_task_output_open(uint32_t uid, uint32_t number, int ends[2]);
/* The process was started, or could not be started. */
void HYD_task_output_opened(const int ends[2]);
/* Forwards all output in the pipes of this process. */
HYD_status HYD_task_output_drain(uint32_t uid, uint32_t number);
/* Leaves output in the pipes as long as there is no credit from mpiexec. */
void HYD_task_output_hold(int on);

#endif /* PROXY_TASK_OUTPUT_H_INCLUDED */
