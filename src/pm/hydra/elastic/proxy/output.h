/*
 * A node daemon that never waits for mpiexec.  From the first adaptive process on, or the first process set, its
 * connection to mpiexec is a channel (wire/channel.h), and what its processes print is counted: beyond what mpiexec has
 * room for (HYD_ADAPT_OUTPUT_ROOM) it stays in their pipes, so that they wait, and nobody else.  Until mpiexec has told
 * of the first room there is none: it must not find output in front of the report that tells it to count.  Both sides
 * count what comes after the first REPORT_INIT of an adaptive process, or HYD_ADAPT_COUNTS_OUTPUT, or all if the
 * processes join.  A daemon that does not count sends all: nobody would tell it of room.
 *
 * What is there when a process aborts goes out at once, in front of its abort, by which mpiexec ends.
 * Processes that have ended need no room for what is left in their pipes: the daemon can end before it is read.
 */

#ifndef ADAPT_OUTPUT_H_INCLUDED
#define ADAPT_OUTPUT_H_INCLUDED

#include "hydra.h"

/* Of any job: what is there of processes' output goes to mpiexec before what they say by PMI, which may be that they
 * abort, so that last words are not lost.  Messages of the daemon itself, which Hydra writes in pieces, become whole
 * lines: they may share a file with what processes print. */
void HYD_pmcd_pmip_output_first(void);
/* The connection becomes a channel; once. */
HYD_status HYD_pmcd_pmip_adapt_channel(void);
/* Output waits for room from now on: mpiexec is about to be told to count, or knows. */
void HYD_pmcd_pmip_adapt_hold_output(void);
/* What is sent from now on; once: a report has just been sent, or nothing yet. */
void HYD_pmcd_pmip_adapt_count_output(void);
/* HYD_ADAPT_OUTPUT_ROOM has come. */
void HYD_pmcd_pmip_adapt_output_room(uint64_t room);

#endif /* ADAPT_OUTPUT_H_INCLUDED */
