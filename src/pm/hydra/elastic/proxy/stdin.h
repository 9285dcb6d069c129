/*
 * Standard input belongs to one process of the world, which an adaptation may change.  The proxy
 * holds the write end of each process' standard input, and Hydra's downstream.in is that of the
 * process that reads now.  Input that a process has not read waits here; mpiexec bounds it: it
 * sends INPUT_MESSAGES, and further ones when a notification (HYD_ADAPT_INPUT_TAKEN) reports that
 * those have been written, or dropped without a reader (mpiexec/input.c).
 * HYD_pmcd_pmip_adapt_stdin and _stdin_to (pmip_adapt.h) are here, too.
 */

#ifndef PROXY_STDIN_H_INCLUDED
#define PROXY_STDIN_H_INCLUDED

#include "hydra.h"

/* All processes run. */
void HYD_stdin_started(void);
/* The process with this rank of the group, -1: one of another proxy, is rank 0 of the world that is
 * planned; that plan is withdrawn; it has been committed everywhere. */
void HYD_stdin_planned(int rank);
void HYD_stdin_withdrawn(void);
void HYD_stdin_committed(void);
/* HYD_ADAPT_INPUT_READER of mpiexec. */
HYD_status HYD_stdin_reads(const char *payload, size_t bytes);
/* The process has ended. */
void HYD_stdin_ended(int process_id);

#endif /* PROXY_STDIN_H_INCLUDED */
