/* Indices of 4 or 8 bytes, for rows and ghosts.  Private to adapt_data. */

#ifndef MESH_H_INCLUDED
#define MESH_H_INCLUDED

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* False: index is no type of 4 or 8 bytes. */
bool adapt_index_bytes(MPI_Datatype index, int *bytes);
int64_t adapt_get_index(const void *array, int bytes, int64_t k);
void adapt_set_index(void *array, int bytes, int64_t k, int64_t value);

#endif /* MESH_H_INCLUDED */
