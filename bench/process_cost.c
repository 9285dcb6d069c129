/*
 * The cost of dynamic process management: pairs of the library's operation and what MPI has for it.
 *
 *   mpiexec -n 2 process_cost connect ROUNDS     MPIX_Client_connect and MPIX_Server_connect,
 *                                                beside MPI_Lookup_name, MPI_Comm_connect and
 *                                                MPI_Comm_accept
 *   mpiexec -n 2 process_cost spawn ROUNDS       MPIX_Spawn, beside MPI_Comm_spawn_multiple, of one
 *                                                process
 *
 * The two of a pair take turns.  Prints for each {"what":NAME,"us":[...]}: for each round the time
 * until the call has returned on both processes.  Disconnecting, and waiting for children to end,
 * are not counted.
 */

#include "measure.h"
#include <string.h>
#include <unistd.h>

#ifndef MPI_ADAPT_TRUE

int main(void)
{
    fprintf(stderr, "process_cost: this MPI has no MPIX_Spawn\n");
    return 1;
}

#else

#define PAUSE_US 50000          /* in which a child ends */
#define NAME "process_cost"

static char *program, port[MPI_MAX_PORT_NAME];
static int rank;

static MPI_Comm connect_named(void)
{
    MPI_Comm comm;

    if (rank == 0)
        MPIX_Server_connect(MPI_COMM_SELF, NAME, &comm);
    else
        MPIX_Client_connect(MPI_COMM_SELF, NAME, &comm);
    return comm;
}

static MPI_Comm connect_by_lookup(void)
{
    MPI_Comm comm;

    if (rank == 0) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm);
    } else {
        MPI_Lookup_name(NAME, MPI_INFO_NULL, port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm);
    }
    return comm;
}

static char *arguments[] = { "--child", NULL };

static MPI_Comm spawn_here(void)
{
    MPI_Comm comm;

    MPIX_Spawn(MPI_COMM_WORLD, 0, MPIX_ANYWHERE, 1, NULL, program, arguments, 0, &comm);
    return comm;
}

static MPI_Comm spawn_multiple(void)
{
    char **argvs[] = { arguments };
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm comm;
    int one = 1;

    MPI_Comm_spawn_multiple(1, &program, argvs, &one, &info, 0, MPI_COMM_WORLD, &comm,
                            MPI_ERRCODES_IGNORE);
    return comm;
}

static double once(MPI_Comm(*make) (void), int pause_us)
{
    double start, took, longest = 0;
    MPI_Comm comm;

    MPI_Barrier(MPI_COMM_WORLD);
    start = now_us();
    comm = make();
    took = now_us() - start;
    MPI_Comm_disconnect(&comm);
    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    usleep((useconds_t) pause_us);
    return longest;
}

static void compare(const char *ours, MPI_Comm(*our) (void), const char *others,
                    MPI_Comm(*other) (void), int rounds, int pause_us)
{
    double *us = malloc(2 * sizeof(*us) * (size_t) rounds);

    once(our, pause_us);
    once(other, pause_us);
    for (int i = 0; i < rounds; i++) {
        us[i] = once(our, pause_us);
        us[rounds + i] = once(other, pause_us);
    }
    if (rank == 0) {
        print_us(ours, us, rounds);
        print_us(others, us + rounds, rounds);
    }
    free(us);
}

static int child(void)
{
    MPI_Comm parent = MPIX_COMM_PARENT;

    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    int rounds = argc == 3 ? atoi(argv[2]) : 0;

    MPI_Init(&argc, &argv);
    program = argv[0];
    if (argc == 2 && strcmp(argv[1], "--child") == 0)
        return child();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rounds > 0 && strcmp(argv[1], "connect") == 0) {
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            MPI_Publish_name(NAME, MPI_INFO_NULL, port);
        }
        compare("connect", connect_named, "lookup_connect", connect_by_lookup, rounds, 0);
    } else if (rounds > 0 && strcmp(argv[1], "spawn") == 0) {
        compare("spawn", spawn_here, "spawn_multiple", spawn_multiple, rounds, PAUSE_US);
    } else if (rank == 0) {
        fprintf(stderr, "usage: process_cost connect|spawn ROUNDS\n");
    }
    MPI_Finalize();
    return 0;
}

#endif
