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
/* their limit, if it is not the proxy's; else rlim_max is 0 */
extern struct rlimit HYD_task_descriptors;

/* Pipes for a process that is started next: their write ends, for standard output and standard
 * error.  "" or an error. */
const char *HYD_task_output_open(uint32_t uid, uint32_t number, int ends[2]);
/* It has been started, or could not be. */
void HYD_task_output_opened(const int ends[2]);
/* Forwards all that it has written, at most what pipes hold. */
HYD_status HYD_task_output_drain(uint32_t uid, uint32_t number);
/* Their output stays in the pipes as long as mpiexec has no credit. */
void HYD_task_output_hold(int on);

#endif /* PROXY_TASK_OUTPUT_H_INCLUDED */
