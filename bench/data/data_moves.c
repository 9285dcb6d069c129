/*
 * One array in blocks, moved in each adaptation window several ways by turns: by libadapt_data, by
 * hand (the messages of the same overlaps, and a copy of what stays), as plain messages without
 * that copy, by the root, which gathers and scatters all of it, and by one MPI_Alltoallv, to the
 * process itself too.
 *
 *     mpiexec -n 2 --adapt-schedule 4,2 data_moves BYTES ROUNDS EPOCHS
 *
 * BYTES are those of the whole array.  Each window prints a line of JSON with the times of each
 * way, from barrier to barrier, what libadapt_data has passed to MPI_Isend on all processes beside
 * the optimum (what changes its owner), and "peak": the most memory that a process had while it
 * moved, for 1 of its old part, its new part and 8 messages, of the process for which that is most.
 */

#include "../measure.h"
#include <adapt_data.h>
#include <stdint.h>
#include <string.h>

/* an element has UNIT bytes */
enum { UNIT = 1024, WAYS = 5, ORDERS = 10, ROUNDS_MOST = 100, TAG = 5 };

static int64_t units, bytes_sent;
static int rounds;
static char *part;              /* this process' block */
static MPI_Datatype unit;

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request * request)
{
    int bytes;

    PMPI_Type_size(type, &bytes);
    bytes_sent += (int64_t) bytes *count;
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

struct block {
    int64_t first, end;
};

/* The part of a rank of `size`; nothing for rank -1. */
static struct block block_of(int rank, int size)
{
    if (rank < 0)
        return (struct block) { 0, 0 };
    return (struct block) { units * rank / size, units * (rank + 1) / size };
}

static struct block common(struct block a, struct block b)
{
    struct block both = { a.first > b.first ? a.first : b.first, a.end < b.end ? a.end : b.end };

    both.end = both.end < both.first ? both.first : both.end;
    return both;
}

static char *allocate(int64_t count)
{
    char *memory = malloc(count > 0 ? (size_t) count * UNIT : 1);

    if (!memory) {
        fprintf(stderr, "data_moves: no memory for %lld KiB\n", (long long) count);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static char content(int64_t element)
{
    return (char) (element % 251);
}

static void fill(char *to, struct block mine)
{
    for (int64_t k = mine.first; k < mine.end; k++)
        memset(to + (k - mine.first) * UNIT, content(k), UNIT);
}

static void check(const char *way, const char *have, struct block mine)
{
    for (int64_t k = mine.first; k < mine.end; k++) {
        const char *element = have + (k - mine.first) * UNIT;
        if (element[0] != content(k) || element[UNIT - 1] != content(k)) {
            fprintf(stderr, "data_moves: %s: element %lld is wrong\n", way, (long long) k);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* ---- the ways: each returns the new part; the helper, or who called, frees the old one ---- */

struct where {
    const epop_window_t *window;
    MPI_Comm all;
    int *process_of_new;        /* rank in all */
    struct block old, fresh;
};

/* Programs register once, outside of windows. */
static MPIX_Adapt_data registered;
static void *base;

static void register_part(const struct where *where)
{
    const MPIX_Adapt_layout layout = MPIX_Layout_block(units);

    base = part;
    MPIX_Adapt_data_create(&registered);
    MPIX_Adapt_data_add(registered, "array", &base, unit, &layout, NULL, NULL);
}

static char *by_helper(const struct where *where)
{
    MPIX_Adapt_data_move(registered, where->window);
    return base;
}

static char *by_messages(const struct where *where, int with_copy)
{
    const epop_window_t *window = where->window;
    char *fresh = allocate(where->fresh.end - where->fresh.first);
    const int peers = window->old_size + window->new_size;
    MPI_Request *requests = malloc((size_t) peers * sizeof(MPI_Request));
    int count = 0, me;

    MPI_Comm_rank(where->all, &me);
    for (int rank = 0; rank < window->old_size && window->new_rank >= 0; rank++) {
        struct block both = common(block_of(rank, window->old_size), where->fresh);
        if (both.first < both.end && rank != me)
            MPI_Irecv(fresh + (both.first - where->fresh.first) * UNIT,
                      (int) (both.end - both.first), unit, rank, TAG, where->all,
                      &requests[count++]);
    }
    for (int rank = 0; rank < window->new_size && window->old_rank >= 0; rank++) {
        struct block both = common(where->old, block_of(rank, window->new_size));
        const int to = where->process_of_new[rank];
        if (both.first < both.end && to != me)
            MPI_Isend(part + (both.first - where->old.first) * UNIT, (int) (both.end - both.first),
                      unit, to, TAG, where->all, &requests[count++]);
    }
    struct block overlap = common(where->old, where->fresh);
    if (with_copy && overlap.first < overlap.end)
        memcpy(fresh + (overlap.first - where->fresh.first) * UNIT,
               part + (overlap.first - where->old.first) * UNIT,
               (size_t) (overlap.end - overlap.first) * UNIT);
    for (int k = 0; k < count; k++)
        MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
    free(requests);
    return fresh;
}

static char *by_hand(const struct where *where)
{
    return by_messages(where, 1);
}

static char *by_plain_messages(const struct where *where)
{
    return by_messages(where, 0);
}

static char *by_root(const struct where *where)
{
    const int count = where->window->old_size + where->window->joining;
    int *counts = malloc(4 * (size_t) count * sizeof(int)), *starts = counts + count, me;
    int *new_counts = starts + count, *new_starts = new_counts + count;
    char *fresh = allocate(where->fresh.end - where->fresh.first);

    MPI_Comm_rank(where->all, &me);
    char *whole = me == 0 ? allocate(units) : NULL;
    for (int rank = 0; rank < count; rank++) {
        int new_rank = -1;
        for (int k = 0; k < where->window->new_size; k++)
            new_rank = where->process_of_new[k] == rank ? k : new_rank;
        struct block old =
            block_of(rank < where->window->old_size ? rank : -1, where->window->old_size);
        struct block coming = block_of(new_rank, where->window->new_size);
        counts[rank] = (int) (old.end - old.first);
        starts[rank] = (int) old.first;
        new_counts[rank] = (int) (coming.end - coming.first);
        new_starts[rank] = (int) coming.first;
    }
    MPI_Gatherv(part, counts[me], unit, whole, counts, starts, unit, 0, where->all);
    MPI_Scatterv(whole, new_counts, new_starts, unit, fresh, new_counts[me], unit, 0, where->all);
    free(whole);
    free(counts);
    return fresh;
}

static char *by_alltoallv(const struct where *where)
{
    const epop_window_t *window = where->window;
    const int count = window->old_size + window->joining;
    int *sent = calloc(4 * (size_t) count, sizeof(int)), *sent_at = sent + count;
    int *come = sent_at + count, *come_at = come + count;
    char *fresh = allocate(where->fresh.end - where->fresh.first);

    for (int rank = 0; rank < window->old_size; rank++) {
        struct block both = common(block_of(rank, window->old_size), where->fresh);
        come[rank] = (int) (both.end - both.first);
        come_at[rank] = come[rank] ? (int) (both.first - where->fresh.first) : 0;
    }
    for (int rank = 0; rank < window->new_size; rank++) {
        struct block both = common(where->old, block_of(rank, window->new_size));
        const int to = where->process_of_new[rank];
        sent[to] = (int) (both.end - both.first);
        sent_at[to] = sent[to] ? (int) (both.first - where->old.first) : 0;
    }
    MPI_Alltoallv(part, sent, sent_at, unit, fresh, come, come_at, unit, where->all);
    free(sent);
    return fresh;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* "VmRSS", "VmHWM" or "RssShmem" of this process, in bytes. */
static double resident(const char *which)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double kib = 0;

    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, which, strlen(which)) == 0)
            kib = atof(line + strlen(which) + 1);
    if (file)
        fclose(file);
    return 1024 * kib;
}

/* VmHWM begins anew. */
static void reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");

    if (!file || fputs("5", file) < 0 || fclose(file) != 0) {
        fprintf(stderr, "data_moves: /proc/self/clear_refs cannot be written\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* before: resident before anything moved, with the old part; shared: of that in MPI's shared
 * segments, whose pages count when a process reads them for the first time, and are not of the
 * move.  of_sum: for 1 of both parts. */
static double peak_share(const struct where *where, double before, double shared, double *of_sum)
{
    const char *text = getenv("MPIX_ADAPT_DATA_CHUNK");
    const double chunk = text ? atof(text) : 64.0 * 1024 * 1024;
    const double old = (double) (where->old.end - where->old.first) * UNIT;
    const double fresh = (double) (where->fresh.end - where->fresh.first) * UNIT;

    const double touched = resident("RssShmem") - shared;

    *of_sum = (old + resident("VmHWM") - before - touched) / (old + fresh);
    return *of_sum * (old + fresh) / (old + fresh + 8 * chunk);
}

/* ---- a window -------------------------------------------------------------------------------- */

static char *copy_of(const char *original, struct block block)
{
    const size_t bytes = (size_t) (block.end - block.first) * UNIT;
    char *copy = bytes > 0 ? malloc(bytes) : NULL;

    if (copy)
        memcpy(copy, original, bytes);
    return copy;
}

static void measure_window(const struct where *where)
{
    static const char *names[WAYS] = { "helper", "hand", "messages", "root",
        "alltoallv"
    };
    static char *(*const ways[WAYS])(const struct where *) =
        { by_helper, by_hand, by_plain_messages, by_root, by_alltoallv
    };
    /* each way comes after each other way equally often: it finds its memory and its caches */
    static const int first_order[WAYS] = { 0, 1, 4, 2, 3 };
    static double us[WAYS][ROUNDS_MOST];
    int64_t bytes[2] = { 0, 0 }, sums[2];
    double before = 0, shared = 0, peaks[2] = { 0, 0 }, highest[2];
    char *const original = part;
    int me;

    MPI_Comm_rank(where->all, &me);
    bind_to_core(me);
    for (int round = 0; round < rounds; round++)
        for (int turn = 0; turn < WAYS; turn++) {
            const int order = round % ORDERS, at = order < WAYS ? turn : WAYS - 1 - turn;
            const int way = (first_order[at] + order) % WAYS;
            bytes_sent = 0;
            part = copy_of(original, where->old);
            if (way == 0)
                register_part(where);
            if (way == 0 && round == 0) {
                reset_peak();
                before = resident("VmRSS");
                shared = resident("RssShmem");
            }
            MPI_Barrier(where->all);
            double start = now_us();
            char *fresh = ways[way] (where);
            if (way != 0)
                free(part);
            MPI_Barrier(where->all);
            us[way][round] = now_us() - start;
            if (way == 0 && round == 0)
                peaks[0] = peak_share(where, before, shared, &peaks[1]);
            if (way == 0)
                MPIX_Adapt_data_free(&registered);
            if (way != 2 && round == 0)
                check(names[way], fresh, where->fresh);
            free(fresh);
            bytes[0] = way == 0 ? bytes_sent : bytes[0];
        }
    part = original;
    struct block overlap = common(where->old, where->fresh);
    bytes[1] = (where->fresh.end - where->fresh.first - (overlap.end - overlap.first)) * UNIT;
    MPI_Reduce(bytes, sums, 2, MPI_INT64_T, MPI_SUM, 0, where->all);
    MPI_Reduce(peaks, highest, 2, MPI_DOUBLE, MPI_MAX, 0, where->all);
    if (where->window->old_rank != 0)
        return;
    printf("{\"from\":%d,\"to\":%d,\"bytes\":%lld,\"optimum\":%lld,"
           "\"peak\":%.4f,\"peak_of_sum\":%.4f",
           where->window->old_size, where->window->new_size, (long long) sums[0],
               (long long) sums[1], highest[0], highest[1]);
    for (int way = 0; way < WAYS; way++)
        print_numbers(names[way], us[way], rounds);
    printf("}\n");
    fflush(stdout);
}

static void adapt(int status, int *epoch)
{
    epop_window_t window;
    struct where where = {.window = &window };

    MPIX_Adapt_window_open(status, &window, &where.all);
    MPI_Bcast(epoch, 1, MPI_INT, 0, where.all);
    where.old = block_of(window.old_rank, window.old_size);
    where.fresh = block_of(window.new_rank, window.new_size);
    where.process_of_new = malloc((size_t) window.new_size * sizeof(int));
    for (int rank = 0; rank < window.new_size; rank++)
        where.process_of_new[rank] = window.old_size + rank - window.staying;
    for (int rank = 0; rank < window.old_size; rank++)
        if (window.new_rank_of[rank] >= 0)
            where.process_of_new[window.new_rank_of[rank]] = rank;
    measure_window(&where);
    free(where.process_of_new);
    free(part);
    part = allocate(where.fresh.end - where.fresh.first);
    fill(part, where.fresh);
    MPIX_Adapt_window_close(&window, &where.all);
    ++*epoch;
}

int main(int argc, char **argv)
{
    int status, pending, rank, size, epoch = 0, epochs = argc > 3 ? atoi(argv[3]) : 1;

    units = argc > 1 ? atoll(argv[1]) / UNIT : 1024;
    rounds = argc > 2 ? atoi(argv[2]) : 5;
    rounds = rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    MPI_Init_adapt(&argc, &argv, &status);
    MPI_Type_contiguous(UNIT, MPI_BYTE, &unit);
    MPI_Type_commit(&unit);
    if (status == MPI_ADAPT_STATUS_JOINING) {
        adapt(status, &epoch);
    } else {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        struct block mine = block_of(rank, size);
        part = allocate(mine.end - mine.first);
        fill(part, mine);
    }
    while (epoch < epochs) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Probe_adapt(&pending, &status, NULL);
        if (pending == MPI_ADAPT_TRUE)
            adapt(status, &epoch);
    }
    free(part);
    MPI_Type_free(&unit);
    MPI_Finalize();
    return 0;
}
