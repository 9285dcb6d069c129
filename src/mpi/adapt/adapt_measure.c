/*
 * Measures the loops of an adaptive program: what they take, and which part of that is MPI's.
 *
 * Sites are the addresses that MPI functions return to.  perf_measure.c knows nothing else of the program; here are
 * the clock, the threads and the addresses.  Measured is the thread that probes, from its first probe on; nested calls
 * (of callbacks, of ROMIO) are part of the outermost one.  What is known of the elastic loop, the one that probes, is
 * in this process' slot of the board, and in performance variables.  SPEC-performance S, D13, D14, V4-V8.
 *
 * MPIR_Measure_on is the only word that the calls of rigid programs look at.  The rest is owned by the measured thread.
 *
 * In the environment: MPIR_CVAR_ADAPT_MEASURE=0 measures nothing; MPIR_CVAR_ADAPT_GRAPH_LOG=FILE writes each step, and
 * at the end the graph, to FILE.N, where N is the process' number in the job.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "adapt.h"
#include "adapt_measure.h"
#include "mpir_measure.h"
#include "perf_measure.h"
#include "pmi_adapt_measured.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <time.h>

#define FORTRAN_LIBRARIES_MAX 4
#define CALIBRATION_ROUNDS 16
#define STEP_COST_NS 40         /* of the graph, two branches and two calls */

int MPIR_Measure_on;

struct address_range {
    uintptr_t first, end;
};

static struct {
    bool tried;                 /* to start: never twice */
    struct perf_measure *state; /* NULL: measures nothing */
    pthread_t thread;
    int depth;                  /* of MPI calls in MPI calls */
    struct address_range own, fortran[FORTRAN_LIBRARIES_MAX];
    int fortran_libraries;
    bool unwinding_costs;       /* are part of the cost of a call */
    FILE *log;
    uint64_t log_start;
} measure;

static struct {
    unsigned nodes, loops, every;
    double loop_time, mpi_time;
} pvars;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

/* ---- sites ---- */

static bool is_in(struct address_range range, uintptr_t address)
{
    return address >= range.first && address < range.end;
}

static bool is_in_fortran(uintptr_t address)
{
    for (int i = 0; i < measure.fortran_libraries; i++) {
        if (is_in(measure.fortran[i], address))
            return true;
    }
    return false;
}

/* The code of this library, and of those with Fortran bindings. */
static int note_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    bool fortran = !strncmp(name, "libmpi", 6) && (strstr(name, "fort") || strstr(name, "f90"));

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) * part = &info->dlpi_phdr[i];
        uintptr_t first = (uintptr_t) (info->dlpi_addr + part->p_vaddr);
        struct address_range range = { first, first + part->p_memsz };
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        if (is_in(range, (uintptr_t) & note_library))
            measure.own = range;
        else if (fortran && measure.fortran_libraries < FORTRAN_LIBRARIES_MAX)
            measure.fortran[measure.fortran_libraries++] = range;
    }
    return 0;
}

/* The Fortran bindings call the C ones: the site is whoever called them. */
static uintptr_t caller_of_bindings(uintptr_t site)
{
    void *frames[8];
    int n = backtrace(frames, 8);

    for (int i = 1; i < n; i++) {
        uintptr_t address = (uintptr_t) frames[i];
        if (!is_in(measure.own, address) && !is_in_fortran(address))
            return address;
    }
    return site;
}

static uint32_t least_cost(void (*action) (void))
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < CALIBRATION_ROUNDS; i++) {
        uint64_t start = now_ns();
        action();
        least = MPL_MIN(least, now_ns() - start);
    }
    return least > 100000 ? 100000 : (uint32_t) least;
}

static void read_clock(void)
{
    (void) now_ns();
}

static void unwind(void)
{
    (void) caller_of_bindings(0);
}

static uintptr_t find_site(uintptr_t site)
{
    if (!is_in_fortran(site))
        return site;
    if (!measure.unwinding_costs) {
        measure.unwinding_costs = true;
        measure.state->call_cost_ns += least_cost(unwind);
    }
    return caller_of_bindings(site);
}

/* ---- the log ---- */

static void open_log(void)
{
    const char *name;
    char path[PATH_MAX];

    if (!MPL_env2str("MPIR_CVAR_ADAPT_GRAPH_LOG", &name) || !*name)
        return;
    snprintf(path, sizeof(path), "%s.%u", name, MPIR_Adapt.uid);
    measure.log = fopen(path, "we");
    if (!measure.log)
        MPL_internal_error_printf("MPIR_CVAR_ADAPT_GRAPH_LOG: cannot write %s: %s\n", path, strerror(errno));
    measure.log_start = now_ns();
}

static void log_step(const struct perf_step *step, uint64_t now)
{
    char text[256];

    if (!measure.log || step->node == PERF_NONE)
        return;
    perf_graph_print_step(&measure.state->graph, step, now - measure.log_start, text, sizeof(text));
    fprintf(measure.log, "%s\n", text);
}

static void log_site(uint16_t index)
{
    static const char *const KINDS[] = { "P2P", "RMA", "COLLECTIVE", "IO", "MANAGE", "PROBE" };
    const struct perf_node *node = &measure.state->graph.node[index];
    Dl_info module;

    if (node->kind == PERF_KIND_PROBE)
        fprintf(measure.log, "%d: PROBE\n", index);
    else if (dladdr((void *) (uintptr_t) node->key, &module) && module.dli_fname)
        fprintf(measure.log, "%d: %s %s+0x%" PRIx64 "\n", index, KINDS[node->kind], module.dli_fname,
                node->key - (uint64_t) (uintptr_t) module.dli_fbase);
    else
        fprintf(measure.log, "%d: %s ?\n", index, KINDS[node->kind]);
}

static void log_graph(void)
{
    const struct perf_graph *graph = &measure.state->graph;
    char text[256];

    fprintf(measure.log, "Current detected Control Flow Graph (CFG):\n");
    for (uint16_t i = 0; i < graph->nodes; i++) {
        perf_graph_print_node(graph, i, text, sizeof(text));
        fprintf(measure.log, "%s\n", text);
    }
    fprintf(measure.log, "Sites (index: kind module+offset, for addr2line):\n");
    for (uint16_t i = 0; i < graph->nodes; i++)
        log_site(i);
    fprintf(measure.log, "Loops (index of head: measured iterations, nanoseconds, of these in MPI):\n");
    for (uint16_t i = 0; i < graph->loops; i++) {
        const struct perf_times *times = &measure.state->times[i];
        fprintf(measure.log, "%d: %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", graph->loop_head[i],
                times->iterations, times->loop_ns, times->mpi_ns);
    }
}

/* ---- calls ---- */

static bool is_observed(void)
{
    return pthread_equal(pthread_self(), measure.thread);
}

void MPIR_Measure_enter(enum MPIR_Measure_kind kind, const void *site)
{
    uintptr_t address = (uintptr_t) site;

    if (!is_observed() || measure.depth++ > 0)
        return;
    if (kind == MPIR_MEASURE_ASIDE || is_in(measure.own, address)) {
        perf_measure_enter_aside(measure.state, now_ns());
        return;
    }
    address = find_site(address);
    uint64_t now = now_ns();
    struct perf_step step =
        perf_measure_enter(measure.state, address, (enum perf_kind) kind, now);
    log_step(&step, now);
}

void MPIR_Measure_leave(void)
{
    if (!is_observed() || measure.depth == 0 || --measure.depth > 0)
        return;                 /* 0: a probe in a callback has begun anew */
    if (measure.state->measuring)
        perf_measure_leave(measure.state, now_ns());
}

/* ---- probes ---- */

/* At the first probe. */
static void start(void)
{
    int wanted = 1;

    measure.tried = true;
    MPL_env2bool("MPIR_CVAR_ADAPT_MEASURE", &wanted);
    if (!wanted)
        return;
    measure.state = MPL_malloc(sizeof(*measure.state), MPL_MEM_OTHER);
    if (!measure.state)
        return;                 /* the program goes on, nobody learns how */
    dl_iterate_phdr(note_library, NULL);
    perf_measure_init(measure.state, 2 * least_cost(read_clock) + STEP_COST_NS);
    open_log();
}

/* What is known of the elastic loop. */
static void publish(void)
{
    const struct perf_measure *state = measure.state;
    uint16_t loop = perf_measure_elastic(state);
    const struct perf_times none = { 0 }, *times = loop != PERF_NONE ? &state->times[loop] : &none;
    const struct pmi_adapt_measured measured =
        { times->iterations, times->loop_ns, times->mpi_ns, state->every };

    pmi_adapt_write_measured(MPIR_Adapt.slot, &measured);
    pvars.nodes = state->graph.nodes;
    pvars.loops = state->graph.loops;
    pvars.every = state->every;
    pvars.loop_time = times->loop_ns / 1e9;
    pvars.mpi_time = times->mpi_ns / 1e9;
}

uint64_t MPIR_Measure_probe_entered(void)
{
    return MPIR_Measure_on ? now_ns() : 0;
}

void MPIR_Measure_probe_false(uint64_t entered)
{
    if (!measure.tried)
        start();
    if (!measure.state || perf_measure_skip(measure.state))
        return;
    measure.thread = pthread_self();
    measure.depth = 0;          /* an error handler may have left a call by longjmp */
    uint64_t now = now_ns();
    struct perf_step step = perf_measure_probe(measure.state, entered ? entered : now, now);
    log_step(&step, now);
    MPIR_Measure_on = measure.state->measuring;
    publish();
}

void MPIR_Measure_probe_true(void)
{
    if (!measure.state)
        return;
    perf_measure_suspend(measure.state);
    MPIR_Measure_on = 0;
    publish();
}

void MPIR_Measure_finalize(void)
{
    MPIR_Measure_on = 0;
    if (!measure.state)
        return;
    if (measure.log) {
        log_graph();
        fclose(measure.log);
    }
    MPL_free(measure.state);
    measure.state = NULL;
}

/* ---- performance variables ---- */

static void add(MPI_Datatype type, const char *name, void *address, const char *description)
{
    MPIR_T_PVAR_REGISTER_impl(MPI_T_PVAR_CLASS_LEVEL, type, name, address, 1, MPI_T_ENUM_NULL,
                              MPI_T_VERBOSITY_USER_BASIC, MPI_T_BIND_NO_OBJECT,
                              MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS, NULL, NULL,
                              "ADAPT", description);
}

void MPIR_Measure_register_pvars(void)
{
    add(MPI_UNSIGNED, "adapt_graph_nodes", &pvars.nodes,
        "Places that the program calls MPI from, as far as they have been observed");
    add(MPI_UNSIGNED, "adapt_graph_loops", &pvars.loops, "Loops that have been detected");
    add(MPI_DOUBLE, "adapt_loop_time", &pvars.loop_time,
        "Seconds of the measured iterations of the loop that probes, since the last commit");
    add(MPI_DOUBLE, "adapt_mpi_time", &pvars.mpi_time,
        "Seconds that the program has spent in MPI in these iterations");
    add(MPI_UNSIGNED, "adapt_measure_every", &pvars.every,
        "One iteration of the loop that probes is measured in so many");
}
