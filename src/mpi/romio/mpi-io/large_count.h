/*
 * Counts that an int cannot hold: the functions that MPI_File_read_c and its siblings call take an
 * int.
 */

#ifndef LARGE_COUNT_H_INCLUDED
#define LARGE_COUNT_H_INCLUDED

#include <limits.h>
#include <stdint.h>
#include "mpio.h"

/* Limit of members: types with gaps become lists of their blocks, which this keeps short. */
#define MPIO_MEMBERS_MAX 4096

/* Changes the arguments to fewer elements of a longer type.  Returns whether it made a type.
 * Invalid arguments stay invalid, with a count that fits in an int. */
static inline int MPIO_Fewer_of_longer(MPI_Count * count, MPI_Datatype * datatype)
{
    MPI_Count size, longest, members = *count / INT_MAX + 1;
    MPI_Aint lb, extent;
    MPI_Datatype element = *datatype;
    int error = MPI_SUCCESS;

    MPIO_DATATYPE_ISCOMMITTED(element, error);
    if (*count < 0 || error != MPI_SUCCESS) {
        *count = *count < 0 ? -1 : 1;
        return 0;
    }
    MPI_Type_size_x(element, &size);
    MPI_Type_get_extent(element, &lb, &extent);
    longest = MPL_MAX(size, extent < 0 ? -extent : extent);
    if (longest > 0 && *count > INT64_MAX / longest) {
        *count = -1;
        return 0;
    }
    while (*count % members != 0 && members < MPIO_MEMBERS_MAX)
        members++;
    if (*count % members != 0)
        members = *count;
    if (MPI_Type_contiguous_c(members, element, datatype) != MPI_SUCCESS) {
        *datatype = MPI_DATATYPE_NULL;
        return 0;
    }
    MPI_Type_commit(datatype);
    *count /= members;
    return 1;
}

/* The first statement of a function with a large count: makes the call, to the same function, with
 * another type. */
#define MPIO_LARGE_COUNT(count, datatype, call)                         \
    do {                                                                \
        if ((count) != (int) (count)) {                                 \
            int longer_ = MPIO_Fewer_of_longer(&(count), &(datatype));  \
            int error_ = (call);                                        \
                                                                        \
            if (longer_)                                                \
                MPI_Type_free(&(datatype));                             \
            return error_;                                              \
        }                                                               \
    } while (0)

#endif /* LARGE_COUNT_H_INCLUDED */
