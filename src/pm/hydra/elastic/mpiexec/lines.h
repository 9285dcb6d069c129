/*
 * Output with a prefix for each line (-prepend-rank, -prepend-pattern).  Output arrives in pieces,
 * as processes write it.  This file joins the pieces, so that each line has one prefix and contains
 * output of one process only.  An unfinished line is written after LINES_WAIT_MS, because it may be
 * a prompt, or when it has LINES_BYTES_MAX bytes.  If another process writes before the rest
 * arrives, the rest becomes a separate line.
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

/* The next output comes from a process that process `uid` has started with its request `number`
 * (wire/task.h).  Its label is UID.NUMBER instead of a rank. uid -1: from another process. */
void HYD_lines_task(int uid, int number);
/* Writes this label to `text`. 0: there is none. */
int HYD_lines_label(char *text, size_t bytes);
/* Output of this source, for the descriptor `fd`. */
HYD_status HYD_lines_write(int fd, const struct HYD_lines_source *source, const char *prefix,
                           const char *text, size_t bytes);
/* Writes unfinished lines, at the end of the job. */
void HYD_lines_finish(void);

#endif /* MPIEXEC_LINES_H_INCLUDED */
