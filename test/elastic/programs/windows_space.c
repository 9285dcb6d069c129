/*
 * Windows of shared memory that together exceed /dev/shm: the one too many is an error on all
 * processes, and the others have all of their pages.  The pages are touched after all windows have
 * been made.
 */

#include "elastic_test.h"

#define BYTES (2 << 20)
#define WINDOWS 64

int main(int argc, char **argv)
{
    static MPI_Win windows[WINDOWS];
    static char *memory[WINDOWS];
    int made, error = MPI_SUCCESS;

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (made = 0; made < WINDOWS; made++) {
        error =
            MPI_Win_allocate_shared(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[made],
                                    &windows[made]);
        if (error != MPI_SUCCESS)
            break;
    }
    ET_CHECK(error != MPI_SUCCESS && made > 0, "%d windows, and the error is %d", made, error);
    for (int i = 0; i < made; i++)
        memset(memory[i], i, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < made; i++)
        ET_CHECK(memory[i][0] == i && memory[i][BYTES - 1] == i, "window %d", i);
    /* what a window had is there again */
    ET_MPI(MPI_Win_free(&windows[made - 1]));
    ET_MPI(MPI_Win_allocate_shared(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[made - 1],
                                   &windows[made - 1]));
    memset(memory[made - 1], 1, BYTES);
    for (int i = 0; i < made; i++)
        ET_MPI(MPI_Win_free(&windows[i]));
    if (et.rank == 0)
        et_log("PASS windows_space");
    MPI_Finalize();
    return 0;
}
