/*
 * Half a PMI command.  Stock's reader of PMI commands has one buffer for all processes and does not come back before it
 * has the other half, so that a process which is stopped, or lies, in the middle of a line holds up its daemon and all
 * of its processes.  Here the half waits beside the buffer until more of it has come.
 *
 * State: for each process what it has said of a command that is not whole yet, at most a buffer full; owned by
 * pmi_rest.c, used from the event loop only.
 */

#ifndef PROXY_PMI_REST_H_INCLUDED
#define PROXY_PMI_REST_H_INCLUDED

/* Before more is read from the process of this number (-1: not known) into the buffer: if that is empty, what the
 * process has said already is put into it. */
void HYD_pmi_rest_take(int process_id, char *buffer, int *length);
/* What is left in the buffer, `*length` bytes from `*rest` on, is no command yet.  Whether it has been taken out of it,
 * to wait here; 0: it lies at its front, read on. */
int HYD_pmi_rest_keep(int process_id, char *buffer, char **rest, int *length);
/* Whether there is space for more of a command of which the front of the buffer has a part.  Of a spawn that is too
 * long only the first lines are kept, and mpiexec refuses it because the others are missing (mpiexec/spawn.c). */
int HYD_pmi_rest_fits(char *buffer, int *length);

#endif /* PROXY_PMI_REST_H_INCLUDED */
