/*
 * The cost of one run of a program in a slot, from MPI_Start to MPIX_STAGE_EXITED, beside
 * posix_spawn and waitpid.
 *
 *   mpiexec -n 1 task_cost ROUNDS [PROGRAM]      (true)
 *
 * The two take turns.  Prints for each {"what":NAME,"us":[...]}.  To request and release the slot
 * is not counted.
 */

#include "measure.h"

#ifndef MPIX_HARD

int main(void)
{
    fprintf(stderr, "task_cost: this MPI has no slots for processes\n");
    return 1;
}

#else

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static double task(const char *program)
{
    MPI_Request slot;
    double start;

    MPIX_Iallocate(1, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, &slot);
    MPI_Wait(&slot, MPI_STATUS_IGNORE);
    MPIX_Set_exec(slot, program);
    start = now_us();
    MPI_Start(&slot);
    while (slot != MPI_REQUEST_NULL)   /* STARTED, EXITED */
        MPI_Wait(&slot, MPI_STATUS_IGNORE);
    return now_us() - start;
}

static double child(char *program)
{
    char *argv[] = { program, NULL };
    double start = now_us();
    int status;
    pid_t pid;

    if (posix_spawnp(&pid, program, NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid) {
        fprintf(stderr, "task_cost: %s cannot be executed\n", program);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return now_us() - start;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 0;
    char *program = argc > 2 ? argv[2] : "true";
    double *us = malloc(2 * sizeof(*us) * (size_t) (rounds > 0 ? rounds : 1));

    MPI_Init(&argc, &argv);
    if (rounds < 1 || !us) {
        fprintf(stderr, "usage: task_cost ROUNDS [PROGRAM]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    task(program);
    child(program);
    for (int i = 0; i < rounds; i++) {
        us[i] = task(program);
        us[rounds + i] = child(program);
    }
    print_us("task", us, rounds);
    print_us("posix_spawn", us + rounds, rounds);
    free(us);
    MPI_Finalize();
    return 0;
}

#endif
