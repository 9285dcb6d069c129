/*
 * The types of yaksa that the library takes for the types of a Fortran whose default types are
 * larger than C's (-fdefault-real-8, -fdefault-integer-8).  A library is configured for one
 * Fortran, so test_fortran_sizes.py compiles this with an mpi.h whose handles hold the larger
 * sizes, and with the library's own function.
 */

#include "typerep_yaksa_init.c"
#include <stdio.h>

/* Symbols that the function's file refers to and does not use here. */
MPIR_Datatype MPIR_Datatype_builtin[MPIR_DATATYPE_N_BUILTIN],
    MPIR_Datatype_direct[MPIR_DATATYPE_PREALLOC];
MPIR_Object_alloc_t MPIR_Datatype_mem;
int MPIR_CVAR_ENABLE_GPU = 0;

#define TYPE(name) {#name, name}

static const struct {
    const char *name;
    MPI_Datatype type;
} types[] = {
    TYPE(MPI_COMPLEX), TYPE(MPI_DOUBLE_COMPLEX), TYPE(MPI_LOGICAL), TYPE(MPI_REAL),
        TYPE(MPI_DOUBLE_PRECISION),
    TYPE(MPI_INTEGER), TYPE(MPI_2INTEGER), TYPE(MPI_2REAL), TYPE(MPI_2DOUBLE_PRECISION)
};

/* A line for each type: its name, its size, and that of yaksa's type. */
int main(void)
{
    yaksa_init(NULL);
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        MPI_Aint size = 0;
        uintptr_t taken = 0;
        MPIR_Datatype_get_size_macro(types[i].type, size);
        yaksa_type_get_size(MPII_Typerep_get_yaksa_type(types[i].type), &taken);
        printf("%s %ld %lu\n", types[i].name, (long) size, (unsigned long) taken);
    }
    return 0;
}
