/*
 * Standard input belongs to one process of the world; an adaptation may change which one.  The
 * proxy holds the write end of each process' standard input.  Hydra's downstream.in is that of the
 * present reader.  Input that a process has not read waits here. mpiexec bounds it
 * (mpiexec/input.c): it sends at most INPUT_MESSAGES messages, and further ones when
 * HYD_ADAPT_INPUT_TAKEN reports that earlier ones were written, or were dropped without a reader.
 * HYD_pmcd_pmip_adapt_stdin and _stdin_to (pmip_adapt.h) are here, too.
 */

#ifndef PROXY_STDIN_H_INCLUDED
#define PROXY_STDIN_H_INCLUDED

#include "hydra.h"

/* All processes run. */
void HYD_stdin_started(void);
/* A plan has arrived, in which the process with this rank of the group is rank 0 of the world; -1:
 * a process of another proxy. */
void HYD_stdin_planned(int rank);
/* That plan was withdrawn. */
void HYD_stdin_withdrawn(void);
/* That plan was committed everywhere. */
void HYD_stdin_committed(void);
/* HYD_ADAPT_INPUT_READER of mpiexec. */
HYD_status HYD_stdin_reads(const char *payload, size_t bytes);
/* The process has ended. */
void HYD_stdin_ended(int process_id);

#endif /* PROXY_STDIN_H_INCLUDED */
