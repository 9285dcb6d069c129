/*
 * Parallel HDF5, linked to Debian's libhdf5 for libmpich12: each process writes its columns of a
 * chunked dataset, all together, and reads other columns.  Prints "passed" or "failed".
 */

#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 300, COLUMNS = 40 };      /* COLUMNS: of each process */

static void must(int good, const char *what)
{
    if (good)
        return;
    printf("failed: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The columns of one process, in memory row by row. */
static hid_t columns_of(hid_t dataset, int rank)
{
    hsize_t start[2] = { 0, (hsize_t) rank * COLUMNS }, count[2] = { ROWS, COLUMNS };
    hid_t space = H5Dget_space(dataset);

    must(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0,
         "the selection");
    return space;
}

int main(int argc, char **argv)
{
    static int mine[ROWS][COLUMNS], others[ROWS][COLUMNS];
    int rank, size, sum = 0, total;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            mine[i][k] = i * size * COLUMNS + rank * COLUMNS + k;

    hid_t access = H5Pcreate(H5P_FILE_ACCESS), layout = H5Pcreate(H5P_DATASET_CREATE);
    hid_t together = H5Pcreate(H5P_DATASET_XFER);
    must(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0, "the driver");
    must(H5Pset_dxpl_mpio(together, H5FD_MPIO_COLLECTIVE) >= 0, "collective transfer");
    hsize_t extent[2] = { ROWS, (hsize_t) size * COLUMNS }, chunk[2] = { 7, 13 }, part[2] =
        { ROWS, COLUMNS };
    must(H5Pset_chunk(layout, 2, chunk) >= 0, "chunks");

    hid_t file = H5Fcreate("columns.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    must(file >= 0, "the file");
    hid_t space = H5Screate_simple(2, extent, NULL), memory = H5Screate_simple(2, part, NULL);
    hid_t dataset =
        H5Dcreate2(file, "table", H5T_NATIVE_INT, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    must(dataset >= 0, "the dataset");
    must(H5Dwrite(dataset, H5T_NATIVE_INT, memory, columns_of(dataset, rank), together, mine) >= 0,
         "writing");
    must(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0, "closing");

    int neighbour = (rank + 1) % size;
    file = H5Fopen("columns.h5", H5F_ACC_RDONLY, access);
    must(file >= 0, "the file, again");
    dataset = H5Dopen2(file, "table", H5P_DEFAULT);
    must(H5Dread(dataset, H5T_NATIVE_INT, memory, columns_of(dataset, neighbour), together, others)
         >= 0, "reading");
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            sum += others[i][k] != i * size * COLUMNS + neighbour * COLUMNS + k;
    must(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0, "closing, again");
    MPI_Allreduce(&sum, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf(total == 0 ? "passed\n" : "failed: %d values\n", total);
    MPI_Finalize();
    return total != 0;
}
