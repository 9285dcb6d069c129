/*
 * Every predefined operator on each predefined type of C, C++ and Fortran that it is allowed on
 * (pairs: reductions_pairs.c), compared with plain C: Reduce_local, Allreduce, Reduce, Scan,
 * Iallreduce, Accumulate, Get_accumulate, Fetch_and_op (also MPI_REPLACE and MPI_NO_OP), and
 * Accumulate into nested derived datatypes.  Unsigned values have their highest bit set in half of
 * the processes: compared as signed ones, they would be the least (defect 1).
 *
 * --case local | together | windows | nested
 */

#include <complex.h>
#include <stdbool.h>
#include <wchar.h>
#include "elastic_test.h"

enum { ELEMENTS = 7, MOST_BYTES = 32 };
enum kind { SIGNED, UNSIGNED, FLOATING, QUAD, LOGICAL, BYTES, COMPLEX, QUAD_COMPLEX,
        FORTRAN_INTEGER };

__extension__ typedef _Float128 quad;
__extension__ typedef _Complex _Float128 quad_complex;
#ifdef __FLT16_MANT_DIG__
__extension__ typedef _Float16 half;
#endif

typedef union {
    char bytes[ELEMENTS * MOST_BYTES];
    long double aligned;
} values;

/* Element i of `inout` becomes in[i] op inout[i]. */
typedef void combine(const char *op, const void *in, void *inout);

#define OPERATIONS_OF_ORDER(a, b) \
    if (strcmp(op, "MAX") == 0) \
        b = a > b ? a : b; \
    else if (strcmp(op, "MIN") == 0) \
        b = a < b ? a : b;
#define OPERATIONS_OF_SUMS(type, a, b) \
    if (strcmp(op, "SUM") == 0) \
        b = (type) (a + b); \
    else if (strcmp(op, "PROD") == 0) \
        b = (type) (a * b);
#define OPERATIONS_OF_LOGIC(type, a, b) \
    if (strcmp(op, "LAND") == 0) \
        b = (type) (a && b); \
    else if (strcmp(op, "LOR") == 0) \
        b = (type) (a || b); \
    else if (strcmp(op, "LXOR") == 0) \
        b = (type) (!a != !b);
#define OPERATIONS_OF_BITS(type, a, b) \
    if (strcmp(op, "BAND") == 0) \
        b = (type) (a & b); \
    else if (strcmp(op, "BOR") == 0) \
        b = (type) (a | b); \
    else if (strcmp(op, "BXOR") == 0) \
        b = (type) (a ^ b);
#define COMBINE(name, type, operations) \
    static void combine_##name(const char *op, const void *in, void *inout) \
    { \
        const type *from = in; \
        type *to = inout; \
        for (int i = 0; i < ELEMENTS; i++) { \
            type a = from[i], b = to[i]; \
            operations; \
            to[i] = b; \
        } \
    }
#define OF_INTEGERS(type) \
    OPERATIONS_OF_ORDER(a, b) OPERATIONS_OF_SUMS(type, a, b) \
    OPERATIONS_OF_LOGIC(type, a, b) OPERATIONS_OF_BITS(type, a, b)
#define COMBINE_INTEGER(name, type) COMBINE(name, type, OF_INTEGERS(type))
#define COMBINE_FLOATING(name, type) \
    COMBINE(name, type, OPERATIONS_OF_ORDER(a, b) OPERATIONS_OF_SUMS(type, a, b))
#define COMBINE_COMPLEX(name, type) COMBINE(name, type, OPERATIONS_OF_SUMS(type, a, b))

COMBINE_INTEGER(int8, int8_t)
COMBINE_INTEGER(int16, int16_t)
COMBINE_INTEGER(int32, int32_t)
COMBINE_INTEGER(int64, int64_t)
COMBINE_INTEGER(uint8, uint8_t)
COMBINE_INTEGER(uint16, uint16_t)
COMBINE_INTEGER(uint32, uint32_t)
COMBINE_INTEGER(uint64, uint64_t)
COMBINE_FLOATING(float, float)
COMBINE_FLOATING(double, double)
COMBINE_FLOATING(long_double, long double)
COMBINE_FLOATING(quad, quad)
#ifdef __FLT16_MANT_DIG__
COMBINE_FLOATING(half, half)
#endif
COMBINE_COMPLEX(float_complex, float complex)
COMBINE_COMPLEX(double_complex, double complex)
COMBINE_COMPLEX(long_double_complex, long double complex)
COMBINE_COMPLEX(quad_complex, quad_complex)
COMBINE(bool, bool, OPERATIONS_OF_LOGIC(bool, a, b))
COMBINE(logical, int32_t, OPERATIONS_OF_LOGIC(int32_t, a, b))

static const struct type {
    const char *name;
    MPI_Datatype handle;
    int bytes;
    enum kind kind;
    combine *combine;
} types[] = {
    {"SIGNED_CHAR", MPI_SIGNED_CHAR, 1, SIGNED, combine_int8},
    {"SHORT", MPI_SHORT, 2, SIGNED, combine_int16},
    {"INT", MPI_INT, 4, SIGNED, combine_int32},
    {"LONG", MPI_LONG, 8, SIGNED, combine_int64},
    {"LONG_LONG", MPI_LONG_LONG, 8, SIGNED, combine_int64},
    {"INT8_T", MPI_INT8_T, 1, SIGNED, combine_int8},
    {"INT16_T", MPI_INT16_T, 2, SIGNED, combine_int16},
    {"INT32_T", MPI_INT32_T, 4, SIGNED, combine_int32},
    {"INT64_T", MPI_INT64_T, 8, SIGNED, combine_int64},
    {"AINT", MPI_AINT, 8, SIGNED, combine_int64},
    {"OFFSET", MPI_OFFSET, 8, SIGNED, combine_int64},
    {"COUNT", MPI_COUNT, 8, SIGNED, combine_int64},
    {"UNSIGNED_CHAR", MPI_UNSIGNED_CHAR, 1, UNSIGNED, combine_uint8},
    {"UNSIGNED_SHORT", MPI_UNSIGNED_SHORT, 2, UNSIGNED, combine_uint16},
    {"UNSIGNED", MPI_UNSIGNED, 4, UNSIGNED, combine_uint32},
    {"UNSIGNED_LONG", MPI_UNSIGNED_LONG, 8, UNSIGNED, combine_uint64},
    {"UNSIGNED_LONG_LONG", MPI_UNSIGNED_LONG_LONG, 8, UNSIGNED, combine_uint64},
    {"UINT8_T", MPI_UINT8_T, 1, UNSIGNED, combine_uint8},
    {"UINT16_T", MPI_UINT16_T, 2, UNSIGNED, combine_uint16},
    {"UINT32_T", MPI_UINT32_T, 4, UNSIGNED, combine_uint32},
    {"UINT64_T", MPI_UINT64_T, 8, UNSIGNED, combine_uint64},
    {"FLOAT", MPI_FLOAT, sizeof(float), FLOATING, combine_float},
    {"DOUBLE", MPI_DOUBLE, sizeof(double), FLOATING, combine_double},
    {"LONG_DOUBLE", MPI_LONG_DOUBLE, sizeof(long double), FLOATING, combine_long_double},
    {"C_BOOL", MPI_C_BOOL, sizeof(bool), LOGICAL, combine_bool},
    {"BYTE", MPI_BYTE, 1, BYTES, combine_uint8},
    {"C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, sizeof(float complex), COMPLEX, combine_float_complex},
    {"C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, sizeof(double complex), COMPLEX,
     combine_double_complex},
    {"C_LONG_DOUBLE_COMPLEX", MPI_C_LONG_DOUBLE_COMPLEX, sizeof(long double complex), COMPLEX,
     combine_long_double_complex},
    {"INTEGER", MPI_INTEGER, 4, FORTRAN_INTEGER, combine_int32},
    {"INTEGER1", MPI_INTEGER1, 1, FORTRAN_INTEGER, combine_int8},
    {"INTEGER2", MPI_INTEGER2, 2, FORTRAN_INTEGER, combine_int16},
    {"INTEGER4", MPI_INTEGER4, 4, FORTRAN_INTEGER, combine_int32},
    {"INTEGER8", MPI_INTEGER8, 8, FORTRAN_INTEGER, combine_int64},
    {"REAL", MPI_REAL, sizeof(float), FLOATING, combine_float},
    {"REAL4", MPI_REAL4, sizeof(float), FLOATING, combine_float},
    {"DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, sizeof(double), FLOATING, combine_double},
    {"REAL8", MPI_REAL8, sizeof(double), FLOATING, combine_double},
    {"COMPLEX", MPI_COMPLEX, sizeof(float complex), COMPLEX, combine_float_complex},
    {"COMPLEX8", MPI_COMPLEX8, sizeof(float complex), COMPLEX, combine_float_complex},
    {"DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX, sizeof(double complex), COMPLEX, combine_double_complex},
    {"COMPLEX16", MPI_COMPLEX16, sizeof(double complex), COMPLEX, combine_double_complex},
    {"REAL16", MPI_REAL16, sizeof(quad), QUAD, combine_quad},
    {"COMPLEX32", MPI_COMPLEX32, sizeof(quad_complex), QUAD_COMPLEX, combine_quad_complex},
#ifdef __FLT16_MANT_DIG__
    {"MPIX_C_FLOAT16", MPIX_C_FLOAT16, sizeof(half), FLOATING, combine_half},
#endif
    {"LOGICAL", MPI_LOGICAL, 4, LOGICAL, combine_logical},
    {"CXX_BOOL", MPI_CXX_BOOL, sizeof(bool), LOGICAL, combine_bool},
    {"CXX_FLOAT_COMPLEX", MPI_CXX_FLOAT_COMPLEX, sizeof(float complex), COMPLEX,
     combine_float_complex},
    {"CXX_DOUBLE_COMPLEX", MPI_CXX_DOUBLE_COMPLEX, sizeof(double complex), COMPLEX,
     combine_double_complex},
    {"CXX_LONG_DOUBLE_COMPLEX", MPI_CXX_LONG_DOUBLE_COMPLEX, sizeof(long double complex), COMPLEX,
     combine_long_double_complex},
};

/* The kinds of types that an operator is allowed on, as bits. */
enum { REAL_KINDS = 1 << FLOATING | 1 << QUAD, COMPLEX_KINDS = 1 << COMPLEX | 1 << QUAD_COMPLEX };
static const struct operator {
    const char *name;
    MPI_Op handle;
    unsigned kinds;
} operators[] = {
    {"MAX", MPI_MAX, 1 << SIGNED | 1 << UNSIGNED | REAL_KINDS | 1 << FORTRAN_INTEGER},
    {"MIN", MPI_MIN, 1 << SIGNED | 1 << UNSIGNED | REAL_KINDS | 1 << FORTRAN_INTEGER},
    {"SUM", MPI_SUM, 1 << SIGNED | 1 << UNSIGNED | REAL_KINDS | COMPLEX_KINDS | 1 <<
     FORTRAN_INTEGER},
    {"PROD", MPI_PROD, 1 << SIGNED | 1 << UNSIGNED | REAL_KINDS | COMPLEX_KINDS | 1 <<
     FORTRAN_INTEGER},
    {"LAND", MPI_LAND, 1 << SIGNED | 1 << UNSIGNED | 1 << LOGICAL},
    {"LOR", MPI_LOR, 1 << SIGNED | 1 << UNSIGNED | 1 << LOGICAL},
    {"LXOR", MPI_LXOR, 1 << SIGNED | 1 << UNSIGNED | 1 << LOGICAL},
    {"BAND", MPI_BAND, 1 << SIGNED | 1 << UNSIGNED | 1 << BYTES | 1 << FORTRAN_INTEGER},
    {"BOR", MPI_BOR, 1 << SIGNED | 1 << UNSIGNED | 1 << BYTES | 1 << FORTRAN_INTEGER},
    {"BXOR", MPI_BXOR, 1 << SIGNED | 1 << UNSIGNED | 1 << BYTES | 1 << FORTRAN_INTEGER},
};

enum { TYPES = sizeof types / sizeof *types, OPERATORS = sizeof operators / sizeof *operators };

/* The operand of process `rank`: small integers, so that any order of additions has the same
 * result; negative ones, and unsigned ones with the highest bit, are among them. */
static void fill(const struct type *type, int rank, values *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < ELEMENTS; i++) {
        int value = (i * 5 + rank * 3) % 7 - ((rank + i) % 2 ? 3 : 0);
        char *at = out->bytes + i * type->bytes;
        switch (type->kind) {
            case SIGNED:
            case FORTRAN_INTEGER:
                memset(at, value < 0 ? 0xff : 0, (size_t) type->bytes);
                at[0] = (char) value;
                break;
            case UNSIGNED:
            case BYTES:
                at[0] = (char) (value & 7);
                at[type->bytes - 1] = (char) (at[type->bytes - 1] | ((rank + i) % 2 ? 0x80 : 0));
                break;
            case LOGICAL:
                at[0] = value > 0;
                break;
            case QUAD:
                ((quad *) out->bytes)[i] = value;
                break;
            case QUAD_COMPLEX:
                ((quad_complex *) out->bytes)[i] = value + 2 * I;
                break;
            default:
#ifdef __FLT16_MANT_DIG__
                if (type->bytes == sizeof(half))
                    ((half *) out->bytes)[i] = (half) value;
                else
#endif
                if (type->bytes == sizeof(float))
                    ((float *) out->bytes)[i] = (float) value;
                else if (type->kind == COMPLEX && type->bytes == sizeof(float complex))
                    ((float complex *) out->bytes)[i] = (float) value + 2 * I;
                else if (type->bytes == sizeof(double))
                    ((double *) out->bytes)[i] = value;
                else if (type->kind == COMPLEX && type->bytes == sizeof(double complex))
                    ((double complex *) out->bytes)[i] = value + 2 * I;
                else if (type->kind == FLOATING)
                    ((long double *) out->bytes)[i] = value;
                else
                    ((long double complex *) out->bytes)[i] = value + 2 * I;
        }
    }
}

/* The value of long double has padding, which is not compared. */
static int is_same(const struct type *type, const char *a, const char *b, int elements)
{
    int parts = (1 << type->kind & COMPLEX_KINDS) ? 2 : 1, part = type->bytes / parts;
    int compared = part == sizeof(long double) && (type->kind == FLOATING ||
                                                   type->kind == COMPLEX) ? 10 : part;

    for (int i = 0; i < elements * parts; i++)
        if (memcmp(a + i * part, b + i * part, (size_t) compared) != 0)
            return 0;
    return 1;
}

static void check(const struct type *type, const struct operator *op, const char *call,
                  const values *seen, const values *right, int elements)
{
    ET_CHECK(is_same(type, seen->bytes, right->bytes, elements), "MPI_%s of MPI_%s by %s is wrong",
             op->name, type->name, call);
}

static void expect_from(const struct type *type, const struct operator *op, int ranks,
                        values *right)
{
    values next;

    fill(type, 0, right);
    for (int rank = 1; rank < ranks; rank++) {
        fill(type, rank, &next);
        type->combine(op->name, next.bytes, right->bytes);
    }
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void local(const struct type *type, const struct operator *op)
{
    values in, inout, right;

    for (int a = 0; a < 3; a++) {
        fill(type, a, &in);
        fill(type, a + 1, &inout);
        right = inout;
        type->combine(op->name, in.bytes, right.bytes);
        ET_MPI(MPI_Reduce_local(in.bytes, inout.bytes, ELEMENTS, type->handle, op->handle));
        check(type, op, "Reduce_local", &inout, &right, ELEMENTS);
    }
}

static void together(const struct type *type, const struct operator *op)
{
    values mine, seen, right;
    MPI_Request request;

    fill(type, et.rank, &mine);
    expect_from(type, op, et.size, &right);
    ET_MPI(MPI_Allreduce(mine.bytes, seen.bytes, ELEMENTS, type->handle, op->handle,
                         MPI_COMM_WORLD));
    check(type, op, "Allreduce", &seen, &right, ELEMENTS);
    seen = mine;
    ET_MPI(MPI_Allreduce(MPI_IN_PLACE, seen.bytes, ELEMENTS, type->handle, op->handle,
                         MPI_COMM_WORLD));
    check(type, op, "Allreduce in place", &seen, &right, ELEMENTS);
    ET_MPI(MPI_Iallreduce(mine.bytes, seen.bytes, ELEMENTS, type->handle, op->handle,
                          MPI_COMM_WORLD, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check(type, op, "Iallreduce", &seen, &right, ELEMENTS);
    ET_MPI(MPI_Reduce(mine.bytes, seen.bytes, ELEMENTS, type->handle, op->handle, et.size - 1,
                      MPI_COMM_WORLD));
    if (et.rank == et.size - 1)
        check(type, op, "Reduce", &seen, &right, ELEMENTS);
    expect_from(type, op, et.rank + 1, &right);
    ET_MPI(MPI_Scan(mine.bytes, seen.bytes, ELEMENTS, type->handle, op->handle, MPI_COMM_WORLD));
    check(type, op, "Scan", &seen, &right, ELEMENTS);
}

/* All processes accumulate into the window of rank 0, which it has filled with its own values
 * before. */
static void into_window(const struct type *type, const struct operator *op, MPI_Win win,
                        values *base)
{
    values mine, right, fetched;
    const char *how[] = { "Accumulate", "Get_accumulate", "Fetch_and_op" };

    fill(type, et.rank, &mine);
    expect_from(type, op, et.size, &right);
    for (int way = 0; way < 3; way++) {
        if (et.rank == 0)
            fill(type, 0, base);
        ET_MPI(MPI_Win_fence(0, win));
        if (et.rank > 0 && way == 0)
            ET_MPI(MPI_Accumulate(mine.bytes, ELEMENTS, type->handle, 0, 0, ELEMENTS, type->handle,
                                  op->handle, win));
        else if (et.rank > 0 && way == 1)
            ET_MPI(MPI_Get_accumulate(mine.bytes, ELEMENTS, type->handle, fetched.bytes, ELEMENTS,
                                      type->handle, 0, 0, ELEMENTS, type->handle, op->handle, win));
        else if (et.rank > 0)
            ET_MPI(MPI_Fetch_and_op(mine.bytes, fetched.bytes, type->handle, 0, 0, op->handle,
                                    win));
        ET_MPI(MPI_Win_fence(0, win));
        if (et.rank == 0)
            check(type, op, how[way], base, &right, way == 2 ? 1 : ELEMENTS);
    }
}

/* Rank 1 replaces what rank 0 has, or reads it: operators that every type has. */
static void replaced(const struct type *type, MPI_Win win, values *base)
{
    static const struct operator replace = { "REPLACE", MPI_REPLACE, 0 }, no_op =
        { "NO_OP", MPI_NO_OP, 0 };
    const char *how[] = { "Accumulate", "Get_accumulate", "Fetch_and_op" };
    values first, second, fetched;
    MPI_Datatype handle = type->handle;

    fill(type, 0, &first);
    fill(type, 1, &second);
    for (int i = 0; i < 5; i++) {
        const int way = i % 3, elements = way == 2 ? 1 : ELEMENTS;
        const struct operator *op = i < 3 ? &replace : &no_op;
        if (i == 3)
            continue;           /* Accumulate does not read */
        if (et.rank == 0)
            *base = first;
        ET_MPI(MPI_Win_fence(0, win));
        if (et.rank == 1 && way == 0)
            ET_MPI(MPI_Accumulate(second.bytes, ELEMENTS, handle, 0, 0, ELEMENTS, handle,
                                  op->handle, win));
        else if (et.rank == 1 && way == 1)
            ET_MPI(MPI_Get_accumulate(second.bytes, ELEMENTS, handle, fetched.bytes, ELEMENTS,
                                      handle, 0, 0, ELEMENTS, handle, op->handle, win));
        else if (et.rank == 1)
            ET_MPI(MPI_Fetch_and_op(second.bytes, fetched.bytes, handle, 0, 0, op->handle, win));
        ET_MPI(MPI_Win_fence(0, win));
        if (et.rank == 0)
            check(type, op, how[way], base, op == &replace ? &second : &first, elements);
        if (et.rank == 1 && way > 0)
            check(type, op, how[way], &fetched, &first, elements);
    }
}

/* Types of two and three constructors with ELEMENTS - 1 == 6 elements of `basic`, and where these
 * are, in elements. */
enum { SHAPES = 5, SPAN = 64 };
static MPI_Datatype nested_type(int shape, const struct type *type, const int **positions)
{
    static const int at[SHAPES][6] = {
        {0, 2, 10, 12, 20, 22}, {0, 2, 9, 11, 15, 17}, {1, 4, 13, 16, 25, 28},
        {0, 2, 10, 12, 20, 22}, {3, 4, 9, 10, 21, 22},
    };
    MPI_Datatype basic = type->handle, inner, middle, outer;
    MPI_Aint bytes = type->bytes;
    const int lengths[] = { 1, 1, 1 };

    switch (shape) {
        case 0:        /* vector of vector */
            ET_MPI(MPI_Type_vector(2, 1, 2, basic, &inner));
            ET_MPI(MPI_Type_create_hvector(3, 1, 10 * bytes, inner, &outer));
            break;
        case 1:        /* hindexed of vector */
            ET_MPI(MPI_Type_vector(2, 1, 2, basic, &inner));
            ET_MPI(MPI_Type_create_hindexed(3, lengths, (MPI_Aint[]) {0, 9 * bytes, 15 * bytes},
                                            inner, &outer));
            break;
        case 2:        /* contiguous of resized of indexed block */
            ET_MPI(MPI_Type_create_indexed_block(2, 1, (int[]) {1, 4}, basic, &inner));
            ET_MPI(MPI_Type_create_resized(inner, 0, 12 * bytes, &middle));
            ET_MPI(MPI_Type_contiguous(3, middle, &outer));
            ET_MPI(MPI_Type_free(&middle));
            break;
        case 3:        /* vector of resized of vector */
            ET_MPI(MPI_Type_vector(2, 1, 2, basic, &inner));
            ET_MPI(MPI_Type_create_resized(inner, 0, 5 * bytes, &middle));
            ET_MPI(MPI_Type_vector(3, 1, 2, middle, &outer));
            ET_MPI(MPI_Type_free(&middle));
            break;
        default:       /* hindexed of hvector of contiguous, with a struct around it */
            ET_MPI(MPI_Type_contiguous(2, basic, &inner));
            ET_MPI(MPI_Type_create_hvector(1, 1, bytes, inner, &middle));
            ET_MPI(MPI_Type_free(&inner));
            ET_MPI(MPI_Type_create_hindexed(3, lengths,
                                            (MPI_Aint[]) {3 * bytes, 9 * bytes, 21 * bytes}, middle,
                                            &inner));
            ET_MPI(MPI_Type_create_struct(1, lengths, (MPI_Aint[]) {0}, &inner, &outer));
            ET_MPI(MPI_Type_free(&middle));
    }
    ET_MPI(MPI_Type_free(&inner));
    ET_MPI(MPI_Type_commit(&outer));
    *positions = at[shape];
    return outer;
}

static void into_nested(const struct type *type, const struct operator *op, MPI_Win win, char *base)
{
    for (int shape = 0; shape < SHAPES; shape++) {
        const int *positions;
        MPI_Datatype outer = nested_type(shape, type, &positions);
        values mine, first, right, seen;
        size_t bytes = (size_t) type->bytes;

        fill(type, et.rank, &mine);
        fill(type, 0, &first);
        memset(base, 0x55, SPAN * MOST_BYTES);
        for (int i = 0; i < 6; i++)
            memcpy(base + (size_t) positions[i] * bytes, first.bytes + (size_t) i * bytes, bytes);
        ET_MPI(MPI_Win_fence(0, win));
        if (et.rank > 0)
            ET_MPI(MPI_Accumulate(mine.bytes, 6, type->handle, 0, 0, 1, outer, op->handle, win));
        ET_MPI(MPI_Win_fence(0, win));
        if (et.rank == 0) {
            expect_from(type, op, et.size, &right);
            for (int i = 0; i < 6; i++) {
                memcpy(seen.bytes + (size_t) i * bytes, base + (size_t) positions[i] * bytes,
                       bytes);
                memset(base + (size_t) positions[i] * bytes, 0x55, bytes);
            }
            check(type, op, "Accumulate into a nested type", &seen, &right, 6);
            for (int i = 0; i < SPAN * MOST_BYTES; i++)
                ET_CHECK(base[i] == 0x55, "MPI_%s of MPI_%s: byte %d beside shape %d is changed",
                         op->name, type->name, i, shape);
        }
        ET_MPI(MPI_Type_free(&outer));
    }
}

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "case", "local");
    MPI_Win win = MPI_WIN_NULL;
    char *base = NULL;

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    ET_MPI(MPI_Win_allocate(SPAN * MOST_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    for (int t = 0; t < TYPES; t++) {
        if (types[t].handle == MPI_DATATYPE_NULL)
            continue;
        if (strcmp(what, "windows") == 0)
            replaced(&types[t], win, (values *) base);
        for (int o = 0; o < OPERATORS; o++) {
            if (!(operators[o].kinds & 1U << types[t].kind))
                continue;
            if (strcmp(what, "local") == 0)
                local(&types[t], &operators[o]);
            else if (strcmp(what, "together") == 0)
                together(&types[t], &operators[o]);
            else if (strcmp(what, "windows") == 0)
                into_window(&types[t], &operators[o], win, (values *) base);
            else
                into_nested(&types[t], &operators[o], win, base);
        }
    }
    ET_MPI(MPI_Win_free(&win));
    if (et.rank == 0)
        et_log("PASS reductions %s", what);
    ET_MPI(MPI_Finalize());
    return 0;
}
