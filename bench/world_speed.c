/*
 * How fast a world is: launched, adapted, or in the window of an adaptation.
 *
 *   mpiexec -n P [--adapt-schedule ...] world_speed [OPTIONS] POINT...
 *     --adapt N          be an adaptive program, take N adaptations first (0: none, launched so)
 *     --window new|inter measure in the window of the Nth adaptation, on new_comm_world or, between
 *                        the first old and the first joining process, on the intercommunicator
 *     --apart spawn|join measure between the launched processes and as many that they spawn, or
 *         that join them
 *                        through process sets
 *     --threads          MPI for all levels of threads, each call of which takes a lock; else for
 *                        one thread
 *     --ms TIME          about this long for each point (10)
 *     --spread           do not bind process R to core R
 *   POINT: latency:BYTES   half of a ping-pong between ranks 0 and 1
 *          flood:BYTES     a message of 64 in flight from rank 0 to 1 (message rate, bandwidth)
 *          allreduce:BYTES alltoall:BYTES barrier
 *          bcast:BYTES reduce:BYTES gather:BYTES scatter:BYTES   rank 0 is the root
 *          bcast_turns:BYTES allgather:BYTES                     all are roots in turn
 *                          BYTES of gather, scatter, allgather and alltoall: of each part
 *          win_shared      MPI_Win_allocate_shared of a page and MPI_Win_free
 *          put:BYTES get:BYTES   of rank 0 in such a window of rank 1, with its flush
 *
 * Prints a line {"what":"init","us":[T]} (MPI's initialisation, of the slowest process; not if it
 * adapted) and one for each point.  Every time is of one operation.  Without --adapt it compiles
 * and runs with any MPI.
 */

#include "measure.h"
#include "started_apart.h"
#include <string.h>
#include <unistd.h>

#define IN_FLIGHT 64
#define PAUSE_US 200            /* between two probes, so that joining processes get a core */
#define TAG 7
#define PAGE 4096

struct point {
    int bytes;
    int me, size;               /* in the world that is measured */
    int peer;                   /* of ranks 0 and 1: the other one in comm */
    MPI_Comm comm, control;
    MPI_Win win;
    char *out, *in;
};

static struct {
    int adaptive, adaptations, spread, threads;
    const char *window, *apart;
    double budget_us;
    char **points;
    int point_count;
} options = { .budget_us = 10000 };

/* ---- operations ------------------------------------------------------------------------- */

static void latency(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count; i++) {
        if (p->me == 0) {
            MPI_Send(p->out, p->bytes, MPI_BYTE, p->peer, TAG, p->comm);
            MPI_Recv(p->in, p->bytes, MPI_BYTE, p->peer, TAG, p->comm, MPI_STATUS_IGNORE);
        } else if (p->me == 1) {
            MPI_Recv(p->in, p->bytes, MPI_BYTE, p->peer, TAG, p->comm, MPI_STATUS_IGNORE);
            MPI_Send(p->out, p->bytes, MPI_BYTE, p->peer, TAG, p->comm);
        }
    }
}

/* One operation is IN_FLIGHT messages and an answer. */
static void flood(const void *what, int count)
{
    const struct point *p = what;
    MPI_Request requests[IN_FLIGHT];

    for (int i = 0; i < count && p->me < 2; i++) {
        for (int r = 0; r < IN_FLIGHT; r++) {
            if (p->me == 0)
                MPI_Isend(p->out, p->bytes, MPI_BYTE, p->peer, TAG, p->comm, &requests[r]);
            else
                MPI_Irecv(p->in, p->bytes, MPI_BYTE, p->peer, TAG, p->comm, &requests[r]);
        }
        MPI_Waitall(IN_FLIGHT, requests, MPI_STATUSES_IGNORE);
        if (p->me == 0)
            MPI_Recv(p->in, 0, MPI_BYTE, p->peer, TAG, p->comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(p->out, 0, MPI_BYTE, p->peer, TAG, p->comm);
    }
}

static void barrier(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count; i++)
        MPI_Barrier(p->comm);
}

static void allreduce(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count; i++)
        MPI_Allreduce(p->out, p->in, p->bytes / (int) sizeof(double), MPI_DOUBLE, MPI_SUM, p->comm);
}

static void alltoall(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count; i++)
        MPI_Alltoall(p->out, p->bytes, MPI_BYTE, p->in, p->bytes, MPI_BYTE, p->comm);
}

/* The root may be earlier than the others. */
static void bcast(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count; i++)
        MPI_Bcast(p->out, p->bytes, MPI_BYTE, 0, p->comm);
}

static void bcast_turns(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count; i++)
        MPI_Bcast(p->out, p->bytes, MPI_BYTE, i % p->size, p->comm);
}

static void reduce(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count; i++)
        MPI_Reduce(p->out, p->in, p->bytes / (int) sizeof(double), MPI_DOUBLE, MPI_SUM, 0, p->comm);
}

static void gather(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count; i++)
        MPI_Gather(p->out, p->bytes, MPI_BYTE, p->in, p->bytes, MPI_BYTE, 0, p->comm);
}

static void scatter(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count; i++)
        MPI_Scatter(p->out, p->bytes, MPI_BYTE, p->in, p->bytes, MPI_BYTE, 0, p->comm);
}

static void allgather(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count; i++)
        MPI_Allgather(p->out, p->bytes, MPI_BYTE, p->in, p->bytes, MPI_BYTE, p->comm);
}

static void win_shared(const void *what, int count)
{
    const struct point *p = what;
    void *base;
    MPI_Win win;

    for (int i = 0; i < count; i++) {
        MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, p->comm, &base, &win);
        MPI_Win_free(&win);
    }
}

static void put(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count && p->me == 0; i++) {
        MPI_Put(p->out, p->bytes, MPI_BYTE, 1, 0, p->bytes, MPI_BYTE, p->win);
        MPI_Win_flush(1, p->win);
    }
}

static void get(const void *what, int count)
{
    const struct point *p = what;

    for (int i = 0; i < count && p->me == 0; i++) {
        MPI_Get(p->in, p->bytes, MPI_BYTE, 1, 0, p->bytes, MPI_BYTE, p->win);
        MPI_Win_flush(1, p->win);
    }
}

static const struct kind {
    const char *name;
    operation run;
    int messages;               /* or the like, in one operation: the time is of one of these */
    int processes;              /* as many at least */
    int one_sided;
} kinds[] = {
    {"latency", latency, 2, 2, 0},
    {"flood", flood, IN_FLIGHT, 2, 0},
    {"barrier", barrier, 1, 1, 0},
    {"allreduce", allreduce, 1, 1, 0},
    {"alltoall", alltoall, 1, 1, 0},
    {"bcast", bcast, 1, 1, 0},
    {"bcast_turns", bcast_turns, 1, 1, 0},
    {"reduce", reduce, 1, 1, 0},
    {"gather", gather, 1, 1, 0},
    {"scatter", scatter, 1, 1, 0},
    {"allgather", allgather, 1, 1, 0},
    {"win_shared", win_shared, 1, 1, 0},
    {"put", put, 1, 2, 1},
    {"get", get, 1, 2, 1},
};

/* ---- points ----------------------------------------------------------------------------- */

static const struct kind *parse(const char *text, struct point *p)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t) (colon - text) : strlen(text);

    p->bytes = colon ? atoi(colon + 1) : 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strlen(kinds[i].name) == length && strncmp(kinds[i].name, text, length) == 0)
            return &kinds[i];
    fprintf(stderr, "world_speed: there is no point '%s'\n", text);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return NULL;
}

/* Where malloc happens to put a small buffer makes 5 % of the time of a message, and is not the
 * same in a launched process and in one that has adapted. */
static char *page_aligned(size_t bytes)
{
    size_t rounded = (bytes + PAGE - 1) / PAGE * PAGE;
    char *buffer = aligned_alloc(PAGE, rounded);

    if (!buffer)
        MPI_Abort(MPI_COMM_WORLD, 1);
    else
        memset(buffer, 0, rounded);
    return buffer;
}

static void measure_point(const char *text, struct point *p)
{
    const struct kind *kind = parse(text, p);
    size_t bytes;
    void *base;

    if (p->size < kind->processes)
        return;
    bytes = (size_t) (p->bytes > 8 ? p->bytes : 8) * (size_t) p->size;
    p->out = page_aligned(bytes);
    p->in = page_aligned(bytes);
    if (kind->one_sided) {
        MPI_Win_allocate_shared(p->bytes, 1, MPI_INFO_NULL, p->comm, &base, &p->win);
        MPI_Win_lock_all(0, p->win);
    }
    measure(text, kind->run, p, kind->messages, p->control, options.budget_us);
    if (kind->one_sided) {
        MPI_Win_unlock_all(p->win);
        MPI_Win_free(&p->win);
    }
    free(p->out);
    free(p->in);
}

/* `comm` is what is measured, `control` holds the same processes, me < 2 the two that talk. */
static void measure_all(MPI_Comm comm, MPI_Comm control)
{
    struct point p = { .comm = comm, .control = control };
    int intercomm;

    MPI_Comm_rank(control, &p.me);
    MPI_Comm_size(control, &p.size);
    MPI_Comm_test_inter(comm, &intercomm);
    p.peer = intercomm ? 0 : !p.me;
    if (!options.spread)
        bind_to_core(p.me);
    for (int i = 0; i < options.point_count; i++)
        measure_point(options.points[i], &p);
}

/* ---- worlds ----------------------------------------------------------------------------- */

static void report_initialisation(double took)
{
    double longest = 0;
    int rank;

    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("{\"what\":\"init\",\"us\":[%.1f]}\n", longest);
}

#ifdef MPI_ADAPT_TRUE

/* Adaptations so far, as every process knows them: joining ones receive the number of theirs. */
static int taken;

static void take_part(MPI_Info info)
{
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining, found;
    char epoch[32] = "0";

    MPI_Info_get(info, "epoch", sizeof(epoch) - 1, epoch, &found);
    MPI_Info_free(&info);
    MPI_Comm_adapt_begin(&intercomm, &new_world, &staying, &leaving, &joining);
    taken = atoi(epoch);
    if (options.window && taken == options.adaptations && new_world != MPI_COMM_NULL)
        measure_all(strcmp(options.window, "new") == 0 ? new_world : intercomm, new_world);
    MPI_Comm_adapt_commit();
}

static void adapt(int joining)
{
    int pending, local_status;
    MPI_Info info;

    if (joining) {
        MPI_Probe_adapt(&pending, &local_status, &info);
        take_part(info);
    }
    while (taken < options.adaptations) {
        usleep(PAUSE_US);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Probe_adapt(&pending, &local_status, &info);
        if (pending == MPI_ADAPT_TRUE)
            take_part(info);
    }
}

static void initialise(int *argc, char ***argv)
{
    double start = now_us();
    int level = options.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    int local_status = MPI_ADAPT_STATUS_NEW, provided;

    if (options.adaptive)
        MPI_Init_thread_adapt(argc, argv, level, &provided, &local_status);
    else
        MPI_Init_thread(argc, argv, level, &provided);
    if (options.adaptations == 0)
        report_initialisation(now_us() - start);
    adapt(local_status == MPI_ADAPT_STATUS_JOINING);
}

#else

static void initialise(int *argc, char ***argv)
{
    double start = now_us();
    int provided;

    MPI_Init_thread(argc, argv, options.threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    report_initialisation(now_us() - start);
    if (options.adaptive) {
        fprintf(stderr, "world_speed: this MPI has no adaptation operations\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

#endif

static int read_options(int argc, char **argv)
{
    int i;

    for (i = 1; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--spread") == 0) {
            options.spread = 1;
            continue;
        }
        if (strcmp(argv[i], "--threads") == 0) {
            options.threads = 1;
            continue;
        }
        if (!value)
            return 0;
        if (strcmp(argv[i], "--adapt") == 0) {
            options.adaptive = 1;
            options.adaptations = atoi(value);
        } else if (strcmp(argv[i], "--window") == 0) {
            options.window = value;
        } else if (strcmp(argv[i], "--apart") == 0) {
            options.apart = value;
        } else if (strcmp(argv[i], "--ms") == 0) {
            options.budget_us = 1000 * atof(value);
        } else {
            return 0;
        }
        i++;
    }
    options.points = argv + i;
    options.point_count = argc - i;
    return 1;
}

static int measure_joined(void)
{
    MPI_Session session;
    MPI_Comm comm =
        join_others(&session, options.threads ? "MPI_THREAD_MULTIPLE" : "MPI_THREAD_SINGLE");

    measure_all(comm, comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return 0;
}

static void measure_spawned(char **argv)
{
    MPI_Comm comm = spawn_as_many(argv);

    measure_all(comm, comm);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    if (!read_options(argc, argv)) {
        fprintf(stderr, "usage: world_speed [--adapt N] [--window new|inter] [--apart spawn|join]"
                " [--threads] [--ms TIME] [--spread] POINT...\n");
        return 2;
    }
    if (options.apart && strcmp(options.apart, "join") == 0)
        return measure_joined();
    initialise(&argc, &argv);
    if (options.apart)
        measure_spawned(argv);
    else if (!options.window)
        measure_all(MPI_COMM_WORLD, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
