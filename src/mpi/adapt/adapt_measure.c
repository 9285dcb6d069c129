/*
 * Measures the loops of an adaptive program: their time, and MPI's part of it.
 *
 * Sites are the addresses that MPI functions return to (adapt_site.c). perf_measure.c uses no other
 * data of the program; this file has the clock, the threads and the board.  The thread that probes
 * is measured, from its first probe on; nested calls (of callbacks, of ROMIO) are part of the
 * outermost one.  Data of the elastic loop, the one that probes, are in this process' slot of the
 * board, and in performance variables; the whole graph is written beside the slot once in an
 * interval.  SPEC-performance S, D13, D14, V4-V8, B.
 *
 * A program that reports its own position (SPEC-epop M) is measured by adapt_phases.c, and this
 * file only reports calls and probes to it.
 *
 * MPIR_Measure_on is the only word that the calls of rigid programs test.  The rest is owned by the
 * measured thread.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "adapt.h"
#include "adapt_clock.h"
#include "adapt_measure.h"
#include "adapt_phases.h"
#include "adapt_export.h"
#include "adapt_site.h"
#include "mpir_measure.h"
#include "perf_measure.h"
#include "perf_pack.h"

#include <pthread.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_ADAPT_MEASURE
      category    : ADAPT
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        If true, an adaptive program is measured while it runs: how long the loop that probes takes,
        and which part of that time is spent in MPI. If false, nothing is measured. It is read in
        the first probe.

    - name        : MPIR_CVAR_ADAPT_GRAPH_LOG
      category    : ADAPT
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Name of a file. Each process writes every measured step, and at the end its call sites of
        MPI and the loops that it has detected, to a file of this name with a dot and its number in
        the job appended. It is read in the first probe.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define CALIBRATION_ROUNDS 16
#define STEP_COST_NS 40         /* of the graph, two branches and two calls */
#define PROBE_IDENTITY 1

int MPIR_Measure_on;

static struct {
    bool tried;                 /* the start was tried: it is not repeated */
    struct perf_measure *state; /* NULL: measures nothing */
    pthread_t thread;
    int depth;                  /* nesting of MPI calls */
    const char *outermost;      /* stack frame of the present outermost call */
    bool unwinding_costs;       /* unwinding is part of the cost of a call */
    bool site_given;            /* the program has set the site of the next call */
    int given_site;
    uint16_t named;             /* number of loops with a name in the graph */
    FILE *log;
    uint64_t log_start;
} measure;

/* ---- sites ---- */

static uint32_t least_cost(void (*action) (void))
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < CALIBRATION_ROUNDS; i++) {
        uint64_t start = MPIR_Measure_now_ns();
        action();
        least = MPL_MIN(least, MPIR_Measure_now_ns() - start);
    }
    return least > 100000 ? 100000 : (uint32_t) least;
}

static void read_clock(void)
{
    (void) MPIR_Measure_now_ns();
}

uint32_t MPIR_Measure_call_cost_ns(void)
{
    return 2 * least_cost(read_clock) + STEP_COST_NS;
}

static void unwind(void)
{
    (void) MPIR_Site_unwind(0);
}

/* Fortran bindings call C bindings: the site is then in the caller of the Fortran binding. */
static uint64_t find_site(uintptr_t address)
{
    if (measure.site_given) {
        measure.site_given = false;
        return MPIR_SITE_GIVEN | (uint32_t) measure.given_site;
    }
    if (!MPIR_Site_is_fortran(address))
        return address;
    if (!measure.unwinding_costs) {
        measure.unwinding_costs = true;
        measure.state->call_cost_ns += least_cost(unwind);
    }
    return MPIR_Site_unwind(address);
}

static uint64_t identify(uint64_t key)
{
    if (key == PERF_KEY_PROBE)
        return PROBE_IDENTITY;
    return key & MPIR_SITE_GIVEN ? key : MPIR_Site_identity((uintptr_t) key);
}

/* ---- the log ---- */

static void open_log(void)
{
    const char *name = MPIR_CVAR_ADAPT_GRAPH_LOG;
    char path[PATH_MAX];

    if (!name || !*name)
        return;
    snprintf(path, sizeof(path), "%s.%u", name, MPIR_Board.uid);
    measure.log = fopen(path, "we");
    if (!measure.log)
        MPL_internal_error_printf("MPIR_CVAR_ADAPT_GRAPH_LOG: cannot write %s: %s\n", path,
                                  strerror(errno));
    measure.log_start = MPIR_Measure_now_ns();
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

    fprintf(measure.log, "%d: %s", index, KINDS[node->kind]);
    if (node->key & MPIR_SITE_GIVEN) {
        fprintf(measure.log, " %d\n", (int) (uint32_t) node->key);
    } else if (node->kind != PERF_KIND_PROBE) {
        fprintf(measure.log, " ");
        MPIR_Site_print((uintptr_t) node->key, measure.log);
        fprintf(measure.log, "\n");
    } else {
        fprintf(measure.log, "\n");
    }
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
    fprintf(measure.log,
            "Loops (index of head: measured iterations, nanoseconds, of these in MPI):\n");
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

/* A call in a callback of another call is deeper on the stack.  If it is not, longjmp has left that
 * other call, for example from an error handler. */
static bool is_nested(const char *frame)
{
    if (measure.depth > 0 && frame < measure.outermost) {
        measure.depth++;
        return true;
    }
    measure.outermost = frame;
    measure.depth = 1;
    return false;
}

/* A new node gets its identity, once. */
static void name_node(const struct perf_step *step)
{
    if (step->event == PERF_EVENT_NONE || step->node == PERF_NONE)
        return;
    struct perf_node *node = &measure.state->graph.node[step->node];
    if (node->id == 0)
        node->id = identify(node->key);
}

void MPIR_Measure_set_site(int id)
{
    if (!MPIR_Measure_on || !is_observed() || MPIR_Phases.active)
        return;
    measure.site_given = true;
    measure.given_site = id;
}

void MPIR_Measure_enter(enum MPIR_Measure_kind kind, const void *site)
{
    uintptr_t address = (uintptr_t) site;
    uint64_t key = address;

    if (!is_observed() || is_nested((const char *) __builtin_frame_address(0)))
        return;
    if (MPIR_Phases.active) {
        MPIR_Phases_enter();
        return;
    }
    bool is_known = !measure.site_given && perf_graph_expected(&measure.state->graph, address);
    if (kind == MPIR_MEASURE_ASIDE || (!is_known && MPIR_Site_is_own(address))) {
        measure.site_given = false;
        perf_measure_enter_aside(measure.state, MPIR_Measure_now_ns());
        return;
    }
    if (!is_known)
        key = find_site(address);
    uint64_t now = MPIR_Measure_now_ns();
    struct perf_step step = perf_measure_enter(measure.state, key, (enum perf_kind) kind, now);
    log_step(&step, now);
    name_node(&step);
}

void MPIR_Measure_leave(void)
{
    if (!is_observed() || measure.depth == 0 || --measure.depth > 0)
        return;                 /* 0: a probe in a callback has restarted the measurement */
    if (MPIR_Phases.active)
        MPIR_Phases_leave();
    else if (measure.state->measuring)
        perf_measure_leave(measure.state, MPIR_Measure_now_ns());
}

void MPIR_Measure_observe(bool on)
{
    measure.thread = pthread_self();
    measure.depth = 0;
    MPIR_Measure_on = on;
}

/* ---- probes ---- */

/* At the first probe. */
static void start(void)
{
    measure.tried = true;
    if (!MPIR_CVAR_ADAPT_MEASURE)
        return;
    measure.state = MPL_aligned_alloc(PERF_ALIGNMENT, sizeof(*measure.state), MPL_MEM_OTHER);
    if (!measure.state)
        return;                 /* the program continues without measurement */
    MPIR_Measure_clock_init();
    MPIR_Export_open();
    MPIR_Site_init();
    perf_measure_init(measure.state, MPIR_Measure_call_cost_ns());
    open_log();
}

/* Data of the elastic loop. */
static void publish_elastic(void)
{
    const struct perf_measure *state = measure.state;
    uint16_t loop = perf_measure_elastic(state);
    const struct perf_times none = { 0 }, *times = loop != PERF_NONE ? &state->times[loop] : &none;

    MPIR_Export_elastic(times, state->every, state->graph.nodes, state->graph.loops);
}

static void name_loop(uint16_t loop, char *name)
{
    const struct perf_node *head = &measure.state->graph.node[measure.state->graph.loop_head[loop]];

    memset(name, 0, PMI_ADAPT_LOOP_NAME_MAX);
    if (head->key == PERF_KEY_PROBE)
        snprintf(name, PMI_ADAPT_LOOP_NAME_MAX, "MPI_Probe_adapt");
    else if (head->key & MPIR_SITE_GIVEN)
        snprintf(name, PMI_ADAPT_LOOP_NAME_MAX, "site %d", (int) (uint32_t) head->key);
    else
        MPIR_Site_name((uintptr_t) head->key, name, PMI_ADAPT_LOOP_NAME_MAX);
}

static void publish_graph(uint64_t now)
{
    struct pmi_adapt_graph *packed = MPIR_Export_packed();

    for (; measure.named < measure.state->graph.loops; measure.named++)
        name_loop(measure.named, packed->loop[measure.named].name);
    perf_pack(measure.state, packed);
    MPIR_Export_write(now);
}

uint64_t MPIR_Measure_probe_entered(void)
{
    return MPIR_Measure_on ? MPIR_Measure_now_ns() : 0;
}

/* Restarts the times for another world; the loops stay. */
static void suspend(void)
{
    perf_measure_suspend(measure.state);
    MPIR_Measure_on = 0;
    measure.site_given = false;
    MPIR_Export_hurry();
    publish_elastic();
}

void MPIR_Measure_probe_false(uint64_t entered)
{
    if (MPIR_Phases.active) {
        MPIR_Phases_probe_false(entered);
        return;
    }
    if (!measure.tried)
        start();
    if (!measure.state || perf_measure_skip(measure.state))
        return;
    uint32_t interval_ms = __atomic_load_n(&MPIR_Board.control->perf_interval_ms, __ATOMIC_RELAXED);
    if (interval_ms == 0) {
        if (measure.state->measuring)
            suspend();
        return;
    }
    measure.site_given = false;
    uint64_t now = MPIR_Measure_now_ns();
    struct perf_step step = perf_measure_probe(measure.state, entered ? entered : now, now);
    log_step(&step, now);
    name_node(&step);
    MPIR_Measure_observe(measure.state->measuring);
    publish_elastic();
    if (MPIR_Export_is_due(measure.state->graph.structure, now, interval_ms))
        publish_graph(now);
}

void MPIR_Measure_probe_true(void)
{
    if (MPIR_Phases.active)
        MPIR_Phases_suspend();
    else if (measure.state)
        suspend();
}

void MPIR_Measure_finalize(void)
{
    MPIR_Measure_on = 0;
    MPIR_Phases_finalize();
    if (!measure.state)
        return;
    if (measure.log) {
        log_graph();
        fclose(measure.log);
    }
    MPL_free(measure.state);
    MPIR_Export_close();
    measure.state = NULL;
}
