/*
 * The datatype of the first elements of an array section (mpi_f08), in the order of the array's
 * elements: whole slabs of the last dimension, whole slabs of the one before in the next of them,
 * and so on.
 */

#ifndef CDESC_SECTION_H_INCLUDED
#define CDESC_SECTION_H_INCLUDED

#include "cdesc.h"
#include <limits.h>

/* One for each dimension, and one for a part of an element. */
#define CDESC_MAX_PIECES (CFI_MAX_RANK + 1)

typedef struct {
    int n;
    int ones[CDESC_MAX_PIECES];
    MPI_Aint at[CDESC_MAX_PIECES];
    MPI_Datatype types[CDESC_MAX_PIECES];
} cdesc_pieces_t;

/* Constructors without _c where they do: ROMIO reads types by MPI_Type_get_envelope. */
static int cdesc_vector(MPI_Count count, MPI_Aint stride, MPI_Datatype type, MPI_Datatype * newtype)
{
    if (count <= INT_MAX)
        return PMPI_Type_create_hvector((int) count, 1, stride, type, newtype);
    return PMPI_Type_create_hvector_c(count, 1, stride, type, newtype);
}

static int cdesc_add_piece(cdesc_pieces_t * pieces, MPI_Count count, MPI_Aint stride, MPI_Aint at,
                           MPI_Datatype type)
{
    int mpi_errno = cdesc_vector(count, stride, type, &pieces->types[pieces->n]);

    if (mpi_errno == MPI_SUCCESS) {
        pieces->ones[pieces->n] = 1;
        pieces->at[pieces->n++] = at;
    }
    return mpi_errno;
}

/* slabs[d]: all indices of the dimensions before d; it has elements[d] of the array.  at: where the
 * next element is. */
static int cdesc_add_slabs(const CFI_cdesc_t * cdesc, MPI_Count count, const MPI_Datatype slabs[],
                           const MPI_Count elements[], cdesc_pieces_t * pieces, MPI_Aint * at)
{
    int mpi_errno = MPI_SUCCESS;

    *at = 0;
    for (int d = cdesc->rank - 1; d >= 0 && count > 0 && mpi_errno == MPI_SUCCESS; d--) {
        MPI_Count n = count / elements[d];
        if (n > 0)
            mpi_errno = cdesc_add_piece(pieces, n, cdesc->dim[d].sm, *at, slabs[d]);
        *at += n * cdesc->dim[d].sm;
        count %= elements[d];
    }
    return mpi_errno;
}

/* How many of the datatype an element of the array is; 0: that is not a whole number. */
static MPI_Count cdesc_per_element(const CFI_cdesc_t * cdesc, MPI_Datatype type)
{
    MPI_Count size = 0, lb = 0, extent = 0, length = (MPI_Count) cdesc->elem_len;

    PMPI_Type_size_c(type, &size);
    PMPI_Type_get_extent_c(type, &lb, &extent);
    if (size == length)
        return 1;
    return size > 0 && extent == size && length % size == 0 ? length / size : 0;
}

static int cdesc_section(const CFI_cdesc_t * cdesc, MPI_Count count, MPI_Datatype type,
                         MPI_Datatype * newtype)
{
    MPI_Datatype slabs[CFI_MAX_RANK + 1];
    MPI_Count elements[CFI_MAX_RANK + 1] = { 1 }, per_element = cdesc_per_element(cdesc, type);
    cdesc_pieces_t pieces = { 0 };
    MPI_Aint at = 0;
    int made = 0, mpi_errno;

    if (per_element == 0)
        return MPI_ERR_TYPE;
    mpi_errno = cdesc_vector(per_element, cdesc->elem_len / per_element, type, &slabs[0]);
    for (int d = 0; d < cdesc->rank && mpi_errno == MPI_SUCCESS; d++) {
        made = d + 1;
        elements[d + 1] = elements[d] * cdesc->dim[d].extent;
        mpi_errno = cdesc_vector(cdesc->dim[d].extent, cdesc->dim[d].sm, slabs[d], &slabs[d + 1]);
    }
    if (mpi_errno == MPI_SUCCESS) {
        made++;
        if (count < 0 || count > elements[cdesc->rank] * per_element)
            mpi_errno = MPI_ERR_COUNT;
    }
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = cdesc_add_slabs(cdesc, count / per_element, slabs, elements, &pieces, &at);
    if (mpi_errno == MPI_SUCCESS && count % per_element > 0)
        mpi_errno =
            cdesc_add_piece(&pieces, count % per_element, cdesc->elem_len / per_element, at, type);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno =
            PMPI_Type_create_struct(pieces.n, pieces.ones, pieces.at, pieces.types, newtype);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = PMPI_Type_commit(newtype);

    while (pieces.n > 0)
        PMPI_Type_free(&pieces.types[--pieces.n]);
    while (made > 0)
        PMPI_Type_free(&slabs[--made]);
    return mpi_errno;
}

/* The wrapper goes on after an error: the error handler is called here. */
static int cdesc_raise(int mpi_errno)
{
    int initialized = 0;

    PMPI_Initialized(&initialized);
    PMPI_Comm_call_errhandler(initialized ? MPI_COMM_WORLD : MPI_COMM_SELF, mpi_errno);
    return mpi_errno;
}

#endif /* CDESC_SECTION_H_INCLUDED */
