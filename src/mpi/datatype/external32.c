/*
 * See mpir_external32.h.
 *
 * Data with gaps pass through a chunk, in which their basic elements are contiguous.  The engine
 * that packs messages moves them between the memory and the chunk; in the chunk they are converted
 * in the order of the type's signature.  Contiguous data are converted where they are: they are a
 * chunk of their own.  All sizes are those of basic elements, never extents.  There is no state,
 * and any thread may call the functions.
 */

#include "mpiimpl.h"
#include "mpir_external32.h"
#include "external32_elements.h"
#include "type_members.h"

#define CHUNK_BYTES (1 << 18)

struct conversion {
    bool packs;
    void *memory;               /* of the program */
    MPI_Aint count;
    MPI_Datatype type;
    bool is_contiguous;         /* the chunk is the memory */
    char *chunk;
    /* from begin to end: data to be converted, or to be moved into the memory */
    MPI_Aint chunk_bytes, begin, end;
    MPI_Aint moved;             /* bytes between the memory and the chunk */
    char *external;
    MPI_Aint left;              /* external bytes */
    bool is_over;               /* they hold no further element */
};

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

    while (n > 0) {
        MPI_Aint *at = c->packs ? &c->begin : &c->end;
        MPI_Aint some =
            MPL_MIN((c->packs ? c->end - c->begin : c->chunk_bytes - c->end) / size,
                    c->left / bytes);
        some = MPL_MIN(some, n);
        c->is_over = c->left < bytes;
        if (c->is_over)
            break;
        if (some == 0) {
            mpi_errno = c->packs ? fill(c) : empty(c);
            MPIR_ERR_CHECK(mpi_errno);
            continue;
        }
        MPIR_ERR_CHKANDJUMP(!convert_elements(c->packs, basic, some, size, bytes, c->chunk + *at,
                                              c->external), mpi_errno, MPI_ERR_TYPE, "**dtype");
        *at += some * size;
        c->external += some * bytes;
        c->left -= some * bytes;
        n -= some;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
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

/* The memory of a device is not accessible here. */
static void find_contiguous(struct conversion *c)
{
    MPI_Aint true_lb, true_extent;
    int is_contig;

    MPIR_Datatype_is_contig(c->type, &is_contig);
    if (is_contig) {
        MPIR_Type_get_true_extent_impl(c->type, &true_lb, &true_extent);
        c->chunk = MPIR_get_contig_ptr(c->memory, true_lb);
        c->is_contiguous = !MPIR_GPU_query_pointer_is_dev(c->chunk);
    }
}

static int convert_all(struct conversion *c)
{
    const MPI_Aint bytes = c->count * native_size(c->type);
    int mpi_errno = MPI_SUCCESS;

    if (bytes == 0)
        goto fn_exit;
    find_contiguous(c);
    c->chunk_bytes = c->is_contiguous ? bytes : MPL_MIN(bytes, CHUNK_BYTES);
    if (c->is_contiguous) {
        c->end = c->packs ? bytes : 0;
    } else {
        c->chunk = MPL_malloc(c->chunk_bytes, MPL_MEM_DATATYPE);
        MPIR_ERR_CHKANDJUMP(!c->chunk, mpi_errno, MPI_ERR_OTHER, "**nomem");
    }
    mpi_errno = convert(c, c->type, c->count);
    if (c->is_contiguous)
        c->moved = c->end;
    while (!c->is_contiguous && !c->packs && c->end > 0 && mpi_errno == MPI_SUCCESS)
        mpi_errno = empty(c);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    if (!c->is_contiguous)
        MPL_free(c->chunk);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_External32_pack(const void *from, MPI_Aint count, MPI_Datatype type, void *to)
{
    struct conversion c = {.packs = true,.memory = (void *) from,.count = count,.type = type,
                           .external = to,.left = MPIR_AINT_MAX };

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
