/*
 * Standard input belongs to one process of the world, which an adaptation may change.  The daemon keeps the write end
 * of each process' standard input, and Hydra's downstream.in is that of the process that reads now.  What a process
 * does not read yet waits here, and is bounded by mpiexec: it sends INPUT_MESSAGES, and further ones when it is told
 * (HYD_ADAPT_INPUT_TAKEN) that those have been written, or dropped since nobody will read them (mpiexec/input.c).
 * HYD_pmcd_pmip_adapt_stdin and _stdin_to (agent.h) are here, too.
 */

#ifndef PROXY_STDIN_H_INCLUDED
#define PROXY_STDIN_H_INCLUDED

/* All processes run. */
void HYD_stdin_started(void);
/* The process has ended. */
void HYD_stdin_ended(int process_id);

#endif /* PROXY_STDIN_H_INCLUDED */
