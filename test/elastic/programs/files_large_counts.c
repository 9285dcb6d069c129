/*
 * Each large-count call that reads or writes a file, with counts that an int does not hold.  All
 * processes transfer, one region after the other, by a view without gaps and by one with gaps.
 * Wrong counts and types are errors.  Neither memory nor file has the size: the functions of the
 * system that read and write the file are replaced by ones that compare addresses with offsets.
 */

#define _GNU_SOURCE             /* MAP_ANONYMOUS */
#include "elastic_test.h"
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GIB ((MPI_Count) 1 << 30)
#define ROOM (9 * GIB)          /* more than the longest transfer */
#define SYSTEM_BYTES_MAX 0x7ffff000     /* what Linux transfers in one call */

static const char *const path = "files_large_counts.data";
static MPI_File file;
static char *memory;            /* ROOM bytes that nobody uses */
static MPI_Offset first;        /* offset of this process in the view */
static MPI_Offset stride;       /* between the views's blocks of a GiB */
static MPI_Count transferred;   /* bytes, by this process */

/* As many bytes as the system would transfer. */
static ssize_t transfer(const char *buf, size_t bytes, off_t at)
{
    const MPI_Offset in_view = at / stride * GIB + at % stride;

    if (bytes > SYSTEM_BYTES_MAX)
        bytes = SYSTEM_BYTES_MAX;
    ET_CHECK(buf - memory == in_view - first, "%zu bytes at %lld are those at %lld in memory",
             bytes, (long long) at, (long long) (buf - memory));
    ET_CHECK(stride == GIB ||
             at % stride + (off_t) bytes <= GIB, "%zu bytes at %lld", bytes, (long long) at);
    transferred += bytes;
    return bytes;
}

static int is_shared_pointer(size_t bytes)
{
    return bytes == sizeof(MPI_Offset); /* in a file of its own */
}

ssize_t pwrite(int fd, const void *buf, size_t bytes, off_t at)
{
    return is_shared_pointer(bytes) ? syscall(SYS_pwrite64, fd, buf, bytes, at)
        : transfer(buf, bytes, at);
}

ssize_t pread(int fd, void *buf, size_t bytes, off_t at)
{
    return is_shared_pointer(bytes) ? syscall(SYS_pread64, fd, buf, bytes, at)
        : transfer(buf, bytes, at);
}

/* ---- the calls, in one form ---- */

typedef int call_function(MPI_Count count, MPI_Datatype type, MPI_Status * status);

#define BLOCKING(call, ...)                                                             \
    static int do_##call(MPI_Count count, MPI_Datatype type, MPI_Status * status)       \
    {                                                                                   \
        return MPI_File_##call##_c(file, __VA_ARGS__, count, type, status);             \
    }
#define NONBLOCKING(call, ...)                                                          \
    static int do_##call(MPI_Count count, MPI_Datatype type, MPI_Status * status)       \
    {                                                                                   \
        MPI_Request request;                                                            \
        int error = MPI_File_##call##_c(file, __VA_ARGS__, count, type, &request);      \
                                                                                        \
        return error != MPI_SUCCESS ? error : MPI_Wait(&request, status);               \
    }
#define SPLIT(call, ...)                                                                \
    static int do_##call##_begin(MPI_Count count, MPI_Datatype type, MPI_Status * status) \
    {                                                                                   \
        int error = MPI_File_##call##_begin_c(file, __VA_ARGS__, count, type);          \
                                                                                        \
        return error != MPI_SUCCESS ? error : MPI_File_##call##_end(file, memory, status); \
    }
#define FUNCTIONS(verb)                                 \
    BLOCKING(verb, memory)                              \
    BLOCKING(verb##_at, first, memory)                  \
    BLOCKING(verb##_all, memory)                        \
    BLOCKING(verb##_at_all, first, memory)              \
    BLOCKING(verb##_shared, memory)                     \
    BLOCKING(verb##_ordered, memory)                    \
    NONBLOCKING(i##verb, memory)                        \
    NONBLOCKING(i##verb##_at, first, memory)            \
    NONBLOCKING(i##verb##_all, memory)                  \
    NONBLOCKING(i##verb##_at_all, first, memory)        \
    NONBLOCKING(i##verb##_shared, memory)               \
    SPLIT(verb##_all, memory)                           \
    SPLIT(verb##_at_all, first, memory)                 \
    SPLIT(verb##_ordered, memory)

/* *INDENT-OFF* */
FUNCTIONS(read)
FUNCTIONS(write)
/* *INDENT-ON* */

enum pointer { NONE, OWN, SHARED };

static const struct {
    const char *name;
    call_function *function;
    enum pointer pointer;
} calls[] = {
#define CALL(name, pointer) {#name, do_##name, pointer}
#define CALLS(verb) \
    CALL(verb, OWN), CALL(verb##_at, NONE), CALL(verb##_all, OWN), CALL(verb##_at_all, NONE), \
    CALL(verb##_shared, SHARED), CALL(verb##_ordered, SHARED), CALL(i##verb, OWN), \
    CALL(i##verb##_at, NONE), CALL(i##verb##_all, OWN), CALL(i##verb##_at_all, NONE), \
    CALL(i##verb##_shared, SHARED), CALL(verb##_all_begin, OWN), CALL(verb##_at_all_begin, NONE), \
    CALL(verb##_ordered_begin, SHARED)
    CALLS(read), CALLS(write)
};

#define N_CALLS ((int) (sizeof(calls) / sizeof(*calls)))

/* With the shared pointer the regions are those of the ranks if processes call in their order. */
static int call_in_turn(int call, MPI_Count count, MPI_Datatype type, MPI_Status * status)
{
    const int in_turn = strstr(calls[call].name, "_shared") != NULL;
    int error = MPI_SUCCESS;

    for (int rank = 0; rank < (in_turn ? et.size : 1); rank++) {
        if (!in_turn || rank == et.rank)
            error = calls[call].function(count, type, status);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return error;
}

static void check_pointers(const char *name, enum pointer pointer, MPI_Offset bytes)
{
    MPI_Offset own, shared;

    ET_MPI(MPI_File_get_position(file, &own));
    ET_MPI(MPI_File_get_position_shared(file, &shared));
    ET_CHECK(own == first + (pointer == OWN ? bytes : 0), "%s: the pointer is at %lld", name,
             (long long) own);
    ET_CHECK(shared == (pointer == SHARED ? et.size * bytes : 0),
             "%s: the shared pointer is at %lld", name, (long long) shared);
}

static void check_calls(MPI_Count count, MPI_Datatype type, int size)
{
    MPI_Status status;
    MPI_Count found;
    int counted;

    first = et.rank * count * size;
    for (int call = 0; call < N_CALLS; call++) {
        const char *const name = calls[call].name;

        ET_MPI(MPI_File_seek(file, first, MPI_SEEK_SET));
        ET_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
        transferred = 0;
        ET_MPI(call_in_turn(call, count, type, &status));
        ET_CHECK(transferred == count * size, "%s transfers %lld bytes", name,
                 (long long) transferred);
        ET_MPI(MPI_Get_count_c(&status, type, &found));
        ET_CHECK(found == count, "%s: the count is %lld", name, (long long) found);
        ET_MPI(MPI_Get_elements_x(&status, MPI_BYTE, &found));
        ET_CHECK(found == count * size, "%s: %lld bytes", name, (long long) found);
        ET_MPI(MPI_Get_count(&status, type, &counted));
        ET_CHECK(counted == MPI_UNDEFINED, "%s: MPI_Get_count returns %d", name, counted);
        check_pointers(name, calls[call].pointer, count * size);
    }
}

static void check_errors(void)
{
    MPI_Status status;

    for (int call = 0; call < N_CALLS; call++) {
        ET_ERROR(call_in_turn(call, 5 - 4 * GIB, MPI_BYTE, &status), MPI_ERR_COUNT, "count");
        ET_ERROR(call_in_turn(call, INT64_MAX, MPI_SHORT, &status), MPI_ERR_COUNT, "count");
        ET_ERROR(call_in_turn(call, 4 * GIB + 5, MPI_DATATYPE_NULL, &status), MPI_ERR_TYPE, "null");
    }
}

static void check_all(void)
{
    MPI_Datatype pair;

    ET_MPI(MPI_Type_contiguous(2, MPI_SHORT, &pair));
    ET_MPI(MPI_Type_commit(&pair));
    check_calls(4 * GIB + 5, MPI_BYTE, 1);
    check_calls(2 * GIB, MPI_SHORT, 2);
    check_calls(2 * GIB + 11, pair, 4); /* a prime number */
    ET_MPI(MPI_Type_free(&pair));
    check_errors();
}

static void set_view(MPI_Offset extent)
{
    MPI_Datatype block, type;

    stride = extent;
    ET_MPI(MPI_Type_contiguous_c(GIB, MPI_BYTE, &block));
    ET_MPI(MPI_Type_create_resized(block, 0, extent, &type));
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
    ET_MPI(MPI_Type_free(&type));
    ET_MPI(MPI_Type_free(&block));
}

int main(int argc, char **argv)
{
    MPI_Info hints;

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    memory = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ET_CHECK(memory != MAP_FAILED, "no addresses");
    ET_MPI(MPI_Info_create(&hints));
    ET_MPI(MPI_Info_set(hints, "romio_ds_read", "disable"));
    ET_MPI(MPI_Info_set(hints, "romio_ds_write", "disable"));
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, path,
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, hints, &file));
    ET_MPI(MPI_Info_free(&hints));
    ET_MPI(MPI_File_set_size(file, 4 * ROOM));
    for (int blocks = 1; blocks <= 2; blocks++) {
        set_view(blocks * GIB);
        check_all();
    }
    ET_MPI(MPI_File_close(&file));
    if (et.rank == 0)
        et_log("PASS files large counts");
    ET_MPI(MPI_Finalize());
    return 0;
}
