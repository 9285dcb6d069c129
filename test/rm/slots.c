/*
 * A job that requests slots of its resource manager: ./slots FOLDER N [WORDS].  Writes its pid into
 * FOLDER/requested when it has requested N that are hard, and into FOLDER/held when it has them,
 * returns them when there is FOLDER/go, and ends when there is FOLDER/end.  Exit code 7: they were
 * refused.
 */

#include <mpi.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 16

static void write_file(const char *folder, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    if (dprintf(fd, "%ld\n", (long) getpid()) < 0)
        MPI_Abort(MPI_COMM_WORLD, 6);
    close(fd);
}

static int is_there(const char *folder, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void refused(int error)
{
    int class;

    MPI_Error_class(error, &class);
    if (class == MPIX_ERR_ALLOCATE) {
        MPI_Finalize();
        exit(7);
    }
    if (error)
        MPI_Abort(MPI_COMM_WORLD, 8);
}

int main(int argc, char **argv)
{
    MPI_Request requests[MOST];
    int n = argc >= 3 ? atoi(argv[2]) : 0, done = 0, freed = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (n < 1 || n > MOST)
        MPI_Abort(MPI_COMM_WORLD, 9);
    refused(MPIX_Iallocate(n, argc > 3 ? argv[3] : "reason=test", NULL, MPIX_ANYWHERE, NULL,
                           MPIX_HARD, requests));
    write_file(argv[1], "requested");
    while (!is_there(argv[1], "end")) {
        if (!done) {
            for (int i = done = 0; i < n; i++) {
                MPI_Status status;
                int flag;
                refused(MPI_Test(&requests[i], &flag, &status));
                done += flag;
            }
            done = done == n;
            if (done)
                write_file(argv[1], "held");
        }
        for (int i = 0; done && !freed && is_there(argv[1], "go") && i < n; i++) {
            MPI_Request_free(&requests[i]);
            freed = i == n - 1;
        }
        usleep(5000);
    }
    MPI_Finalize();
    return 0;
}
