/* Detects memory of malloc that is shorter than its registration states.  Private to adapt_data. */

#ifndef ALLOCATED_H_INCLUDED
#define ALLOCATED_H_INCLUDED

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* The reason why memory that the library will free cannot be memory of malloc for `count` of these
 * elements; NULL: no reason is known.  The text is valid until the next call. */
const char *adapt_allocated(const void *address, int64_t count, MPI_Datatype element);
/* Whether this is a text of adapt_allocated. */
bool adapt_allocated_is_reason(const char *text);

#endif /* ALLOCATED_H_INCLUDED */
