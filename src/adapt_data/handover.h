/*
 * Files of processes that leave, and shared variables: common to C, Fortran and Python.
 */

#ifndef HANDOVER_H_INCLUDED
#define HANDOVER_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>
#include "adapt_window.h"

/* Joining processes get the bytes of old rank 0.  error: what is wrong with the call of this
 * process, or NULL.  Collective: on all processes or on none. */
int adapt_share_bytes(const epop_window_t *window, void *address, int64_t bytes, const char *error,
                      const char *function);

/* The rank among all processes of the one that has the file and leaves; -1: nobody.  Collective.
 * An MPI error; several that have it are one, and a successor that is no new rank.  error: what
 * else is wrong with the call of this process, or NULL. */
int adapt_file_owner(const epop_window_t *window, bool has_it, int successor, const char *error,
                     const char *function, int *owner);
/* After closing and opening: MPI_ERR_IO on all processes if one of them has failed.  Collective. */
int adapt_file_end(const epop_window_t *window, bool failed, const char *function);

#endif /* HANDOVER_H_INCLUDED */
