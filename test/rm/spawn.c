/* Starts processes by MPI_Comm_spawn: spawn FOLDER N.  Files in the folder: "spawned" when they
 * run, they end after "go", and the program ends after "end".  It ends with 7 if they cannot be
 * started. */

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[PATH_MAX];

static const char *in(const char *folder, const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void wait_for(const char *folder, const char *name)
{
    while (access(in(folder, name), F_OK) != 0)
        usleep(10000);
}

static void touch(const char *folder, const char *name)
{
    FILE *file = fopen(in(folder, name), "w");

    if (!file || fclose(file) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, children;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int error =
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, atoi(argv[2]), MPI_INFO_NULL, 0, MPI_COMM_SELF,
                       &children, MPI_ERRCODES_IGNORE), class;
    MPI_Error_class(error, &class);
    if (error != MPI_SUCCESS) {
        MPI_Finalize();
        return class == MPI_ERR_SPAWN ? 7 : 8;
    }
    touch(argv[1], "spawned");
    wait_for(argv[1], "go");
    MPI_Barrier(children);
    MPI_Comm_disconnect(&children);
    wait_for(argv[1], "end");
    MPI_Finalize();
    return 0;
}
