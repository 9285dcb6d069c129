/*
 * Output with a prefix for each line (-prepend-rank, -prepend-pattern).  Pieces of output come as
 * processes write them: here they are put together, so that each line has one prefix and nothing of
 * another process.  A line that is not finished is written after LINES_WAIT_MS, because it may be a
 * prompt, or when it has LINES_BYTES_MAX bytes; if another process writes before its rest comes,
 * the rest is a line of its own.
 *
 * Owned by lines.c: the unfinished line of each process and stream, and the source of the present
 * output.  Used from the event loop only.
 */

#ifndef MPIEXEC_LINES_H_INCLUDED
#define MPIEXEC_LINES_H_INCLUDED

#include "hydra.h"

#define LINES_WAIT_MS 200
#define LINES_BYTES_MAX 65536

/* The writer: one of both streams of a process. */
struct HYD_lines_source {
    int stream, pgid, proxy, rank;
};

/* The output that comes next is of a process that this process has started with this request
 * (wire/task.h): its label is UID.NUMBER instead of a rank.  uid -1: it is none. */
void HYD_lines_task(int uid, int number);
/* Writes that label to `text`.  0: there is none. */
int HYD_lines_label(char *text, size_t bytes);
/* Output of this source, for the descriptor `fd`. */
HYD_status HYD_lines_write(int fd, const struct HYD_lines_source *source, const char *prefix,
                           const char *text, size_t bytes);
/* Writes what is unfinished, at the end of the job. */
void HYD_lines_finish(void);

#endif /* MPIEXEC_LINES_H_INCLUDED */
