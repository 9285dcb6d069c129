/*
 * Blocks of more than 4 GiB in one call: collective ones, of one block and of two blocks in memory,
 * and independent ones without data sieving.  --case collective, --case naive Neither memory nor
 * file has this size: one piece of memory is mapped again and again, and the functions of the
 * system that read and write the file are replaced by ones that compare with it and copy from it.
 */

#define _GNU_SOURCE             /* memfd_create */
#include "elastic_test.h"
#include <sys/mman.h>
#include <unistd.h>

/* no power of two: an offset that is wrong by one reaches other data */
#define PIECE ((size_t) 509 << 12)
#define PIECES 2400
/* bytes of the first block in memory; the gap; the second block */
#define FIRST ((MPI_Count) 9 << 29)
#define GAP 4099
#define SECOND 70001
#define TOTAL (FIRST + SECOND)

static const char *const path = "files_large_pieces.data";
static char *source, *target;   /* each PIECE * PIECES bytes */
static MPI_Count gap;           /* between the blocks, in memory */
static MPI_Count transferred;   /* bytes, by this process */

static char *map_again_and_again(void)
{
    const int protection = PROT_READ | PROT_WRITE;
    int fd = memfd_create("piece", MFD_CLOEXEC);
    char *memory;

    ET_CHECK(fd >= 0 && ftruncate(fd, (off_t) PIECE) == 0, "no memory file");
    memory =
        mmap(NULL, PIECES * PIECE, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ET_CHECK(memory != MAP_FAILED, "no addresses");
    for (size_t at = 0; at < PIECES * PIECE; at += PIECE)
        ET_CHECK(mmap(memory + at, PIECE, protection, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED,
                 "at %zu", at);
    close(fd);
    return memory;
}

/* The bytes of the file from `at` on, of which at most `bytes` are contiguous in memory. */
static const char *expected(off_t at, size_t *bytes)
{
    if (at < FIRST) {
        if ((off_t) * bytes > FIRST - at)
            *bytes = FIRST - at;
        return source + at;
    }
    return source + at + gap;
}

/* Rank 1 has no data, so that all of the file is rank 0's, but it may transfer it. */
ssize_t pwrite(int fd, const void *buf, size_t bytes, off_t at)
{
    size_t now;

    ET_CHECK(fd >= 0 &&
             at + (off_t) bytes <= TOTAL, "a write of %zu bytes at %lld", bytes, (long long) at);
    for (size_t done = 0; done < bytes; done += now) {
        now = bytes - done;
        const char *data = expected(at + done, &now);
        ET_CHECK(memcmp((const char *) buf + done, data, now) == 0,
                 "wrong data in %zu bytes at %lld", now, (long long) at + (long long) done);
    }
    transferred += bytes;
    return bytes;
}

ssize_t pread(int fd, void *buf, size_t bytes, off_t at)
{
    size_t now;

    ET_CHECK(fd >= 0 &&
             at + (off_t) bytes <= TOTAL, "a read of %zu bytes at %lld", bytes, (long long) at);
    for (size_t done = 0; done < bytes; done += now) {
        now = bytes - done;
        const char *data = expected(at + done, &now);
        memcpy((char *) buf + done, data, now);
    }
    transferred += bytes;
    return bytes;
}

static MPI_Datatype memory_type(void)
{
    const MPI_Count lengths[2] = { FIRST, SECOND }, displs[2] = { 0, FIRST + gap };
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_hindexed_c(2, lengths, displs, MPI_BYTE, &type));
    ET_MPI(MPI_Type_commit(&type));
    return type;
}

static void check(const char *call, MPI_Status * status)
{
    MPI_Count bytes = et.rank == 0 ? TOTAL : 0, found, all;

    ET_MPI(MPI_Get_elements_x(status, MPI_BYTE, &found));
    ET_CHECK(found == bytes, "%s: the status has %lld bytes", call, (long long) found);
    ET_MPI(MPI_Allreduce(&transferred, &all, 1, MPI_COUNT, MPI_SUM, MPI_COMM_WORLD));
    ET_CHECK(all == TOTAL, "%s: %lld bytes in the file", call, (long long) all);
    transferred = 0;
}

static void clear_target(void)
{
    memset(target, 0, PIECE);
}

/* The target is one piece that is mapped again and again, and so holds what was read last. */
static void check_target(const char *call)
{
    if (et.rank == 0)
        ET_CHECK(memcmp(source, target, PIECE) == 0, "%s: wrong data", call);
}

static void collective(MPI_File file)
{
    const int count = et.rank == 0 ? 1 : 0;
    MPI_Datatype type = memory_type();
    MPI_Request request;
    MPI_Status status;

    ET_MPI(MPI_File_write_at_all(file, 0, source, count, type, &status));
    check("write_at_all", &status);
    ET_MPI(MPI_File_iwrite_at_all(file, 0, source, count, type, &request));
    ET_MPI(MPI_Wait(&request, &status));
    check("iwrite_at_all", &status);
    clear_target();
    ET_MPI(MPI_File_read_at_all(file, 0, target, count, type, &status));
    check("read_at_all", &status);
    check_target("read_at_all");
    clear_target();
    ET_MPI(MPI_File_iread_at_all(file, 0, target, count, type, &request));
    ET_MPI(MPI_Wait(&request, &status));
    check("iread_at_all", &status);
    check_target("iread_at_all");
    ET_MPI(MPI_Type_free(&type));
}

static void independent(MPI_File file)
{
    const int count = et.rank == 0 ? 1 : 0;
    MPI_Datatype type = memory_type();
    MPI_Status status;

    ET_MPI(MPI_File_write_at(file, 0, source, count, type, &status));
    check("write_at", &status);
    clear_target();
    ET_MPI(MPI_File_read_at(file, 0, target, count, type, &status));
    check("read_at", &status);
    check_target("read_at");
    ET_MPI(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    const char *which;
    MPI_File file;
    MPI_Info hints;

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    which = et_argument(argc, argv, "case", "");
    source = map_again_and_again();
    target = map_again_and_again();
    for (size_t i = 0; i < PIECE; i++)
        source[i] = (char) ((i * 2654435761u) >> 13);

    ET_MPI(MPI_Info_create(&hints));
    for (const char *const *hint =
         (const char *const[]) { "romio_cb_read", "romio_cb_write", NULL }; *hint; hint++)
        ET_MPI(MPI_Info_set(hints, *hint, strcmp(which, "collective") == 0 ? "enable" : "disable"));
    ET_MPI(MPI_Info_set(hints, "romio_ds_read", "disable"));
    ET_MPI(MPI_Info_set(hints, "romio_ds_write", "disable"));
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, path,
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, hints, &file));
    ET_MPI(MPI_File_set_size(file, TOTAL));
    for (gap = 0; gap <= GAP; gap += GAP) {
        if (strcmp(which, "collective") == 0)
            collective(file);
        else
            independent(file);
    }
    ET_MPI(MPI_File_close(&file));
    ET_MPI(MPI_Info_free(&hints));
    if (et.rank == 0)
        et_log("PASS files large pieces %s", which);
    ET_MPI(MPI_Finalize());
    return 0;
}
