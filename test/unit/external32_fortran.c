/*
 * Data of a Fortran whose default types are larger than C's (-fdefault-real-8,
 * -fdefault-integer-8) in the representation external32, where they have the sizes of the standard.
 * A library is configured for one Fortran, so test_fortran_sizes.py compiles this with an mpi.h
 * whose handles hold the larger sizes, and with the library's own functions.
 */

#include "external32.c"
#include "type_elements.c"
#include "typerep/src/typerep_ext32.c"
#include <math.h>

/* Symbols that the functions' files refer to and do not use here. */
MPIR_Datatype MPIR_Datatype_builtin[MPIR_DATATYPE_N_BUILTIN],
    MPIR_Datatype_direct[MPIR_DATATYPE_PREALLOC];
MPIR_Object_alloc_t MPIR_Datatype_mem;
int MPIR_CVAR_ENABLE_GPU = 0;

int MPIR_Type_get_true_extent_impl(MPI_Datatype type, MPI_Aint * lb, MPI_Aint * extent)
{
    *lb = 0;
    return MPI_SUCCESS;
}

/* Only of data with gaps. */
int MPIR_Typerep_pack(const void *from, MPI_Aint count, MPI_Datatype type, MPI_Aint offset,
                      void *to, MPI_Aint most, MPI_Aint * bytes)
{
    return MPI_ERR_INTERN;
}

int MPIR_Typerep_unpack(const void *from, MPI_Aint size, void *to, MPI_Aint count,
                        MPI_Datatype type, MPI_Aint offset, MPI_Aint * bytes)
{
    return MPI_ERR_INTERN;
}

/* Packs the data and compares them; unpacks them and expects `back`.  Prints a line for each
 * error. */
static void check(const char *name, MPI_Datatype type, int count, const void *data,
                  const void *back, size_t size, const char *right, int length)
{
    char external[64], seen[64];
    MPI_Aint native = 0;
    int error;

    if (MPIR_External32_bytes(type) * count != length || native_size(type) * count != (int) size) {
        printf("%s has %ld bytes, %ld external\n", name, (long) native_size(type),
               (long) MPIR_External32_bytes(type));
        return;
    }
    memset(external, 0x55, sizeof(external));
    memset(seen, 0x55, sizeof(seen));
    error = MPIR_External32_pack(data, count, type, external);
    if (error || memcmp(external, right, (size_t) length) || external[length] != 0x55)
        printf("%s is packed wrong\n", name);
    error = MPIR_External32_unpack(right, length, seen, count, type, &native);
    if (error || memcmp(seen, back, size) || seen[size] != 0x55 || native != (MPI_Aint) size)
        printf("%s is unpacked wrong\n", name);
}

#define CHECK(type, count, data, back, right) \
    check(#type, type, count, data, back, sizeof(data), right, (int) sizeof(right) - 1)

int main(void)
{
    static const double real[] = { 1.5, 1e300 }, real_back[] = { 1.5, INFINITY },
        two[] = { 1.5, -2 };
    static const __float128 twice[] = { 1.5, -2 };
    static const int64_t integer[] = { 1, -2 };

    CHECK(MPI_REAL, 2, real, real_back, "\x3f\xc0\0\0\x7f\x80\0\0");
    CHECK(MPI_2REAL, 1, two, two, "\x3f\xc0\0\0\xc0\0\0\0");
    CHECK(MPI_COMPLEX, 1, two, two, "\x3f\xc0\0\0\xc0\0\0\0");
    CHECK(MPI_DOUBLE_PRECISION, 2, twice, twice, "\x3f\xf8\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0");
    CHECK(MPI_2DOUBLE_PRECISION, 1, twice, twice, "\x3f\xf8\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0");
    CHECK(MPI_DOUBLE_COMPLEX, 1, twice, twice, "\x3f\xf8\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0");
    CHECK(MPI_INTEGER, 2, integer, integer, "\0\0\0\1\xff\xff\xff\xfe");
    CHECK(MPI_LOGICAL, 2, integer, integer, "\0\0\0\1\xff\xff\xff\xfe");
    CHECK(MPI_2INTEGER, 1, integer, integer, "\0\0\0\1\xff\xff\xff\xfe");
    return 0;
}
