/*
 * The constructors of datatypes, see type_parts.h.
 */

#include "type_parts.h"

/* The first member of a predefined pair with gaps, whose second is an int; MPI_DATATYPE_NULL: it is
 * another type. */
static MPI_Datatype first_of_pair(MPI_Datatype datatype)
{
    return datatype == MPI_DOUBLE_INT ? MPI_DOUBLE : datatype == MPI_LONG_INT ? MPI_LONG :
        datatype == MPI_SHORT_INT ? MPI_SHORT : datatype == MPI_LONG_DOUBLE_INT ? MPI_LONG_DOUBLE
            : MPI_DATATYPE_NULL;
}

/* Returns parts as of MPI_Type_create_struct: the type has gaps, and must be decoded. */
static void get_parts_of_pair(MPI_Datatype datatype, ADIOI_Type_parts * parts)
{
    MPI_Aint first, extent;

    MPI_Type_get_true_extent(datatype, &first, &extent);
    parts->combiner = MPI_COMBINER_STRUCT;
    parts->n_integers = 3;      /* 2 members, 1 element of each */
    parts->n_addresses = parts->n_types = 2;
    parts->integers = (MPI_Count *) ADIOI_Malloc(5 * sizeof(MPI_Count));
    parts->types = (MPI_Datatype *) ADIOI_Malloc(2 * sizeof(MPI_Datatype));
    parts->addresses = parts->integers + 3;
    parts->integers[0] = 2;
    parts->integers[1] = parts->integers[2] = 1;
    parts->addresses[0] = 0;
    parts->addresses[1] = extent - (MPI_Aint) sizeof(int);
    parts->types[0] = first_of_pair(datatype);
    parts->types[1] = MPI_INT;
}

int ADIOI_Type_combiner(MPI_Datatype datatype)
{
    MPI_Count integers, addresses, counts, types;
    int combiner;

    if (first_of_pair(datatype) != MPI_DATATYPE_NULL)
        return MPI_COMBINER_STRUCT;
    MPI_Type_get_envelope_c(datatype, &integers, &addresses, &counts, &types, &combiner);
    return combiner;
}

/* The number of integers of MPI_Type_get_contents before the counts. */
static MPI_Count integers_before_counts(int combiner)
{
    switch (combiner) {
        case MPI_COMBINER_SUBARRAY:
            return 1;
        case MPI_COMBINER_DARRAY:
            return 3;
        default:
            return 0;
    }
}

/* The number of counts of a large-count function that MPI_Type_get_contents returns as integers;
 * the others are addresses. */
static MPI_Count counts_that_are_integers(int combiner, const MPI_Count * counts,
                                          MPI_Count n_counts)
{
    switch (combiner) {
        case MPI_COMBINER_HVECTOR:
        case MPI_COMBINER_HINDEXED_BLOCK:
            return 2;
        case MPI_COMBINER_HINDEXED:
        case MPI_COMBINER_STRUCT:
            return 1 + counts[0];
        case MPI_COMBINER_RESIZED:
            return 0;
        default:
            return n_counts;
    }
}

void ADIOI_Type_parts_get(MPI_Datatype datatype, ADIOI_Type_parts * parts)
{
    MPI_Count n_ints, n_addresses, n_counts, n_types, before, i;
    MPI_Count *counts, *next;
    MPI_Aint *addresses;
    int *ints;

    if (first_of_pair(datatype) != MPI_DATATYPE_NULL) {
        get_parts_of_pair(datatype, parts);
        return;
    }
    MPI_Type_get_envelope_c(datatype, &n_ints, &n_addresses, &n_counts, &n_types, &parts->combiner);
    /* + 1: nothing is allocated with size 0 */
    ints = (int *) ADIOI_Malloc((n_ints + 1) * sizeof(int));
    addresses = (MPI_Aint *) ADIOI_Malloc((n_addresses + 1) * sizeof(MPI_Aint));
    counts = (MPI_Count *) ADIOI_Malloc((n_counts + 1) * sizeof(MPI_Count));
    parts->types = (MPI_Datatype *) ADIOI_Malloc((n_types + 1) * sizeof(MPI_Datatype));
    MPI_Type_get_contents_c(datatype, n_ints, n_addresses, n_counts, n_types, ints, addresses,
                            counts, parts->types);

    next = parts->integers =
        (MPI_Count *) ADIOI_Malloc((n_ints + n_counts + n_addresses + 1) * sizeof(MPI_Count));
    before = MPL_MIN(integers_before_counts(parts->combiner), n_ints);
    for (i = 0; i < before; i++)
        *next++ = ints[i];
    for (i = 0; i < n_counts; i++)
        *next++ = counts[i];
    for (i = before; i < n_ints; i++)
        *next++ = ints[i];
    for (i = 0; i < n_addresses; i++)
        *next++ = addresses[i];

    parts->n_types = n_types;
    parts->n_integers = n_ints;
    if (n_counts > 0)
        parts->n_integers += counts_that_are_integers(parts->combiner, counts, n_counts);
    parts->addresses = parts->integers + parts->n_integers;
    parts->n_addresses = n_ints + n_counts + n_addresses - parts->n_integers;

    ADIOI_Free(ints);
    ADIOI_Free(addresses);
    ADIOI_Free(counts);
}

void ADIOI_Type_parts_free(ADIOI_Type_parts * parts)
{
    for (MPI_Count i = 0; i < parts->n_types; i++) {
        if (first_of_pair(parts->types[i]) == MPI_DATATYPE_NULL &&
            ADIOI_Type_combiner(parts->types[i]) != MPI_COMBINER_NAMED)
            MPI_Type_free(&parts->types[i]);
    }
    ADIOI_Free(parts->integers);
    ADIOI_Free(parts->types);
}
