/*
 * A datatype that a nonblocking operation uses after its call has returned: the program may have
 * freed its own handle then.
 */

#ifndef HELD_TYPE_H_INCLUDED
#define HELD_TYPE_H_INCLUDED

#include "type_parts.h"

/* Returns an equal type, which exists until it is released.  (MPI_Type_dup would call functions of
 * the user.) */
static inline MPI_Datatype ADIOI_Type_hold(MPI_Datatype datatype)
{
    MPI_Datatype held;

    if (ADIOI_Type_combiner(datatype) == MPI_COMBINER_NAMED)
        return datatype;
    MPI_Type_contiguous(1, datatype, &held);
    MPI_Type_commit(&held);
    return held;
}

static inline void ADIOI_Type_release(MPI_Datatype held)
{
    if (ADIOI_Type_combiner(held) != MPI_COMBINER_NAMED)
        MPI_Type_free(&held);
}

#endif /* HELD_TYPE_H_INCLUDED */
