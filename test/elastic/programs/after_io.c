/*
 * C9, MPI-IO: in every new world, and in the window on the old and on the new one, a file is
 * written by all, collectively and with a view, read back by others and removed.
 */

#include "elastic_test.h"

#define BLOCK 1000

static void use_file(MPI_Comm comm, const char *name)
{
    int rank, size, out[BLOCK], in[BLOCK], gap[1] = { -1 };
    MPI_File file;
    MPI_Datatype view;
    MPI_Offset bytes;
    MPI_Status status;
    char path[96];

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    snprintf(path, sizeof(path), "file_%d_%lx", et.epoch, (unsigned long) et_who());
    ET_MPI(MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, comm));
    ET_MPI(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    /* each process' numbers lie interleaved: number i of rank r at i * size + r */
    ET_MPI(MPI_Type_vector(BLOCK, 1, size, MPI_INT, &view));
    ET_MPI(MPI_Type_commit(&view));
    ET_MPI(MPI_File_set_view(file, (MPI_Offset) (rank * sizeof(int)), MPI_INT, view, "native",
                             MPI_INFO_NULL));
    for (int i = 0; i < BLOCK; i++)
        out[i] = rank * BLOCK + i;
    ET_MPI(MPI_File_write_all(file, out, BLOCK, MPI_INT, &status));
    ET_MPI(MPI_File_sync(file));
    ET_MPI(MPI_Barrier(comm));
    ET_MPI(MPI_File_sync(file));
    ET_MPI(MPI_File_get_size(file, &bytes));
    ET_CHECK(bytes == (MPI_Offset) (sizeof(int) * BLOCK) * size, "%s: %lld bytes", name,
             (long long) bytes);
    ET_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    ET_MPI(MPI_File_read_at_all(file, (MPI_Offset) rank * BLOCK, in, BLOCK, MPI_INT, &status));
    for (int i = 0; i < BLOCK; i++) {
        int position = rank * BLOCK + i;
        ET_CHECK(in[i] == position % size * BLOCK + position / size, "%s: number %d is %d", name,
                 position, in[i]);
    }
    if (rank == 0)
        ET_MPI(MPI_File_read_at(file, (MPI_Offset) BLOCK * size - 1, gap, 1, MPI_INT, &status));
    ET_CHECK(rank != 0 || gap[0] == size * BLOCK - 1, "%s: the last number is %d", name, gap[0]);
    ET_MPI(MPI_File_close(&file));
    ET_MPI(MPI_Type_free(&view));
    if (rank == 0)
        ET_MPI(MPI_File_delete(path, MPI_INFO_NULL));
}

static void window(void)
{
    use_file(MPI_COMM_WORLD, et.status == MPI_ADAPT_STATUS_JOINING ? "joining world" : "old world");
    if (et.next != MPI_COMM_NULL)
        use_file(et.next, "new_comm_world");
}

static void after(void)
{
    use_file(MPI_COMM_WORLD, "new world");
    use_file(MPI_COMM_SELF, "myself");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.window = window;
    et.after = after;
    return et_run();
}
