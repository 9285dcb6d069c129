/*
 * A farm: runs a program so many times, on slots that it requests, a few at a time, and counts how
 * the runs ended.
 *
 *     mpiexec -n 1 ./taskfarm 100 sh -c 'exit $((RANDOM % 2))'
 *
 * The number of a run is the last argument of the program. After Gropp and Lusk. With an MPI that
 * gives no slots it runs the program here, one run after the other.
 */

#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTSTANDING 10          /* slots that are held or awaited at a time */
#define CODES 256

static int ended[CODES];

/* The arguments of run `number`, in memory of the caller. */
static void set_number(char **args, char *text, size_t bytes, int number)
{
    int n = 0;

    while (args[n])
        n++;
    snprintf(text, bytes, "%d", number);
    args[n - 1] = text;
}

#ifdef MPIX_HARD
static void request_slots(int n, MPI_Request * slots)
{
    MPIX_Iallocate(n, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, slots);
}

/* Handles the completion of one request; returns whether its run has ended. */
static int follow(MPI_Request * slot, const MPI_Status * status, int *given, int runs,
                  char *program, char **args)
{
    char number[16];
    int stage, code, cancelled;

    MPI_Test_cancelled(status, &cancelled);
    if (cancelled)
        return 0;
    MPIX_Get_stage(status, &stage);
    if (stage == MPIX_STAGE_ALLOCATED && *given == runs) {
        MPI_Request_free(slot);
    } else if (stage == MPIX_STAGE_ALLOCATED) {
        set_number(args, number, sizeof(number), (*given)++);
        MPIX_Set_exec(*slot, program);
        MPIX_Set_args(*slot, args);
        MPI_Start(slot);
    } else if (stage == MPIX_STAGE_EXITED) {
        MPIX_Get_return_code(status, &code);
        ended[code]++;
        return 1;
    }
    return 0;
}

static void farm(int runs, char *program, char **args)
{
    MPI_Request slots[OUTSTANDING];
    MPI_Status status;
    int given = 0, done = 0, n = runs < OUTSTANDING ? runs : OUTSTANDING, i;

    for (i = 0; i < n; i++)
        slots[i] = MPI_REQUEST_NULL;
    while (done < runs) {
        for (i = 0; i < n && given < runs; i++) {       /* one that is over frees its slot */
            if (slots[i] == MPI_REQUEST_NULL)
                request_slots(1, &slots[i]);
        }
        MPI_Waitany(n, slots, &i, &status);
        if (i != MPI_UNDEFINED)
            done += follow(&slots[i], &status, &given, runs, program, args);
    }
    for (i = 0; i < n; i++) {   /* slots that nobody needs any more */
        if (slots[i] != MPI_REQUEST_NULL) {
            MPI_Cancel(&slots[i]);
            MPI_Request_free(&slots[i]);
        }
    }
}
#else
static void farm(int runs, char *program, char **args)
{
    char number[16], *argv[64] = { program };
    int status;

    for (int i = 0; i < runs; i++) {
        set_number(args, number, sizeof(number), i);
        for (int j = 0; j < 62 && args[j]; j++)
            argv[j + 1] = args[j];
        pid_t pid = fork();
        if (pid == 0) {
            execvp(program, argv);
            _exit(127);
        }
        waitpid(pid, &status, 0);
        ended[WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)]++;
    }
}
#endif

int main(int argc, char **argv)
{
    int rank;
    char *nothing = "";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && argc < 3)
        fprintf(stderr, "usage: taskfarm RUNS PROGRAM [ARGUMENT...]\n");
    if (argc < 3) {
        MPI_Finalize();
        return 2;
    }
    if (rank == 0) {
        char **args = calloc((size_t) argc, sizeof(*args));
        memcpy(args, argv + 3, (size_t) (argc - 3) * sizeof(*args));
        args[argc - 3] = nothing;       /* the number comes here */
        farm(atoi(argv[1]), argv[2], args);
        for (int code = 0; code < CODES; code++)
            if (ended[code] > 0)
                printf("%d runs ended with %d\n", ended[code], code);
        free(args);
    }
    MPI_Finalize();
    return 0;
}
