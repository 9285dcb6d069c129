/*
 * More than 2 GiB in one call on a file: what the system transfers in one call has a limit below
 * that.  The buffer takes no memory: one piece is mapped again and again.  Nor does a file:
 * /dev/zero is read, /dev/null is written.
 */

#define _GNU_SOURCE
#include "elastic_test.h"
#include <sys/mman.h>
#include <unistd.h>

#define PIECE ((size_t) 2 << 20)
#define BYTES (((size_t) 2 << 30) + 2 * PIECE)
#define COUNT ((int) (BYTES / sizeof(int)))

static char *buffer;

static void make_buffer(void)
{
    const int protection = PROT_READ | PROT_WRITE;
    int fd = memfd_create("piece", MFD_CLOEXEC);

    ET_CHECK(fd >= 0 && ftruncate(fd, (off_t) PIECE) == 0, "no memory file");
    buffer = mmap(NULL, BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ET_CHECK(buffer != MAP_FAILED, "no addresses");
    for (size_t at = 0; at + PIECE < BYTES; at += PIECE)
        ET_CHECK(mmap(buffer + at, PIECE, protection, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED,
                 "at %zu", at);
    close(fd);
}

/* Checks the bytes that were transferred, and the individual file pointer. */
static void check(const char *call, MPI_Status *status, MPI_File file, MPI_Offset moved)
{
    MPI_Count bytes;
    MPI_Offset position;

    ET_MPI(MPI_Get_elements_x(status, MPI_BYTE, &bytes));
    ET_CHECK(bytes == (MPI_Count) BYTES, "%s: %lld bytes", call, (long long) bytes);
    ET_MPI(MPI_File_get_position(file, &position));
    ET_CHECK(position == moved, "%s: the pointer is at %lld", call, (long long) position);
}

static void write_all_of_it(void)
{
    MPI_Request request;
    MPI_Status status;
    MPI_File file;

    ET_MPI(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    ET_MPI(MPI_File_write_at(file, 0, buffer, COUNT, MPI_INT, &status));
    check("MPI_File_write_at", &status, file, 0);
    ET_MPI(MPI_File_iwrite_at(file, 0, buffer, COUNT, MPI_INT, &request));
    ET_MPI(MPI_Wait(&request, &status));
    check("MPI_File_iwrite_at", &status, file, 0);
    ET_MPI(MPI_File_iwrite(file, buffer, COUNT, MPI_INT, &request));
    ET_MPI(MPI_Wait(&request, &status));
    check("MPI_File_iwrite", &status, file, (MPI_Offset) BYTES);
    ET_MPI(MPI_File_iwrite_all(file, buffer, COUNT, MPI_INT, &request));
    ET_MPI(MPI_Wait(&request, &status));
    check("MPI_File_iwrite_all", &status, file, 2 * (MPI_Offset) BYTES);
    ET_MPI(MPI_File_close(&file));
}

static void read_all_of_it(void)
{
    MPI_Request request;
    MPI_Status status;
    MPI_File file;

    ET_MPI(MPI_File_open(MPI_COMM_SELF, "/dev/zero", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    buffer[BYTES - 1] = 1;
    ET_MPI(MPI_File_iread_at(file, 0, buffer, COUNT, MPI_INT, &request));
    ET_MPI(MPI_Wait(&request, &status));
    check("MPI_File_iread_at", &status, file, 0);
    ET_CHECK(buffer[BYTES - 1] == 0, "MPI_File_iread_at leaves the last byte");
    buffer[BYTES - 1] = 1;
    ET_MPI(MPI_File_iread(file, buffer, COUNT, MPI_INT, &request));
    ET_MPI(MPI_Wait(&request, &status));
    check("MPI_File_iread", &status, file, (MPI_Offset) BYTES);
    ET_CHECK(buffer[BYTES - 1] == 0, "MPI_File_iread leaves the last byte");
    ET_MPI(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    ET_MPI(MPI_Init(&argc, &argv));
    ET_MPI(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL));
    make_buffer();
    write_all_of_it();
    read_all_of_it();
    et_log("PASS files large");
    ET_MPI(MPI_Finalize());
    return 0;
}
