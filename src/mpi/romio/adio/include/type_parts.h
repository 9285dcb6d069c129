/*
 * The constructor of a datatype, in one form for the functions with int counts and for the
 * large-count functions (MPI_Type_vector_c and its siblings), whose types MPI_Type_get_contents
 * refuses.
 */

#ifndef TYPE_PARTS_H_INCLUDED
#define TYPE_PARTS_H_INCLUDED

#include "adio.h"

/* Both arrays are ordered as those of MPI_Type_get_contents, also for types of large-count
 * functions. */
typedef struct {
    int combiner;
    MPI_Count n_integers, n_addresses, n_types;
    /* counts, block lengths, displacements in elements, and all other values that are no
     * addresses */
    MPI_Count *integers;
    /* displacements and bounds in bytes; in the same memory as integers */
    MPI_Count *addresses;
    MPI_Datatype *types;
} ADIOI_Type_parts;

/* MPI_COMBINER_NAMED for a predefined type, which has no parts; pairs with gaps (MPI_DOUBLE_INT)
 * are structs. */
int ADIOI_Type_combiner(MPI_Datatype datatype);

/* The caller frees them. */
void ADIOI_Type_parts_get(MPI_Datatype datatype, ADIOI_Type_parts * parts);
void ADIOI_Type_parts_free(ADIOI_Type_parts * parts);

#endif /* TYPE_PARTS_H_INCLUDED */
