/*
 * Adaptation latency: how long processes that stay stand still when their world grows and shrinks,
 * beside MPI_Comm_dup of the larger of the two worlds.  For users' clusters; the output is laid out
 * like that of the OSU micro-benchmarks.  doc/developer/benchmarks.md explains how to run and read
 * it.
 *
 *   mpiexec -n 2 --adapt-schedule 4,2,4,2,4,2 adapt_latency -i 6
 *
 *   -i N        adaptations that are counted (20)
 *   -x N        adaptations before these, that are not (2)
 *   -c US       processor time that each process computes between two probes (500)
 *   -m BYTES    state, in blocks over the world, which the window moves to the new blocks (0)
 *   -b          the first barrier of a world that has grown is a part of the standstill, and of
 *               commit's
 *   -f          also the parts of the standstill: begin, moving, commit
 *   -j          one JSON line for each adaptation instead of the table, with each process' times
 *   -u          with -j: what rank 0 uses (memory, descriptors, ...) after each adaptation
 *
 * Standstill: on a process that stays, from the call of the probe that returns TRUE to the return
 * of commit.  Like a program that has something to do, all processes compute between two probes and
 * synchronise in a barrier before each, so that joining processes find no idle processor unless
 * there are more than the staying processes need.  A row is a kind of adaptation; average, minimum
 * and maximum are over adaptations, of the process that stood still longest in each.  With -m the
 * moving of the state is not part of the standstill; it has columns of its own.
 */

#include "measure.h"
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MPI_ADAPT_TRUE

int main(void)
{
    fprintf(stderr, "adapt_latency: this MPI has no adaptation operations\n");
    return 1;
}

#else

#define DUPS 25
#define KINDS_MOST 64

static struct {
    int counted, warm, barrier, full, lines, usage;
    double compute_us;
    long bytes;
} options = { .counted = 20, .warm = 2, .compute_us = 500 };

/* One process' times of one adaptation, in microseconds, and page faults; STAYED is 0 on one that
 * joined.  PROBE is a part of STANDSTILL, too: near the agreed probe it may wait for the
 * decision. */
enum part { STAYED, STANDSTILL, PROBE, BEGIN, MOVE, COMMIT, CPU, FAULTS, DUP, PARTS };

struct window {
    int epoch, staying, leaving, joining;
    double parts[PARTS];
};

/* The rows so far, equal in all processes. */
struct kind {
    int staying, leaving, joining, count;
    double sum, least, most, begin, move, commit, dup;
};

static struct {
    int adaptations, kind_count;
    struct kind kinds[KINDS_MOST];
} results;

/* ---- state that the window moves --------------------------------------------------------- */

static char *state;             /* this process' block of it */

struct block {
    long first, end;
};

static struct block block_of(int rank, int size)
{
    return (struct block) { (long) ((double) options.bytes * rank / size),
                            (long) ((double) options.bytes * (rank + 1) / size) };
}

static struct block common(struct block a, struct block b)
{
    struct block both = { a.first > b.first ? a.first : b.first, a.end < b.end ? a.end : b.end };

    if (both.end < both.first)
        both.end = both.first;
    return both;
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes > 0 ? bytes : 1);

    if (!memory) {
        fprintf(stderr, "adapt_latency: no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static char content(long byte)
{
    return (char) (byte % 251);
}

static void fill_state(void)
{
    struct block mine;
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mine = block_of(rank, size);
    state = allocate((size_t) (mine.end - mine.first));
    for (long byte = mine.first; byte < mine.end; byte++)
        state[byte - mine.first] = content(byte);
}

static void check_state(void)
{
    struct block mine;
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mine = block_of(rank, size);
    for (long byte = mine.first; byte < mine.end; byte++) {
        if (state[byte - mine.first] != content(byte)) {
            fprintf(stderr, "adapt_latency: byte %ld of the state arrived wrong on rank %d\n", byte,
                    rank);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* From an old process to the new owners of its bytes; `ranks` are the old ones of those that stay.
 * Returns how many requests it made. */
static int send_block(const struct window *w, const int *ranks, MPI_Comm intercomm,
                      MPI_Request *requests)
{
    int rank, made = 0, new_size = w->staying + w->joining;
    struct block mine;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    mine = block_of(rank, w->staying + w->leaving);
    for (int next = 0; next < new_size; next++) {
        struct block part = common(mine, block_of(next, new_size));
        int stays = next < w->staying;

        if (part.end > part.first)
            MPI_Isend(state + (part.first - mine.first), (int) (part.end - part.first), MPI_BYTE,
                      stays ? ranks[next] : next - w->staying, 0,
                      stays ? MPI_COMM_WORLD : intercomm, &requests[made++]);
    }
    return made;
}

/* `comm`: where a member of the new world finds the old one's ranks. */
static int receive_block(const struct window *w, struct block mine, char *into, MPI_Comm comm,
                         MPI_Request *requests)
{
    int made = 0, old_size = w->staying + w->leaving;

    for (int old = 0; old < old_size; old++) {
        struct block part = common(mine, block_of(old, old_size));

        if (part.end > part.first)
            MPI_Irecv(into + (part.first - mine.first), (int) (part.end - part.first), MPI_BYTE,
                      old, 0, comm, &requests[made++]);
    }
    return made;
}

/* The old ranks of the processes that stay, in the order of the new world. */
static int *old_ranks(const struct window *w, int new_rank)
{
    int old_size = w->staying + w->leaving;
    int *new_ranks = allocate(sizeof(int) * (size_t) old_size);
    int *ranks = allocate(sizeof(int) * (size_t) w->staying);

    MPI_Allgather(&new_rank, 1, MPI_INT, new_ranks, 1, MPI_INT, MPI_COMM_WORLD);
    for (int old = 0; old < old_size; old++)
        if (new_ranks[old] >= 0)
            ranks[new_ranks[old]] = old;
    free(new_ranks);
    return ranks;
}

/* Blocks of the old world become blocks of the new one. */
static void move_state(const struct window *w, MPI_Comm intercomm, MPI_Comm new_world, int joined)
{
    int processes = 2 * w->staying + w->leaving + w->joining, new_rank = -1, made = 0;
    MPI_Request *requests = allocate(sizeof(*requests) * (size_t) processes);
    char *next = NULL;

    if (new_world != MPI_COMM_NULL) {
        MPI_Comm_rank(new_world, &new_rank);
        struct block mine = block_of(new_rank, w->staying + w->joining);
        next = allocate((size_t) (mine.end - mine.first));
        made = receive_block(w, mine, next, joined ? intercomm : MPI_COMM_WORLD, requests);
    }
    if (!joined) {
        int *ranks = old_ranks(w, new_rank);
        made += send_block(w, ranks, intercomm, requests + made);
        free(ranks);
    }
    MPI_Waitall(made, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(state);
    state = next;
}

/* ---- one adaptation ---------------------------------------------------------------------- */

/* The results go to those who join, so that any process may leave later: in the window if nobody
 * stays, else after it, because who stays would wait in commit for a joining process that is at
 * this. */
static void send_in_window(MPI_Comm intercomm, int joined)
{
    int rank, root = 0;

    if (!joined) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        root = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    }
    MPI_Bcast(&results, sizeof(results), MPI_BYTE, root, intercomm);
}

static void send_after_window(void)
{
    MPI_Bcast(&results, sizeof(results), MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* The resources that this process has used so far. */
struct clocks {
    double now, cpu;
    long faults;
};

static struct clocks read_clocks(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    struct clocks clocks = { .cpu = cpu_us(), .faults = usage.ru_minflt + usage.ru_majflt };
    clocks.now = now_us();      /* last: the other two are system calls */
    return clocks;
}

/* Adds to the parts what passed since `from`; `part` gets the time. */
static void add_part(double *parts, enum part part, struct clocks from)
{
    double now = now_us();
    struct clocks to = read_clocks();

    parts[part] = now - from.now;
    parts[STANDSTILL] += now - from.now;
    parts[CPU] += to.cpu - from.cpu;
    parts[FAULTS] += (double) (to.faults - from.faults);
}

/* The application's work in the window is not part of the standstill. */
static void take_part(struct window *w, int joined)
{
    MPI_Comm intercomm, new_world;
    double *parts = w->parts, moved;
    struct clocks start = read_clocks();

    MPI_Comm_adapt_begin(&intercomm, &new_world, &w->staying, &w->leaving, &w->joining);
    add_part(parts, BEGIN, start);
    if (w->staying == 0)
        send_in_window(intercomm, joined);
    moved = now_us();
    if (options.bytes > 0)
        move_state(w, intercomm, new_world, joined);
    parts[MOVE] = now_us() - moved;
    start = read_clocks();
    MPI_Comm_adapt_commit();
    if (options.barrier && w->joining > 0 && w->staying > 0)
        MPI_Barrier(MPI_COMM_WORLD);
    add_part(parts, COMMIT, start);
    parts[STAYED] = !joined;
    if (joined)
        parts[STANDSTILL] = parts[BEGIN] = parts[COMMIT] = parts[CPU] = parts[FAULTS] = 0;
    if (w->joining > 0 && w->staying > 0)
        send_after_window();
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

/* Median time of MPI_Comm_dup of the world, on this process. */
static double time_dup(void)
{
    double took[DUPS];

    for (int i = 0; i < DUPS; i++) {
        MPI_Comm dup;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now_us();
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        took[i] = now_us() - start;
        MPI_Comm_free(&dup);
    }
    qsort(took, DUPS, sizeof(*took), ascending);
    return took[DUPS / 2];
}

static struct kind *find_kind(const struct window *w)
{
    struct kind *kind = results.kinds;

    for (; kind < results.kinds + results.kind_count; kind++)
        if (kind->staying == w->staying && kind->leaving == w->leaving &&
            kind->joining == w->joining)
            return kind;
    if (results.kind_count == KINDS_MOST)
        return NULL;
    results.kind_count++;
    *kind = (struct kind) { w->staying, w->leaving, w->joining, 0, 0, 1e30, 0, 0, 0, 0, 0 };
    return kind;
}

/* The row of this adaptation, the same on all processes; in one of migration nobody stood still. */
static void add_result(const struct window *w)
{
    double most[PARTS];
    struct kind *kind;

    MPI_Allreduce(w->parts, most, PARTS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    results.adaptations++;
    if (results.adaptations <= options.warm || most[STAYED] == 0 || !(kind = find_kind(w)))
        return;
    kind->count++;
    kind->sum += most[STANDSTILL];
    kind->least = most[STANDSTILL] < kind->least ? most[STANDSTILL] : kind->least;
    kind->most = most[STANDSTILL] > kind->most ? most[STANDSTILL] : kind->most;
    kind->begin += most[BEGIN];
    kind->move += most[MOVE];
    kind->commit += most[COMMIT];
    kind->dup += most[DUP];
}

/* ---- what is printed ---------------------------------------------------------------------- */

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = -3;             /* ".", ".." and this descriptor */

    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static void print_usage(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[1024];
    long pages = 0;
    int mappings = 0, segments = 0;

    while (file && fgets(line, sizeof(line), file)) {
        mappings++;
        segments += strstr(line, "/memfd:") || strstr(line, "/dev/shm");
    }
    if (file)
        fclose(file);
    if ((file = fopen("/proc/self/statm", "r"))) {
        if (fscanf(file, "%*d %ld", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    printf(",\"usage\":{\"resident_kib\":%ld,\"descriptors\":%d,\"mappings\":%d,\"segments\":%d}",
           pages * (sysconf(_SC_PAGESIZE) / 1024), entries("/proc/self/fd"), mappings, segments);
}

static void print_line(const struct window *w)
{
    static const char *const names[PARTS] = {
        "stayed", "standstill_us", "probe_us", "begin_us", "move_us", "commit_us", "cpu_us",
        "page_faults", "dup_us"
    };
    int rank, size;
    double *all, *column;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    all = allocate((size_t) size * (PARTS + 1) * sizeof(*all));
    MPI_Gather(w->parts, PARTS, MPI_DOUBLE, all, PARTS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"epoch\":%d,\"from\":%d,\"to\":%d,\"staying\":%d,\"leaving\":%d,\"joining\":%d",
               w->epoch, w->staying + w->leaving, w->staying + w->joining, w->staying, w->leaving,
               w->joining);
        column = all + (size_t) size * PARTS;
        for (int part = STAYED; part < PARTS; part++) {
            for (int i = 0; i < size; i++)
                column[i] = all[i * PARTS + part];
            print_numbers(names[part], column, size);
        }
        if (options.usage)
            print_usage();
        printf("}\n");
        fflush(stdout);
    }
    free(all);
}

static void print_table(void)
{
    printf("# Elastic MPICH Adaptation Latency Test\n");
    if (options.bytes > 0)
        printf("# State: %ld bytes\n", options.bytes);
    printf("%-16s%16s%16s%16s%16s", "# Staying+Joining", "Avg Still(us)", "Min Still(us)",
           "Max Still(us)", "Dup(us)");
    if (options.full)
        printf("%14s%14s%14s", "Begin(us)", "Move(us)", "Commit(us)");
    else if (options.bytes > 0)
        printf("%14s", "Move(us)");
    printf("%8s\n", "Count");
    for (const struct kind *kind = results.kinds; kind < results.kinds + results.kind_count;
         kind++) {
        char name[64];
        double n = kind->count;
        snprintf(name, sizeof(name), "%d+%d%s", kind->staying, kind->joining,
                 kind->leaving > 0 ? " (others left)" : "");
        printf("%-17s%15.2f%16.2f%16.2f%16.2f", name, kind->sum / n, kind->least, kind->most,
               kind->dup / n);
        if (options.full)
            printf("%14.2f%14.2f%14.2f", kind->begin / n, kind->move / n, kind->commit / n);
        else if (options.bytes > 0)
            printf("%14.2f", kind->move / n);
        printf("%8d\n", kind->count);
    }
}

/* ---- the loop ----------------------------------------------------------------------------- */

static double dup_us;           /* of the present world */

/* The reference is the larger world's: the one before if the world has shrunk. */
static void finish(struct window *w)
{
    double before = dup_us;

    dup_us = time_dup();
    w->parts[DUP] = w->joining < w->leaving ? before : dup_us;
    add_result(w);
    if (options.lines)
        print_line(w);
}

static int epoch_of(MPI_Info info)
{
    char epoch[32] = "0";
    int found;

    MPI_Info_get(info, "epoch", sizeof(epoch) - 1, epoch, &found);
    MPI_Info_free(&info);
    return atoi(epoch);
}

static void compute(void)
{
    static volatile double value = 1;

    for (double end = cpu_us() + options.compute_us; cpu_us() < end;)
        for (int i = 0; i < 2000; i++)
            value = value * 0.999 + 0.001;
}

static void probe(void)
{
    struct window w = { 0 };
    int pending, local_status;
    MPI_Info info;
    struct clocks called;

    compute();
    MPI_Barrier(MPI_COMM_WORLD);
    called = read_clocks();
    MPI_Probe_adapt(&pending, &local_status, &info);
    if (pending != MPI_ADAPT_TRUE)
        return;
    add_part(w.parts, PROBE, called);
    w.epoch = epoch_of(info);
    take_part(&w, 0);
    finish(&w);
}

static void join(void)
{
    struct window w = { 0 };
    int pending, local_status;
    MPI_Info info;

    MPI_Probe_adapt(&pending, &local_status, &info);
    w.epoch = epoch_of(info);
    take_part(&w, 1);
    finish(&w);
}

static void start(void)
{
    fill_state();
    dup_us = time_dup();
}

static int read_options(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "i:x:c:m:bfju")) != -1;) {
        switch (option) {
            case 'i': options.counted = atoi(optarg); break;
            case 'x': options.warm = atoi(optarg); break;
            case 'c': options.compute_us = atof(optarg); break;
            case 'm': options.bytes = atol(optarg); break;
            case 'b': options.barrier = 1; break;
            case 'f': options.full = 1; break;
            case 'j': options.lines = 1; break;
            case 'u': options.usage = 1; break;
            default: return 0;
        }
    }
    return optind == argc && options.counted > 0 && options.warm >= 0 && options.compute_us >= 0 &&
        options.bytes >= 0 && options.bytes <= INT_MAX;
}

int main(int argc, char **argv)
{
    int local_status, rank;

    if (!read_options(argc, argv)) {
        fprintf(stderr, "usage: adapt_latency [-i COUNTED] [-x WARM] [-c US] [-m BYTES] [-b]"
                " [-f] [-j [-u]]\n");
        return 2;
    }
    MPI_Init_adapt(&argc, &argv, &local_status);
    if (local_status == MPI_ADAPT_STATUS_JOINING)
        join();
    else
        start();
    while (results.adaptations < options.warm + options.counted)
        probe();
    check_state();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !options.lines)
        print_table();
    MPI_Finalize();
    free(state);
    return 0;
}

#endif
