/*
 * Output of a proxy that never waits for mpiexec.  From the first adaptive process on, or the first
 * process set, its connection to mpiexec is a channel (wire/channel.h), and the output of its
 * processes is counted: output beyond the credit of mpiexec (HYD_ADAPT_OUTPUT_SPACE) stays in their
 * pipes, so that only they wait.  Before the first credit of mpiexec arrives there is none: mpiexec
 * must not receive output before the report that starts the count.  Both sides count the output
 * after the first REPORT_INIT of an adaptive process, or HYD_ADAPT_COUNTS_OUTPUT, or all if the
 * processes join.  A proxy that does not count sends all: it would get no credit.
 *
 * Output of an aborting process is sent at once, before its abort, by which mpiexec ends. Output of
 * ended processes needs no credit: the proxy can end before it is read.
 */

#ifndef ADAPT_OUTPUT_H_INCLUDED
#define ADAPT_OUTPUT_H_INCLUDED

#include "hydra.h"

/* For any job: output of processes is sent to mpiexec before their PMI commands, which may be an
 * abort, so that the last output arrives.  Messages of the proxy itself, which Hydra writes in
 * pieces, become whole lines: they may share a file with the output of processes. */
void HYD_pmcd_pmip_output_first(void);
/* The connection becomes a channel; once. */
HYD_status HYD_pmcd_pmip_adapt_channel(void);
/* Output waits for credit from now on: mpiexec is about to be notified of the count, or knows
 * it. */
void HYD_pmcd_pmip_adapt_hold_output(void);
/* Counts output from now on; once: a report has just been sent, or nothing yet. */
void HYD_pmcd_pmip_adapt_count_output(void);
/* HYD_ADAPT_OUTPUT_SPACE has come. */
void HYD_pmcd_pmip_adapt_output_space(uint64_t capacity);

#endif /* ADAPT_OUTPUT_H_INCLUDED */
