/*
 * A world by a session, beside the one of MPI_Init:
 *   mpiexec -n P session_world [--world | --component | --apart] [--create]
 *
 * Prints samples as world_speed does: "start" until there is a communicator of all processes, of
 * the slowest one (a session for one thread, group, communicator; --world: MPI_Init), then on it
 * "latency:8" and "rate:8" (a message of a window of many) of the first two, "allreduce:8",
 * "ring:8" and "random_ring:8" (everybody to the next one, by rank or in a drawn order), and "dup"
 * (MPI_Comm_dup and its end).  With --create "create" instead: MPI_Comm_create_from_group over all
 * processes, and its end.  --component: as --world, where a component has opened a session and
 * communicates on a communicator of its own from time to time.  --apart: two processes, one of
 * which joins through process sets (mpiexec -n 1 --adapt-schedule 2; of our MPI alone).  Any MPI
 * 4.0.
 */

#include "measure.h"
#include "started_apart.h"
#include <string.h>

#define BUDGET_US 60e3
#define BYTES 8
#define WINDOW 64
#define SEED 4711

static struct {
    MPI_Comm comm;
    MPI_Group group;
    int rank, size, peer;
} all;

struct ring {
    int before, after;
};

static void latency(const void *what, int count)
{
    char out[BYTES] = "", in[BYTES];

    (void) what;
    for (int i = 0; i < count && all.rank < 2; i++) {
        if (all.rank == 0)
            MPI_Send(out, BYTES, MPI_CHAR, all.peer, 0, all.comm);
        MPI_Recv(in, BYTES, MPI_CHAR, all.peer, 0, all.comm, MPI_STATUS_IGNORE);
        if (all.rank == 1)
            MPI_Send(out, BYTES, MPI_CHAR, all.peer, 0, all.comm);
    }
}

static void rate(const void *what, int count)
{
    char out[WINDOW][BYTES] = { "" }, in[WINDOW][BYTES];
    MPI_Request requests[WINDOW];

    (void) what;
    for (int i = 0; i < count && all.rank < 2; i++) {
        for (int j = 0; j < WINDOW; j++) {
            if (all.rank == 0)
                MPI_Isend(out[j], BYTES, MPI_CHAR, all.peer, 0, all.comm, &requests[j]);
            else
                MPI_Irecv(in[j], BYTES, MPI_CHAR, all.peer, 0, all.comm, &requests[j]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (all.rank == 0)
            MPI_Recv(in[0], 0, MPI_CHAR, all.peer, 1, all.comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(out[0], 0, MPI_CHAR, all.peer, 1, all.comm);
    }
}

static void ring(const void *what, int count)
{
    const struct ring *r = what;
    char out[BYTES] = "", in[BYTES];

    for (int i = 0; i < count; i++)
        MPI_Sendrecv(out, BYTES, MPI_CHAR, r->after, 0, in, BYTES, MPI_CHAR, r->before, 0, all.comm,
                     MPI_STATUS_IGNORE);
}

static struct ring natural_ring(void)
{
    return (struct ring) {(all.rank + all.size - 1) % all.size, (all.rank + 1) % all.size};
}

/* The same in all processes. */
static struct ring random_ring(void)
{
    struct ring r = { 0, 0 };
    int *order = malloc((size_t) all.size * sizeof(int));
    unsigned seed = SEED;

    for (int i = 0; i < all.size; i++) {
        int j = rand_r(&seed) % (i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < all.size; i++) {
        if (order[i] == all.rank)
            r = (struct ring) {order[(i + all.size - 1) % all.size], order[(i + 1) % all.size]};
    }
    free(order);
    return r;
}

static void duplicate(const void *what, int count)
{
    (void) what;
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;

        MPI_Comm_dup(all.comm, &comm);
        MPI_Comm_free(&comm);
    }
}

static void allreduce(const void *what, int count)
{
    double out = all.rank, in;

    (void) what;
    for (int i = 0; i < count; i++)
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, all.comm);
}

static void create(const void *what, int count)
{
    (void) what;
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;

        MPI_Comm_create_from_group(all.group, "bench", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Comm_free(&comm);
    }
}

static void open_session(MPI_Session * session)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, session);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(*session, "mpi://WORLD", &all.group);
    MPI_Comm_create_from_group(all.group, "world", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all.comm);
}

static void measure_world(void)
{
    struct ring natural = natural_ring(), drawn = random_ring();

    measure("latency:8", latency, NULL, 2, all.comm, BUDGET_US);
    measure("rate:8", rate, NULL, WINDOW, all.comm, BUDGET_US);
    measure("allreduce:8", allreduce, NULL, 1, all.comm, BUDGET_US);
    measure("ring:8", ring, &natural, 1, all.comm, BUDGET_US);
    measure("random_ring:8", ring, &drawn, 1, all.comm, BUDGET_US);
    measure("dup", duplicate, NULL, 1, all.comm, BUDGET_US);
}

/* A component's own. */
static struct {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
} component;

static void open_component(void)
{
    MPI_Info info;
    int one = 1, all_of_them;

    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &component.session);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(component.session, "mpi://WORLD", &component.group);
    MPI_Comm_create_from_group(component.group, "component", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                               &component.comm);
    MPI_Allreduce(&one, &all_of_them, 1, MPI_INT, MPI_SUM, component.comm);
}

static void close_component(void)
{
    MPI_Comm_free(&component.comm);
    MPI_Group_free(&component.group);
    MPI_Session_finalize(&component.session);
}

static void report_start(double took)
{
    double longest = 0;

    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, all.comm);
    if (all.rank == 0)
        printf("{\"what\":\"start\",\"us\":[%.1f]}\n", longest);
}

int main(int argc, char **argv)
{
    int by_init = 0, creates = 0, has_component = 0, is_apart = 0;
    double start = now_us();
    MPI_Session session;

    for (int i = 1; i < argc; i++) {
        has_component = has_component || strcmp(argv[i], "--component") == 0;
        by_init = by_init || has_component || strcmp(argv[i], "--world") == 0;
        creates = creates || strcmp(argv[i], "--create") == 0;
        is_apart = is_apart || strcmp(argv[i], "--apart") == 0;
    }
    if (by_init) {
        MPI_Init(&argc, &argv);
        all.comm = MPI_COMM_WORLD;
    } else if (is_apart) {
        all.comm = join_others(&session, "MPI_THREAD_SINGLE");
        MPI_Comm_group(all.comm, &all.group);
    } else {
        open_session(&session);
    }
    double took = now_us() - start;
    MPI_Comm_rank(all.comm, &all.rank);
    MPI_Comm_size(all.comm, &all.size);
    all.peer = !all.rank;
    report_start(took);
    if (has_component)
        open_component();
    bind_to_core(all.rank);
    if (creates) {
        measure("create", create, NULL, 1, all.comm, BUDGET_US);
    } else {
        measure_world();
    }
    if (has_component)
        close_component();
    if (by_init) {
        MPI_Finalize();
    } else {
        MPI_Group_free(&all.group);
        MPI_Comm_free(&all.comm);
        MPI_Session_finalize(&session);
    }
    return 0;
}
