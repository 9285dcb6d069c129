/*
 * Measures the phases of a program that reports its own position (mpi_epop.h), instead of the loops
 * that adapt_measure.c would find.  perf_phases.c has the sums; this file has the clock and the
 * board.  In each iteration the position is written to the board, into a cache line of this process
 * only.  SPEC-epop M1 to M4, L1.
 *
 * State: owned by the thread that marks iterations, which is also the one that probes.
 */

#include "adapt.h"
#include "adapt_clock.h"
#include "adapt_measure.h"
#include "adapt_phases.h"
#include "adapt_export.h"
#include "mpi_epop.h"
#include "mpir_measure.h"
#include "perf_phases.h"

struct MPIR_Phases_s MPIR_Phases;

static struct {
    struct perf_phases *phases; /* NULL: the program has registered none */
    bool tried;                 /* the start was tried: it is not repeated */
    bool measures;
    bool introduced;            /* the phases are on the board, by name, for this world */
    bool skip_first;            /* iteration of a joining process: others have not measured it */
    struct pmi_adapt_position *position;        /* on the board; NULL: there is none */
} state;

static bool is_initialized(void)
{
    return MPL_atomic_load_int(&MPIR_Process.mpich_state) != MPICH_MPI_STATE__UNINITIALIZED;
}

/* ---- declarations before initialisation ---- */

int MPI_T_enable_EPOP_mode(void)
{
    if (is_initialized())
        return MPI_T_ERR_INVALID;
    MPIR_Phases.active = true;
    return MPI_SUCCESS;
}

static bool is_loop(const MPIX_T_EPOP_loop * loop)
{
    return loop->id != 0 && loop->name &&
        loop->kind >= MPIX_T_EPOP_ELASTIC && loop->kind <= MPIX_T_EPOP_ONCE;
}

/* A character that is not printable becomes a question mark. */
static void copy_name(char *to, const char *name)
{
    size_t i = 0;

    for (; i < PMI_ADAPT_LOOP_NAME_MAX - 1 && name[i]; i++)
        to[i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
    memset(to + i, 0, PMI_ADAPT_LOOP_NAME_MAX - i);
}

int MPIX_T_EPOP_loops(int count, const MPIX_T_EPOP_loop * loops)
{
    if (!MPIR_Phases.active || state.phases || count < 0 || count > MPIX_T_EPOP_LOOPS_MAX ||
        (count > 0 && !loops))
        return MPI_T_ERR_INVALID;
    for (int i = 0; i < count; i++) {
        if (!is_loop(&loops[i]))
            return MPI_T_ERR_INVALID;
        for (int j = 0; j < i; j++) {
            if (loops[j].id == loops[i].id)
                return MPI_T_ERR_INVALID;
        }
    }
    struct perf_phases *phases = MPL_calloc(1, sizeof(*phases), MPL_MEM_OTHER);
    if (!phases)
        return MPI_T_ERR_MEMORY;
    phases->count = count;
    for (int i = 0; i < count; i++) {
        phases->phase[i].id = loops[i].id;
        phases->phase[i].element = loops[i].element;
        phases->phase[i].elastic = loops[i].kind == MPIX_T_EPOP_ELASTIC;
        phases->phase[i].once = loops[i].kind == MPIX_T_EPOP_ONCE;
        copy_name(phases->phase[i].name, loops[i].name);
    }
    perf_phases_init(phases, 0);
    state.phases = phases;
    return MPI_SUCCESS;
}

/* ---- iterations ---- */

/* At the first mark after the initialisation. */
static void start(void)
{
    state.tried = true;
    if (!MPIR_Board.control)
        return;                 /* rigid, or without process manager: no reader */
    MPIR_Export_open();
    state.position = MPIR_Export_position();
    state.skip_first = MPIR_Board.join_epoch > 0;
    state.measures = MPIR_CVAR_ADAPT_MEASURE;
    if (state.measures)
        state.phases->call_cost_ns = MPIR_Measure_call_cost_ns();
}

static void publish(uint64_t now, uint32_t interval_ms)
{
    const struct perf_phases *phases = state.phases;
    struct perf_times elastic = perf_phases_elastic(phases);
    const struct perf_phase *current =
        phases->current == PERF_NO_PHASE ? NULL : &phases->phase[phases->current];

    MPIR_Export_elastic(&elastic, current ? current->every : 1, (unsigned) phases->count,
                        (unsigned) phases->count);
    if (MPIR_Export_is_due((uint64_t) phases->count, now, interval_ms)) {
        perf_phases_pack(phases, MPIR_Export_packed());
        MPIR_Export_write(now);
    }
}

/* Called before anything is measured in this world, so that a reader of the position knows the
 * phase and whether it is rigid.  The first results are still written at once. */
static void introduce(uint64_t now, uint32_t interval_ms)
{
    publish(now, interval_ms);
    MPIR_Export_hurry();
    state.introduced = true;
}

void MPIR_Phases_suspend(void)
{
    if (!state.measures)
        return;
    perf_phases_suspend(state.phases);
    MPIR_Measure_on = 0;
    MPIR_Export_hurry();
    state.introduced = false;
    struct perf_times elastic = perf_phases_elastic(state.phases);
    MPIR_Export_elastic(&elastic, 1, (unsigned) state.phases->count,
                        (unsigned) state.phases->count);
}

static void measure(int loop)
{
    uint32_t interval_ms = __atomic_load_n(&MPIR_Board.control->perf_interval_ms, __ATOMIC_RELAXED);

    if (interval_ms == 0) {
        if (state.phases->measuring)
            MPIR_Phases_suspend();
        return;
    }
    bool first = state.skip_first && loop != PERF_NO_PHASE;
    uint64_t now = MPIR_Measure_now_ns();
    bool closed = perf_phases_mark(state.phases, loop, !first, now);
    state.skip_first &= !first;
    MPIR_Measure_observe(state.phases->measuring);
    if (!state.introduced)
        introduce(now, interval_ms);
    else if (closed)
        publish(now, interval_ms);
}

static void export_position(int loop, int64_t iteration, int64_t total)
{
    const struct perf_phase *phase = loop == PERF_NO_PHASE ? NULL : &state.phases->phase[loop];

    if (phase)
        pmi_adapt_write_position(state.position, phase->id, (uint64_t) iteration, total,
                                 phase->element);
    else
        pmi_adapt_write_position(state.position, 0, 0, -1, 0);
}

int MPIX_T_EPOP_iteration(int loop, int64_t iteration, int64_t total)
{
    if (unlikely(!state.phases || loop < PERF_NO_PHASE || loop >= state.phases->count))
        return MPI_T_ERR_INVALID;
    if (unlikely(!state.tried)) {
        if (!is_initialized())
            return MPI_SUCCESS;
        start();
    }
    if (state.position)
        export_position(loop, iteration, total);
    if (state.measures && !perf_phases_skip(state.phases, loop))
        measure(loop);
    return MPI_SUCCESS;
}

/* ---- calls and probes ---- */

void MPIR_Phases_enter(void)
{
    perf_phases_enter(state.phases, MPIR_Measure_now_ns());
}

void MPIR_Phases_leave(void)
{
    if (state.phases->measuring)
        perf_phases_leave(state.phases, MPIR_Measure_now_ns());
}

void MPIR_Phases_probe_false(uint64_t entered)
{
    if (entered && state.measures && state.phases->measuring)
        perf_phases_leave_out(state.phases, entered, MPIR_Measure_now_ns());
}

void MPIR_Phases_finalize(void)
{
    if (state.position)
        export_position(PERF_NO_PHASE, 0, -1);
    state.position = NULL;
    MPL_free(state.phases);
    state.phases = NULL;
    if (state.tried)
        MPIR_Export_close();
    state.measures = false;
}
