/*
 * Incomplete PMI commands.  Stock's reader of PMI commands has one buffer for all processes and
 * does not return before the command is complete, so that a process which is stopped, or malicious,
 * in the middle of a line blocks its proxy and all processes of the proxy.  Here the incomplete
 * part waits beside the buffer until more of it arrives.
 *
 * State: for each process the incomplete part of a command, at most a full buffer; owned by
 * pmi_rest.c, used from the event loop only.
 */

#ifndef PROXY_PMI_REST_H_INCLUDED
#define PROXY_PMI_REST_H_INCLUDED

/* Called before more is read from the process with this number (-1: unknown): copies the incomplete
 * part into an empty buffer. */
void HYD_pmi_rest_take(int process_id, char *buffer, int *length);
/* The rest of the buffer, `*length` bytes from `*rest` on, is an incomplete command.  Returns
 * whether it was stored here; 0: it is at the front of the buffer, continue to read. */
int HYD_pmi_rest_keep(int process_id, char *buffer, char **rest, int *length);
/* Whether the buffer has space for more of the command at its front.  For a spawn that is too long
 * only the first lines are stored, and mpiexec refuses it because the others are missing
 * (mpiexec/spawn.c). */
int HYD_pmi_rest_fits(char *buffer, int *length);

#endif /* PROXY_PMI_REST_H_INCLUDED */
