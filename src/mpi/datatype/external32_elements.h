/*
 * Basic elements in the representation external32, for external32.c: their sizes, and the
 * conversion of contiguous ones.  Integers that are larger in memory lose their upper bytes;
 * floating-point numbers are rounded.  There is no state, and any thread may call the functions.
 */

#ifndef EXTERNAL32_ELEMENTS_H_INCLUDED
#define EXTERNAL32_ELEMENTS_H_INCLUDED

#include "mpiimpl.h"
#include "typerep/src/typerep_util.h"

static MPI_Aint native_size(MPI_Datatype type)
{
    MPI_Aint bytes;

    MPIR_Datatype_get_size_macro(type, bytes);
    return bytes;
}

/* Types that the standard does not list keep their size. */
static MPI_Aint external_size(MPI_Datatype basic)
{
    const MPI_Aint bytes = MPII_Typerep_get_basic_size_external32(basic);

    return bytes ? bytes : native_size(basic);
}

static bool is_complex(MPI_Datatype basic)
{
    return basic == MPI_COMPLEX || basic == MPI_DOUBLE_COMPLEX ||
        MPII_Typerep_basic_type_is_complex(basic);
}

static bool is_long_double(MPI_Datatype basic)
{
    return basic == MPI_LONG_DOUBLE || basic == MPI_C_LONG_DOUBLE_COMPLEX ||
        basic == MPI_CXX_LONG_DOUBLE_COMPLEX;
}

/* Types of floating-point numbers whose size may differ (-fdefault-real-8). */
static bool is_real(MPI_Datatype basic)
{
    return basic == MPI_REAL || basic == MPI_DOUBLE_PRECISION || basic == MPI_COMPLEX ||
        basic == MPI_DOUBLE_COMPLEX;
}

/* Types of integers whose size may be twice the external one. */
static bool is_integer(MPI_Datatype basic)
{
    return basic == MPI_LONG || basic == MPI_UNSIGNED_LONG || basic == MPI_WCHAR ||
        basic == MPI_INTEGER || basic == MPI_LOGICAL;
}

/* A short loop whose code crosses a cache line may take twice as long. */
#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 4")
#else
#define UNROLL
#endif

/* From the machine's order of bytes to the external one, or back. */
#if BLENDIAN == 1
#define DEFINE_SWAPPED(bits)                            \
    static inline uint##bits##_t swapped##bits(uint##bits##_t before) \
    {                                                   \
        uint##bits##_t after;                           \
        BASIC_convert##bits(before, after);             \
        return after;                                   \
    }
#else
#define DEFINE_SWAPPED(bits)                            \
    static inline uint##bits##_t swapped##bits(uint##bits##_t same) \
    {                                                   \
        return same;                                    \
    }
#endif
/* *INDENT-OFF* */
DEFINE_SWAPPED(16)
DEFINE_SWAPPED(32)
DEFINE_SWAPPED(64)
/* *INDENT-ON* */

#define SWAP_EACH(bits)                                                 \
    UNROLL for (MPI_Aint i = 0; i < n; i++) {                           \
        uint##bits##_t number;                                          \
        memcpy(&number, from + i * (bits / 8), bits / 8);               \
        number = swapped##bits(number);                                 \
        memcpy(to + i * (bits / 8), &number, bits / 8);                 \
    }

static inline void swap_128(char *to, const char *from)
{
#if BLENDIAN == 1
    uint64_t halves[2], swapped[2];

    memcpy(halves, from, 16);
    swapped[0] = swapped64(halves[1]);
    swapped[1] = swapped64(halves[0]);
    memcpy(to, swapped, 16);
#else
    memcpy(to, from, 16);
#endif
}

/* Two of 32 bits at once. */
static inline void swap_pairs(char *to, const char *from, MPI_Aint pairs)
{
    UNROLL for (MPI_Aint i = 0; i < pairs; i++) {
        uint64_t two;

        memcpy(&two, from + i * 8, 8);
#if BLENDIAN == 1
        two = swapped64(two);
        two = two >> 32 | two << 32;
#endif
        memcpy(to + i * 8, &two, 8);
    }
}

static void swap(char *to, const char *from, MPI_Aint n, MPI_Aint size)
{
    switch (size) {
        case 1:
            memcpy(to, from, (size_t) n);
            break;
        case 2:
            SWAP_EACH(16);
            break;
        case 4:
            swap_pairs(to, from, n / 2);
            to += n / 2 * 8;
            from += n / 2 * 8;
            n %= 2;
            SWAP_EACH(32);
            break;
        case 8:
            SWAP_EACH(64);
            break;
        case 16:
            for (MPI_Aint i = 0; i < n; i++)
                swap_128(to + i * 16, from + i * 16);
            break;
        default:
            for (MPI_Aint i = 0; i < n; i++)
                BASIC_copyto(from + i * size, to + i * size, (int) size);
    }
}

/* Integers of `bits` in memory, half of which are external: the upper half is lost, or of the
 * sign. */
#define RESIZE_EACH(bits, half)                                         \
    UNROLL for (MPI_Aint i = 0; i < n; i++) {                           \
        uint##bits##_t number;                                          \
        uint##half##_t part;                                            \
        char *in_memory = native + i * (bits / 8), *outside = external + i * (half / 8); \
        if (packs) {                                                    \
            memcpy(&number, in_memory, bits / 8);                       \
            part = swapped##half((uint##half##_t) number);              \
            memcpy(outside, &part, half / 8);                           \
        } else {                                                        \
            memcpy(&part, outside, half / 8);                           \
            part = swapped##half(part);                                 \
            number = is_signed ? (uint##bits##_t) (int##half##_t) part : part; \
            memcpy(in_memory, &number, bits / 8);                       \
        }                                                               \
    }

static void convert_integers(bool packs, MPI_Aint size, bool is_signed, MPI_Aint n, char *native,
                             char *external)
{
    if (size == 8)
        RESIZE_EACH(64, 32)
    else
        RESIZE_EACH(32, 16)
}

#ifdef HAVE_FLOAT128
typedef __float128 quad;
#else
typedef long double quad;
#endif

static inline void swap_quad(char *to, const char *from)
{
    if (sizeof(quad) == 16)
        swap_128(to, from);
    else
        swap(to, from, 1, sizeof(quad));
}

static void convert_long_double(bool packs, char *native, char *external)
{
    long double number;
    quad wide;

    if (packs) {
        memcpy(&number, native, sizeof(number));
        wide = number;
        memset(external, 0, 16);
        swap_quad(external, (const char *) &wide);
    } else {
        swap_quad((char *) &wide, external);
        number = (long double) wide;
        memcpy(native, &number, sizeof(number));
    }
}

/* A number whose size is one of the three. */
static quad load_real(const char *from, MPI_Aint size)
{
    union {
        float f;
        double d;
        quad q;
    } number;

    memcpy(&number, from, (size_t) size);
    return size == sizeof(float) ? number.f : size == sizeof(double) ? number.d : number.q;
}

/* Rounds to the size; what is too large for it becomes infinite. */
static void store_real(char *to, MPI_Aint size, quad number)
{
    if (size == sizeof(float))
        memcpy(to, &(float) {(float) number}, sizeof(float));
    else if (size == sizeof(double))
        memcpy(to, &(double) {(double) number}, sizeof(double));
    else
        memcpy(to, &number, sizeof(number));
}

static void convert_real(bool packs, char *native, MPI_Aint size, char *external,
                         MPI_Aint bytes)
{
    char swapped[sizeof(quad)];

    if (packs) {
        store_real(swapped, bytes, load_real(native, size));
        swap(external, swapped, 1, bytes);
    } else {
        swap(swapped, external, 1, bytes);
        store_real(native, size, load_real(swapped, bytes));
    }
}

static bool has_real_size(MPI_Aint size)
{
    return size == sizeof(float) || size == sizeof(double) || size == sizeof(quad);
}

/* Converts `n` elements of `size` bytes in memory and `bytes` external ones; false: there is no
 * conversion.  The addresses need no alignment. */
static bool convert_elements(bool packs, MPI_Datatype basic, MPI_Aint n, MPI_Aint size,
                             MPI_Aint bytes, char *native, char *external)
{
    const int parts = is_complex(basic) ? 2 : 1;
    const MPI_Aint part = size / parts;

    if (is_long_double(basic)) {
        for (MPI_Aint i = 0; i < n * parts; i++)
            convert_long_double(packs, native + i * (MPI_Aint) sizeof(long double),
                                external + i * 16);
    } else if (size == bytes) {
        swap(packs ? external : native, packs ? native : external, n * parts, part);
    } else if (is_real(basic) && has_real_size(part)) {
        for (MPI_Aint i = 0; i < n * parts; i++)
            convert_real(packs, native + i * part, part, external + i * (bytes / parts),
                         bytes / parts);
    } else if (is_integer(basic) && size == 2 * bytes && (size == 8 || size == 4)) {
        convert_integers(packs, size, !MPII_Typerep_basic_type_is_unsigned(basic), n, native,
                         external);
    } else {
        return false;
    }
    return true;
}

#endif /* EXTERNAL32_ELEMENTS_H_INCLUDED */
