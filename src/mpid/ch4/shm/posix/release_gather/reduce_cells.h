/*
 * Whether a reduction can go through the cells of the shared reduce buffers, for
 * posix_coll_release_gather.h.  Upstream fills each cell with as many whole elements as its size
 * allows; if one element is larger, this is none, and leads to a division by zero.  Upstream also
 * assumes that an element begins at its address and does not overlap the next one.  All processes
 * get the same result, because all have the same count and datatype.
 */

#ifndef REDUCE_CELLS_H_INCLUDED
#define REDUCE_CELLS_H_INCLUDED

#include "release_gather.h"

MPL_STATIC_INLINE_PREFIX bool MPIDI_POSIX_fits_reduce_cells(MPI_Aint count, MPI_Datatype datatype)
{
    const MPI_Aint cell = MPIDI_POSIX_RELEASE_GATHER_REDUCE_CELLSIZE;
    MPI_Aint size, lb, extent, true_lb, true_extent;

    MPIR_Datatype_get_size_macro(datatype, size);
    if (HANDLE_IS_BUILTIN(datatype))
        return size <= cell;

    MPIR_Type_get_extent_impl(datatype, &lb, &extent);
    MPIR_Type_get_true_extent_impl(datatype, &true_lb, &true_extent);
    if (true_lb != 0 || (count > 1 && extent < true_extent))
        return false;
    return MPL_MAX(size, MPL_MAX(extent, true_extent)) <= cell;
}

#endif /* REDUCE_CELLS_H_INCLUDED */
