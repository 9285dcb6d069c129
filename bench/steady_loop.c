/*
 * A loop that goes on while its world grows: what it notices of joining processes that start, and
 * when they are offered to it.
 *
 *   mpiexec -n 1 steady_loop --work FILE CORE    compute; when each unit of work ended goes to FILE
 *   mpiexec -n 1 steady_loop --wait              sleep instead, and leave the cores to the others
 *   mpiexec -n K steady_loop --start             only start: the reference for joining processes
 *
 * The world is to be resized between 1 process and more (elastic resize).  Rank 0 prints a line for
 * each probe that returns TRUE, and for --start each process one when it is initialised:
 *   {"what":"offered"|"initialised","at":SECONDS,"joining":N}      seconds since 1970
 * With --work rank 0 runs on core CORE and computes while it is alone; FILE gets the times as
 * doubles in seconds since 1970.  Members of a larger world do next to nothing, so that it can be
 * made smaller again.  The loop ends when standard input does.
 */

#include "measure.h"
#include <poll.h>
#include <string.h>
#include <unistd.h>

#ifndef MPI_ADAPT_TRUE

int main(void)
{
    fprintf(stderr, "steady_loop: this MPI has no adaptation operations\n");
    return 1;
}

#else

#define PAUSE_US 500
#define ADDITIONS 20000         /* in a unit of work: some 20 microseconds */
#define UNITS_MOST 20000000

static double *ends;            /* seconds since 1970 */
static long units;

static double seconds(void)
{
    return 1e-6 * clock_us(CLOCK_REALTIME);
}

static void print_state(const char *what, int joining)
{
    printf("{\"what\":\"%s\",\"at\":%.6f,\"joining\":%d}\n", what, seconds(), joining);
    fflush(stdout);
}

static void compute(void)
{
    static volatile double result;
    double sum = 0;

    for (int i = 0; i < ADDITIONS; i++)
        sum += 1.0 / (i + 1.0);
    result = sum;
    (void) result;
    if (units < UNITS_MOST)
        ends[units++] = seconds();
}

static int input_has_ended(void)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    char byte;

    return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

/* All processes of the world agree on the end, and come to the probe together. */
static int is_over(int rank, int size)
{
    int over = rank == 0 && input_has_ended();

    if (size > 1)
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return over;
}

static void take_part(double offered)
{
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining;

    MPI_Comm_adapt_begin(&intercomm, &new_world, &staying, &leaving, &joining);
    MPI_Comm_adapt_commit();
    if (offered > 0 && joining > 0)
        printf("{\"what\":\"offered\",\"at\":%.6f,\"joining\":%d}\n", offered, joining);
    fflush(stdout);
}

static void loop(int works)
{
    int rank, size, pending, local_status;

    for (long round = 0;; round++) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        if ((size > 1 || round % 64 == 0 || !works) && is_over(rank, size))
            return;
        if (works && size == 1)
            compute();
        else
            usleep(PAUSE_US);
        MPI_Probe_adapt(&pending, &local_status, NULL);
        if (pending == MPI_ADAPT_TRUE)
            take_part(rank == 0 ? seconds() : 0);
    }
}

static void save(const char *path)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(ends, sizeof(*ends), (size_t) units, file) != (size_t) units ||
        fclose(file) != 0) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    int works = argc == 4 && strcmp(argv[1], "--work") == 0;
    int starts = argc == 2 && strcmp(argv[1], "--start") == 0;
    int local_status;

    if (!works && !starts && !(argc == 2 && strcmp(argv[1], "--wait") == 0)) {
        fprintf(stderr, "usage: steady_loop --work FILE CORE | --wait | --start\n");
        return 2;
    }
    MPI_Init_adapt(&argc, &argv, &local_status);
    if (starts) {
        print_state("initialised", 0);
    } else if (local_status == MPI_ADAPT_STATUS_JOINING) {
        take_part(0);
        loop(works);
    } else {
        cpu_set_t core;
        CPU_ZERO(&core);
        if (works) {
            CPU_SET(atoi(argv[3]), &core);
            sched_setaffinity(0, sizeof(core), &core);
            ends = malloc(UNITS_MOST * sizeof(*ends));
            if (!ends)
                MPI_Abort(MPI_COMM_WORLD, 1);
        }
        loop(works);
        if (works)
            save(argv[2]);
    }
    MPI_Finalize();
    return 0;
}

#endif
