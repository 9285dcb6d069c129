/*
 * See mpir_external32.h.
 *
 * Data pass through a chunk, in which their basic elements are contiguous.  The engine that packs
 * messages moves them between the memory and the chunk, with any gaps; in the chunk they are
 * converted in the order of the type's signature.  All sizes are those of basic elements, never
 * extents.  There is no state, and any thread may call the functions.
 */

#include "mpiimpl.h"
#include "mpir_external32.h"
#include "type_members.h"
#include "typerep/src/typerep_util.h"

#define CHUNK_BYTES (1 << 18)

struct conversion {
    bool packs;
    void *memory;               /* of the program */
    MPI_Aint count;
    MPI_Datatype type;
    char *chunk;
    /* from begin to end: data to be converted, or to be moved into the memory */
    MPI_Aint chunk_bytes, begin, end;
    MPI_Aint moved;             /* bytes between the memory and the chunk */
    char *external;
    MPI_Aint left;              /* external bytes */
    bool is_over;               /* they hold no further element */
};

/* ---- basic elements -------------------------------------------------------------------------- */

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

/* Types of integers whose size may differ. */
static bool is_integer(MPI_Datatype basic)
{
    return basic == MPI_LONG || basic == MPI_UNSIGNED_LONG || basic == MPI_WCHAR ||
        basic == MPI_INTEGER || basic == MPI_LOGICAL;
}

#define SWAP_EACH(c_type, convert)                                      \
    for (MPI_Aint i = 0; i < n; i++) {                                  \
        c_type before, after;                                           \
        memcpy(&before, from + i * (MPI_Aint) sizeof(before), sizeof(before)); \
        convert(before, after);                                         \
        memcpy(to + i * (MPI_Aint) sizeof(after), &after, sizeof(after)); \
    }

/* From the machine's order of bytes to the external one, or back. */
static void swap(char *to, const char *from, MPI_Aint n, MPI_Aint size)
{
#if BLENDIAN == 1
    if (size == 2)
        SWAP_EACH(uint16_t, BASIC_convert16)
    else if (size == 4)
        SWAP_EACH(uint32_t, BASIC_convert32)
    else if (size == 8)
        SWAP_EACH(uint64_t, BASIC_convert64)
    else if (size != 1)
        for (MPI_Aint i = 0; i < n; i++)
            BASIC_copyto(from + i * size, to + i * size, (int) size);
    else
#endif
        memcpy(to, from, (size_t) (n * size));
}

/* Resizes integers in the external order: drops upper bytes, or adds bytes of the sign. */
static void resize(unsigned char *to, MPI_Aint to_size, const unsigned char *from,
                   MPI_Aint from_size, bool is_signed)
{
    const MPI_Aint common = MPL_MIN(to_size, from_size);

    memset(to, is_signed && (from[0] & 0x80) ? 0xff : 0, (size_t) (to_size - common));
    memcpy(to + to_size - common, from + from_size - common, (size_t) common);
}

static void convert_integer(const struct conversion *c, MPI_Datatype basic, char *native,
                            char *external)
{
    const bool is_signed = !MPII_Typerep_basic_type_is_unsigned(basic);
    const MPI_Aint size = native_size(basic), bytes = external_size(basic);
    unsigned char swapped[16];

    if (c->packs) {
        swap((char *) swapped, native, 1, size);
        resize((unsigned char *) external, bytes, swapped, size, is_signed);
    } else {
        resize(swapped, size, (unsigned char *) external, bytes, is_signed);
        swap(native, (char *) swapped, 1, size);
    }
}

static void convert_long_double(const struct conversion *c, char *native, char *external)
{
#ifdef HAVE_FLOAT128
    __float128 quad;
#else
    long double quad;
#endif
    long double number;

    if (c->packs) {
        memcpy(&number, native, sizeof(number));
        quad = number;
        memset(external, 0, 16);
        swap(external, (const char *) &quad, 1, sizeof(quad));
    } else {
        swap((char *) &quad, external, 1, sizeof(quad));
        number = (long double) quad;
        memcpy(native, &number, sizeof(number));
    }
}

static int convert_some(const struct conversion *c, MPI_Datatype basic, MPI_Aint n)
{
    const MPI_Aint size = native_size(basic), bytes = external_size(basic);
    const int parts = is_complex(basic) ? 2 : 1;
    char *native = c->chunk + (c->packs ? c->begin : c->end);
    int mpi_errno = MPI_SUCCESS;

    if (is_long_double(basic)) {
        for (MPI_Aint i = 0; i < n * parts; i++)
            convert_long_double(c, native + i * (MPI_Aint) sizeof(long double),
                                c->external + i * 16);
    } else if (size == bytes) {
        swap(c->packs ? c->external : native, c->packs ? native : c->external, n * parts,
             size / parts);
    } else {
        MPIR_ERR_CHKANDJUMP(!is_integer(basic), mpi_errno, MPI_ERR_TYPE, "**dtype");
        for (MPI_Aint i = 0; i < n; i++)
            convert_integer(c, basic, native + i * size, c->external + i * bytes);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- the chunk ------------------------------------------------------------------------------- */

static int fill(struct conversion *c)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint bytes;

    c->end -= c->begin;
    memmove(c->chunk, c->chunk + c->begin, (size_t) c->end);
    c->begin = 0;
    mpi_errno =
        MPIR_Typerep_pack(c->memory, c->count, c->type, c->moved, c->chunk + c->end,
                          c->chunk_bytes - c->end, &bytes);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(bytes == 0, mpi_errno, MPI_ERR_INTERN, "**intern");
    c->moved += bytes;
    c->end += bytes;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int empty(struct conversion *c)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Aint bytes;

    mpi_errno =
        MPIR_Typerep_unpack(c->chunk, c->end, c->memory, c->count, c->type, c->moved, &bytes);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(bytes == 0, mpi_errno, MPI_ERR_INTERN, "**intern");
    c->moved += bytes;
    c->end -= bytes;
    memmove(c->chunk, c->chunk + bytes, (size_t) c->end);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- the signature --------------------------------------------------------------------------- */

/* Also for types that represent a basic one, such as those of MPI_Type_create_f90_real. */
static MPI_Datatype basic_type(MPI_Datatype type)
{
    MPIR_Datatype *ptr;

    if (HANDLE_IS_BUILTIN(type))
        return type;
    MPIR_Datatype_get_ptr(type, ptr);
    return ptr->basic_type;
}

MPI_Aint MPIR_External32_bytes(MPI_Datatype type)
{
    struct MPIR_Type_member member;
    MPI_Aint bytes = 0;

    if (native_size(type) == 0)
        return 0;
    if (!MPIR_Type_get_member(type, 0, &member))
        return external_size(basic_type(type));
    for (MPI_Aint i = 0; MPIR_Type_get_member(type, i, &member); i++)
        bytes += member.count * MPIR_External32_bytes(member.type);
    return bytes;
}

static int convert_basic(struct conversion *c, MPI_Datatype basic, MPI_Count n)
{
    const MPI_Aint size = native_size(basic), bytes = external_size(basic);
    int mpi_errno = MPI_SUCCESS;

    while (n > 0 && mpi_errno == MPI_SUCCESS) {
        MPI_Aint some =
            MPL_MIN((c->packs ? c->end - c->begin : c->chunk_bytes - c->end) / size,
                    c->left / bytes);
        some = MPL_MIN(some, n);
        c->is_over = c->left < bytes;
        if (c->is_over)
            break;
        if (some == 0) {
            mpi_errno = c->packs ? fill(c) : empty(c);
            continue;
        }
        mpi_errno = convert_some(c, basic, some);
        *(c->packs ? &c->begin : &c->end) += some * size;
        c->external += some * bytes;
        c->left -= some * bytes;
        n -= some;
    }
    return mpi_errno;
}

static int convert(struct conversion *c, MPI_Datatype type, MPI_Count n)
{
    struct MPIR_Type_member member;
    int mpi_errno = MPI_SUCCESS;

    if (native_size(type) == 0)
        return mpi_errno;
    if (!MPIR_Type_get_member(type, 0, &member))
        return convert_basic(c, basic_type(type), n);
    if (!MPIR_Type_get_member(type, 1, &member)) {
        MPIR_Type_get_member(type, 0, &member);
        return convert(c, member.type, n * member.count);
    }
    for (MPI_Count k = 0; k < n; k++)
        for (MPI_Aint i = 0; MPIR_Type_get_member(type, i, &member) && !mpi_errno && !c->is_over;
             i++)
            mpi_errno = convert(c, member.type, member.count);
    return mpi_errno;
}

static int convert_all(struct conversion *c)
{
    int mpi_errno = MPI_SUCCESS;

    c->chunk_bytes = MPL_MIN(c->count * native_size(c->type), CHUNK_BYTES);
    if (c->chunk_bytes == 0)
        goto fn_exit;
    c->chunk = MPL_malloc(c->chunk_bytes, MPL_MEM_DATATYPE);
    MPIR_ERR_CHKANDJUMP(!c->chunk, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = convert(c, c->type, c->count);
    while (!c->packs && c->end > 0 && mpi_errno == MPI_SUCCESS)
        mpi_errno = empty(c);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(c->chunk);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_External32_pack(const void *from, MPI_Aint count, MPI_Datatype type, void *to)
{
    struct conversion c = {.packs = true,.memory = (void *) from,.count = count,.type = type,
                           .external = to,
        .left = count * MPIR_External32_bytes(type)
    };

    return convert_all(&c);
}

int MPIR_External32_unpack(const void *from, MPI_Aint bytes, void *to, MPI_Aint count,
                           MPI_Datatype type, MPI_Aint * native)
{
    struct conversion c = {.memory = to,.count = count,.type = type,.external = (void *) from,
                           .left = bytes };
    int mpi_errno = convert_all(&c);

    if (native)
        *native = c.moved;
    return mpi_errno;
}
