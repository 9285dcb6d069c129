/*
 * Output of a proxy that never waits for mpiexec.  From the first adaptive process or process set
 * on, the connection to mpiexec is a channel (wire/channel.h), and the output of processes is
 * counted.  Output beyond the credit of mpiexec (HYD_ADAPT_OUTPUT_SPACE) stays in the pipes, so
 * that only the processes wait.  At first the credit is 0, because mpiexec must not receive output
 * before the report that starts the count.  Both sides count the output after the first REPORT_INIT
 * of an adaptive process or after HYD_ADAPT_COUNTS_OUTPUT, or all output if the processes join.  A
 * proxy that does not count sends all output, because it would get no credit.
 *
 * Output of an aborting process is sent at once, before its abort, which ends mpiexec.  Output of
 * ended processes needs no credit, because the proxy may end before mpiexec reads it.
 */

#ifndef ADAPT_OUTPUT_H_INCLUDED
#define ADAPT_OUTPUT_H_INCLUDED

#include "hydra.h"

/* For all jobs: sends output of processes to mpiexec before their PMI commands, which may be an
 * abort, so that the last output arrives.  Also makes whole lines of messages of the proxy, which
 * Hydra writes in pieces, because they may share a file with the output of processes. */
void HYD_pmcd_pmip_output_first(void);
/* The connection becomes a channel; once. */
HYD_status HYD_pmcd_pmip_adapt_channel(void);
/* Output waits for credit from now on: mpiexec will be notified of the count next, or has been. */
void HYD_pmcd_pmip_adapt_hold_output(void);
/* Counts output from now on.  Called once, just after a report or before any output. */
void HYD_pmcd_pmip_adapt_count_output(void);
/* HYD_ADAPT_OUTPUT_SPACE has arrived. */
void HYD_pmcd_pmip_adapt_output_space(uint64_t capacity);

#endif /* ADAPT_OUTPUT_H_INCLUDED */
