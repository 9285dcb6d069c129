/*
 * Files of processes that leave: what C and Fortran have alike.
 */

#ifndef HANDOVER_H_INCLUDED
#define HANDOVER_H_INCLUDED

#include <stdbool.h>
#include "adapt_window.h"

/* The rank among all processes of the one that has the file and leaves; -1: nobody.  Collective.  An MPI
 * error; several that have it are one. */
int adapt_file_owner(const epop_window_t *window, bool has_it, const char *function, int *owner);

#endif /* HANDOVER_H_INCLUDED */
