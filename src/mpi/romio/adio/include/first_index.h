/*
 * The first data of a flattened filetype.  Its first entry may have no data:
 * MPI_Type_create_resized sets an entry that marks the lower bound.
 */

#ifndef FIRST_INDEX_H_INCLUDED
#define FIRST_INDEX_H_INCLUDED

#include "adio.h"

static inline ADIO_Offset ADIOI_First_index(const ADIOI_Flatlist_node * flat)
{
    for (MPI_Count i = 0; i < flat->count; i++)
        if (flat->blocklens[i] > 0)
            return flat->indices[i];
    return flat->indices[0];
}

#endif /* FIRST_INDEX_H_INCLUDED */
