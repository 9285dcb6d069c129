/*
 * A datatype that a nonblocking operation uses after its call has returned: its user may have freed it then.
 */

#ifndef KEPT_TYPE_H_INCLUDED
#define KEPT_TYPE_H_INCLUDED

#include "type_parts.h"

/* An equal type, which lives until it is released.  (MPI_Type_dup would call functions of the user.) */
static inline MPI_Datatype ADIOI_Type_keep(MPI_Datatype datatype)
{
    MPI_Datatype kept;

    if (ADIOI_Type_combiner(datatype) == MPI_COMBINER_NAMED)
        return datatype;
    MPI_Type_contiguous(1, datatype, &kept);
    MPI_Type_commit(&kept);
    return kept;
}

static inline void ADIOI_Type_release(MPI_Datatype kept)
{
    if (ADIOI_Type_combiner(kept) != MPI_COMBINER_NAMED)
        MPI_Type_free(&kept);
}

#endif /* KEPT_TYPE_H_INCLUDED */
