/*
 * C9, nothing leaks: over many adaptations descriptors, memory, mappings, shared segments, threads
 * and the processes below mpiexec (zombies included) are counted.  The first --warm adaptations
 * fill caches; after that the world is measured each time that it has its smallest size.
 * Descriptors and threads must not become more, segments hardly.  The heap, counted in bytes, must
 * have come to rest by the middle of the measurements: from there on it may grow by less than 100
 * bytes an adaptation, and so may what mpiexec and this host's proxy have in memory, once
 * mpiexec's history of events is full and there are enough adaptations to distinguish this from a
 * page.  --inject N leaks so many bytes each time, to show that it is seen.  Each new world also
 * makes communicators, a window and a datatype and leaves the communicators to the commit, so that
 * context ids run out if they are not freed (there are 2048 of them).
 */

#include "elastic_test.h"
#include <ctype.h>
#include <dirent.h>
#include <malloc.h>
#include <stddef.h>
#include <unistd.h>

/* Bytes that an adaptation may cost for ever: allocator noise, no object of ours. */
#define GROWTH_PER_EPOCH 40
#define GROWTH_ONCE 4096
/* Whole pages are all that can be seen of memory from outside. */
#define RESIDENT_ONCE (6 * 4096)
/* From the first to the last measurement, caches and mpiexec's history included */
#define WARMING (2l << 20)
/* Measurements that are taken together, since each may be made beside something temporary */
#define TOGETHER 3
#define SAMPLES_MAX 4096
/* mpiexec retains the last 1024 events, at least five of them for each adaptation, and the last
 * 1024 worlds. */
#define HISTORY_EPOCHS 1024
/* The next expansion may be there already (proxy, process, connections to mpiexec); so may
 * the last leaving process and its proxy. */
#define PROCESSES_IN_FLIGHT 4
#define DESCRIPTORS_IN_FLIGHT 12
/* That of the former world, until a probe gives it back, and that of the next one; each is mapped
 * in three parts. */
#define SEGMENTS_IN_FLIGHT 6
/* Connections to the processes that join next, or have just left, and their segments. */
#define CONNECTIONS_IN_FLIGHT 4

static struct usage {
    long descriptors, mappings, threads, segments, heap, resident;
    /* counted by rank 0 only */
    long processes, zombies, launcher_descriptors, proxy_descriptors, launcher_resident,
        proxy_resident;
} first, last;
static struct sample {
    int epoch;
    long heap, launcher, proxy;
} samples[SAMPLES_MAX];
static int measured, first_epoch, smallest = 1 << 30, every_rank_old;

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    int n = 0;

    ET_CHECK(folder, "cannot read %s", path);
    while ((entry = readdir(folder)))
        n += entry->d_name[0] != '.';
    closedir(folder);
    return n;
}

static void mappings(struct usage *usage)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[1024];

    ET_CHECK(file, "cannot read /proc/self/maps");
    while (fgets(line, sizeof(line), file)) {
        usage->mappings++;
        usage->segments += strstr(line, "/memfd:") || strstr(line, "/dev/shm");
    }
    fclose(file);
}

/* Parent, name and state of a process; 0 if it has ended. */
static int lookup_name(long pid, long *parent, char *name, size_t bytes, char *state)
{
    char path[64], text[512], *open, *close;
    FILE *file;
    size_t n;

    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    if (!(file = fopen(path, "r")))
        return 0;
    n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    open = strchr(text, '(');
    close = strrchr(text, ')');
    if (!open || !close || sscanf(close + 1, " %c %ld", state, parent) != 2)
        return 0;
    snprintf(name, bytes, "%.*s", (int) (close - open - 1), open + 1);
    return 1;
}

static long launcher(void)
{
    long pid = getpid(), parent;
    char name[64], state;

    while (pid > 1 && lookup_name(pid, &parent, name, sizeof(name), &state)) {
        if (strncmp(name, "mpiexec", 7) == 0)
            return pid;
        pid = parent;
    }
    et_fail(__FILE__, __LINE__, "mpiexec", "is not above me");
}

static int is_below(long pid, long top)
{
    long parent;
    char name[64], state;

    for (int depth = 0; depth < 16 && pid > 1; depth++) {
        if (!lookup_name(pid, &parent, name, sizeof(name), &state))
            return 0;
        if (parent == top)
            return 1;
        pid = parent;
    }
    return 0;
}

static void processes(struct usage *usage)
{
    long top = launcher(), pid, parent;
    struct dirent *entry;
    DIR *folder = opendir("/proc");
    char name[64], state;

    ET_CHECK(folder, "cannot read /proc");
    usage->processes = usage->zombies = 0;
    while ((entry = readdir(folder))) {
        if (!isdigit((unsigned char) entry->d_name[0]))
            continue;
        pid = atol(entry->d_name);
        if (!is_below(pid, top) || !lookup_name(pid, &parent, name, sizeof(name), &state))
            continue;
        usage->processes++;
        usage->zombies += state == 'Z';
    }
    closedir(folder);
}

static long resident(long pid)
{
    char path[64];
    FILE *file;
    long total, pages = 0;

    snprintf(path, sizeof(path), "/proc/%ld/statm", pid);
    file = fopen(path, "r");
    ET_CHECK(file && fscanf(file, "%ld %ld", &total, &pages) == 2, "no %s", path);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static long descriptors(long pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
    return entries(path);
}

static struct usage measure(void)
{
    struct usage usage = { 0 };

    malloc_trim(0);
    usage.resident = resident(getpid());
    usage.heap = (long) mallinfo2().uordblks + (long) mallinfo2().hblkhd;
    usage.descriptors = entries("/proc/self/fd");
    usage.threads = entries("/proc/self/task");
    mappings(&usage);
    return usage;
}

/* Resources of launcher and proxy; processes that left end a moment after the commit, and
 * so do their proxies: wait for the count to fall. */
static void measure_launcher(struct usage *usage)
{
    double end = et_seconds() + et.patience_s / 3;
    long want = 2 * et.size + PROCESSES_IN_FLIGHT;

    usage->launcher_descriptors = descriptors(launcher());
    usage->launcher_resident = resident(launcher());
    usage->proxy_descriptors = descriptors(getppid());
    usage->proxy_resident = resident(getppid());

    do {
        processes(usage);
        if (usage->processes <= want && usage->zombies == 0)
            return;
        et_sleep_ms(5);
    } while (et_seconds() < end);
}

static void notify(const char *when, const struct usage *u)
{
    et_log("USAGE %s epoch=%d rank=%d descriptors=%ld mappings=%ld threads=%ld segments=%ld "
           "heap=%ld resident=%ld processes=%ld zombies=%ld launcher-descriptors=%ld "
           "launcher-resident=%ld proxy-descriptors=%ld proxy-resident=%ld", when, et.epoch,
           et.rank, u->descriptors, u->mappings, u->threads, u->segments, u->heap, u->resident,
           u->processes, u->zombies, u->launcher_descriptors, u->launcher_resident,
           u->proxy_descriptors, u->proxy_resident);
}

/* The sample of some in a row whose `what` (an offset in it) is least, or greatest. */
static const struct sample *extreme(int begin, size_t what, int sign)
{
    const struct sample *best = &samples[begin];

    for (int i = begin + 1; i < begin + TOGETHER; i++) {
        if (sign * (*(long *) ((char *) &samples[i] + what) - *(long *) ((char *) best + what)) > 0)
            best = &samples[i];
    }
    return best;
}

static long value(const struct sample *sample, size_t what)
{
    return *(const long *) ((const char *) sample + what);
}

/* Whether it grows by more than it may from the samples at `begin` to those before `end`. */
static int grows(int begin, int end, size_t what, long once)
{
    const struct sample *from = extreme(begin, what, 1), *to = extreme(end - TOGETHER, what, -1);

    return value(to, what) > value(from, what) + once + (long) (to->epoch - from->epoch) *
        GROWTH_PER_EPOCH;
}

/* From the samples at `begin` to the last ones.  Values observed from outside may grow by a step,
 * when much was pending at one time; a repeated leak shows in both halves. */
static void check_growth(int begin, size_t what, long once, const char *whose)
{
    int middle = (begin + measured) / 2, outside = what != offsetof(struct sample, heap);
    int leaks = grows(begin, measured, what, once);

    if (leaks && outside && middle - begin >= TOGETHER && measured - middle >= 2 * TOGETHER)
        leaks = grows(begin, middle + TOGETHER, what, once) && grows(middle, measured, what, once);
    ET_CHECK(!leaks, "%s: %ld bytes after %d adaptations, %ld after %d, %ld after %d", whose,
             value(&samples[begin], what), samples[begin].epoch, value(&samples[middle], what),
             samples[middle].epoch, value(&samples[measured - 1], what),
             samples[measured - 1].epoch);
}

static void compare_growth(void)
{
    int full = 0;

    ET_CHECK(measured >= 2 * TOGETHER, "only %d measurements", measured);
    check_growth(measured / 2 - 1, offsetof(struct sample, heap), GROWTH_ONCE, "heap");
    if (et.rank)
        return;
    check_growth(measured / 2 - 1, offsetof(struct sample, proxy), RESIDENT_ONCE, "proxy");
    while (full < measured && samples[full].epoch < HISTORY_EPOCHS)
        full++;
    if (full + 2 * TOGETHER <= measured)
        check_growth(full, offsetof(struct sample, launcher), RESIDENT_ONCE, "mpiexec");
}

static void compare(void)
{
    ET_CHECK(last.descriptors <= first.descriptors + CONNECTIONS_IN_FLIGHT,
             "%ld descriptors, before %ld", last.descriptors, first.descriptors);
    ET_CHECK(last.threads <= first.threads, "%ld threads, before %ld", last.threads, first.threads);
    ET_CHECK(last.segments <= first.segments + SEGMENTS_IN_FLIGHT,
             "%ld shared segments, before %ld", last.segments, first.segments);
    ET_CHECK(last.mappings <= first.mappings + 8, "%ld mappings, before %ld", last.mappings,
             first.mappings);
    ET_CHECK(last.resident <= first.resident + WARMING, "%ld bytes resident, before %ld",
             last.resident, first.resident);
    ET_CHECK(last.zombies == 0, "%ld zombies", last.zombies);
    ET_CHECK(last.processes <= 2 * et.size + PROCESSES_IN_FLIGHT,
             "%ld processes below mpiexec in a world of %d", last.processes, et.size);
    ET_CHECK(last.launcher_descriptors <= first.launcher_descriptors + DESCRIPTORS_IN_FLIGHT,
             "mpiexec has %ld descriptors, before %ld", last.launcher_descriptors,
             first.launcher_descriptors);
    ET_CHECK(last.proxy_descriptors <= first.proxy_descriptors + 2,
             "the proxy has %ld descriptors, before %ld", last.proxy_descriptors,
             first.proxy_descriptors);
    ET_CHECK(last.launcher_resident <= first.launcher_resident + WARMING,
             "mpiexec uses %ld bytes, before %ld", last.launcher_resident,
             first.launcher_resident);
    compare_growth();
}

static void use_world(void)
{
    MPI_Comm left_alone[3];
    MPI_Win win;
    MPI_Datatype type;
    int *cells;

    for (int i = 0; i < 3; i++)
        ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &left_alone[i]));
    ET_MPI(MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &cells, &win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Win_free(&win));
    ET_MPI(MPI_Type_vector(3, 2, 5, MPI_INT, &type));
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_Type_free(&type));
}

/* Coupled, so that on a busy machine nobody is a thousand probes ahead. */
static void compute(void)
{
    et_idle();
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static int warm, inject;
void *leak_injected;            /* not static, or the compiler would see that nobody uses it */

static void after(void)
{
    use_world();
    if (inject)
        leak_injected = malloc((size_t) inject);
    if (et.size > smallest || et.epoch < warm)
        return;
    /* only a process that was measured at the start compares itself; rank 0 never leaves here */
    MPI_Barrier(MPI_COMM_WORLD);
    if (!every_rank_old)
        return;
    last = measure();
    if (et.rank == 0)
        measure_launcher(&last);
    if (!measured) {
        first = last;
        first_epoch = et.epoch;
        notify("first", &first);
    }
    if (measured < SAMPLES_MAX)
        samples[measured++] = (struct sample) {
        et.epoch, last.heap, last.launcher_resident, last.proxy_resident};
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    smallest = (int) et_number(argc, argv, "smallest", 2);
    warm = (int) et_number(argc, argv, "warm", 20);
    inject = (int) et_number(argc, argv, "inject", 0);
    every_rank_old = et.status == MPI_ADAPT_STATUS_NEW;
    et.report = 0;
    et.compute = compute;
    et.after = after;
    et_loop();
    if (every_rank_old) {
        ET_CHECK(measured >= 2, "measured %d times", measured);
        notify("last", &last);
        compare();
    }
    return et_finish();
}
