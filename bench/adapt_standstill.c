/*
 * How long survivors stand still in an adaptation, beside two things everybody knows: a barrier on
 * the new world, and getting the same processes by MPI_Comm_spawn and merging them.  All three are
 * measured in the same run, one after the other, on the same processes and cores.
 *
 *   mpiexec -n 2 --adapt-schedule 4,2,4,2,... adapt_standstill ADAPTATIONS
 *
 * For each adaptation rank 0 of the new world prints a line
 *   {"epoch":E,"from":P,"to":Q,"standstill_us":[...],"barrier_us":[...],"spawn_us":X}
 * standstill_us: for each survivor, from the call of the probe that said TRUE to the return of commit
 * (the window is empty: what the application does there is its own).  barrier_us: for each process,
 * MPI_Barrier on the new world, mean of many.  spawn_us: MPI_Comm_spawn of as many processes as
 * joined and MPI_Intercomm_merge, by as many processes as survived, the longest of them; absent when
 * nobody joined.  Not counted in spawn_us: freeing and disconnecting.
 * The processes meet in a barrier before each probe, so that they come to the window together.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MPI_ADAPT_TRUE

int main(void)
{
    fprintf(stderr, "adapt_standstill: this MPI has no adaptation operations\n");
    return 1;
}

#else

#define BARRIERS 100

struct window {
    int staying, leaving, joining, joined_here;
    double standstill;          /* seconds; -1 on a joining process */
    int epoch, adaptations;     /* adaptations so far, of the job */
};

static char *program;

static void take_part(struct window *window, double called)
{
    MPI_Comm intercomm, new_world;
    int state[2] = { window->epoch, window->adaptations + 1 };

    MPI_Comm_adapt_begin(&intercomm, &new_world,
                         &window->staying, &window->leaving, &window->joining);
    MPI_Comm_adapt_commit();
    window->standstill = window->joined_here ? -1 : MPI_Wtime() - called;
    /* the joining processes' share of what everybody knows: rank 0 stays in the default policy */
    MPI_Bcast(state, 2, MPI_INT, 0, MPI_COMM_WORLD);
    window->epoch = state[0];
    window->adaptations = state[1];
}

/* Mean time of a barrier on the world, in seconds, on this process. */
static double time_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < BARRIERS; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    return (MPI_Wtime() - start) / BARRIERS;
}

/* The same growth with the standard's own means, by the survivors; the longest time of them. */
static double time_spawn(const struct window *window)
{
    char *arguments[] = { "--child", NULL };
    int rank;
    double seconds = 0, longest = 0;
    MPI_Comm parents, children, merged;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < window->staying ? 0 : MPI_UNDEFINED, rank, &parents);
    if (parents != MPI_COMM_NULL) {
        MPI_Barrier(parents);
        double start = MPI_Wtime();
        MPI_Comm_spawn(program, arguments, window->joining, MPI_INFO_NULL, 0, parents, &children,
                       MPI_ERRCODES_IGNORE);
        MPI_Intercomm_merge(children, 0, &merged);
        seconds = MPI_Wtime() - start;
        MPI_Comm_free(&merged);
        MPI_Comm_disconnect(&children);
        MPI_Comm_free(&parents);
    }
    MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return longest;
}

static int child(void)
{
    MPI_Comm parents, merged;
    MPI_Init(NULL, NULL);
    MPI_Comm_get_parent(&parents);
    MPI_Intercomm_merge(parents, 1, &merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&parents);
    MPI_Finalize();
    return 0;
}

static void print_times(const char *name, const double *seconds, int count)
{
    const char *separator = "";
    printf(",\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        if (seconds[i] < 0)
            continue;
        printf("%s%.3f", separator, 1e6 * seconds[i]);
        separator = ",";
    }
    printf("]");
}

static void report(const struct window *window)
{
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double barrier = time_barrier(), *standstills = NULL, *barriers = NULL;
    if (rank == 0) {
        standstills = malloc(2 * (size_t) size * sizeof(double));
        if (!standstills)
            MPI_Abort(MPI_COMM_WORLD, 1);
        barriers = standstills + size;
    }
    MPI_Gather(&window->standstill, 1, MPI_DOUBLE, standstills, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(&barrier, 1, MPI_DOUBLE, barriers, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double spawn = window->joining > 0 ? time_spawn(window) : -1;
    if (rank != 0)
        return;
    printf("{\"epoch\":%d,\"from\":%d,\"to\":%d", window->epoch,
           window->staying + window->leaving, window->staying + window->joining);
    print_times("standstill_us", standstills, size);
    print_times("barrier_us", barriers, size);
    if (spawn >= 0)
        printf(",\"spawn_us\":%.3f", 1e6 * spawn);
    printf("}\n");
    fflush(stdout);
    free(standstills);
}

/* True when an adaptation was taken. */
static int probe(struct window *window)
{
    int pending, local_status, found;
    MPI_Info info;
    char epoch[32] = "0";

    MPI_Barrier(MPI_COMM_WORLD);
    double called = MPI_Wtime();
    MPI_Probe_adapt(&pending, &local_status, &info);
    if (pending != MPI_ADAPT_TRUE)
        return 0;
    double told = MPI_Wtime();
    MPI_Info_get(info, "epoch", sizeof(epoch) - 1, epoch, &found);
    MPI_Info_free(&info);
    window->epoch = atoi(epoch);
    window->joined_here = 0;
    called += MPI_Wtime() - told;       /* reading the info is this program's, not the library's */
    take_part(window, called);
    return 1;
}

int main(int argc, char **argv)
{
    struct window window = { 0 };
    int local_status, wanted;

    program = argv[0];
    if (argc == 2 && strcmp(argv[1], "--child") == 0)
        return child();
    wanted = argc == 2 ? atoi(argv[1]) : 0;

    MPI_Init_adapt(&argc, &argv, &local_status);
    window.joined_here = local_status == MPI_ADAPT_STATUS_JOINING;
    if (wanted < 1) {
        fprintf(stderr, "usage: adapt_standstill ADAPTATIONS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (window.joined_here) {
        take_part(&window, 0);
        report(&window);
    }
    while (window.adaptations < wanted) {
        if (probe(&window))
            report(&window);
    }
    MPI_Finalize();
    return 0;
}

#endif
