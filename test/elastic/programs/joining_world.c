/*
 * I2: before begin (and in the window) the world of the joining processes is theirs alone and does
 * everything: messages, collectives, derived communicators, one-sided access, a file.
 */

#include "elastic_test.h"
#include <unistd.h>

static int size_before;

static void use_window(MPI_Comm comm)
{
    MPI_Win win;
    int rank, size, *cell, got = -1;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &cell, &win));
    ET_MPI(MPI_Win_fence(0, win));
    *cell = 50 + rank;
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(got == 50 + (rank + 1) % size, "get gives %d", got);
    ET_MPI(MPI_Win_free(&win));
}

static void use_file(MPI_Comm comm)
{
    MPI_File file;
    char name[64];
    int rank, size, got = -1;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    snprintf(name, sizeof(name), "joining_%ld", (long) getpid());
    ET_MPI(MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, comm));
    ET_MPI(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
    ET_MPI(MPI_File_write_at_all(file, (MPI_Offset) (4 * rank), &rank, 1, MPI_INT,
                                 MPI_STATUS_IGNORE));
    ET_MPI(MPI_File_sync(file));
    ET_MPI(MPI_Barrier(comm));
    ET_MPI(MPI_File_read_at_all(file, (MPI_Offset) (4 * ((rank + 1) % size)), &got, 1, MPI_INT,
                                MPI_STATUS_IGNORE));
    ET_CHECK(got == (rank + 1) % size, "the file gives %d", got);
    ET_MPI(MPI_File_close(&file));
}

static void use_world(void)
{
    MPI_Comm copy, half, shared;

    et_exercise(MPI_COMM_WORLD, "the joining world");
    ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    et_exercise(copy, "a copy of the joining world");
    ET_MPI(MPI_Comm_split(copy, et.rank % 2, -et.rank, &half));
    et_exercise(half, "half of the joining world");
    ET_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    et_exercise(shared, "the joining processes of a node");
    use_window(MPI_COMM_WORLD);
    use_file(MPI_COMM_WORLD);
    ET_MPI(MPI_Comm_free(&shared));
    ET_MPI(MPI_Comm_free(&half));
    ET_MPI(MPI_Comm_free(&copy));
}

static void window(void)
{
    if (et.status != MPI_ADAPT_STATUS_JOINING)
        return;
    ET_CHECK(size_before == et.joining, "my world had %d, %d join", size_before, et.joining);
    use_world();
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.window = window;
    if (et.status == MPI_ADAPT_STATUS_JOINING) {
        size_before = et.size;
        use_world();
    }
    return et_run();
}
