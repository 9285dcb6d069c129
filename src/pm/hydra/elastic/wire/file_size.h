/*
 * SIGXFSZ ends a process that makes a file longer than its limit (`ulimit -f`).  Our own output
 * must not end it: between these two calls a write fails with EFBIG instead.
 */

#ifndef WIRE_FILE_SIZE_H_INCLUDED
#define WIRE_FILE_SIZE_H_INCLUDED

#include <signal.h>

static inline struct sigaction HYD_file_size_fails(void)
{
    const struct sigaction ignored = {.sa_handler = SIG_IGN };
    struct sigaction usual;

    sigaction(SIGXFSZ, &ignored, &usual);
    return usual;
}

static inline void HYD_file_size_ends(const struct sigaction *usual)
{
    sigaction(SIGXFSZ, usual, NULL);
}

#endif /* WIRE_FILE_SIZE_H_INCLUDED */
