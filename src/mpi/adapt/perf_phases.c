/* See perf_phases.h. */

#include "perf_phases.h"

#include <string.h>

#define SETTLED_ITERATIONS 3
#define COST_SHARE 200          /* measuring may take 1/COST_SHARE of the time */

static void phase_reset(struct perf_phase *phase)
{
    memset(&phase->times, 0, sizeof(phase->times));
    phase->decided = phase->left_out = 0;
    phase->calls = 0;
    phase->every = 1;
}

void perf_phases_suspend(struct perf_phases *phases)
{
    phases->measuring = false;
    phases->current = PERF_NO_PHASE;
    for (int i = 0; i < phases->count; i++)
        phase_reset(&phases->phase[i]);
}

void perf_phases_init(struct perf_phases *phases, uint32_t call_cost_ns)
{
    phases->call_cost_ns = call_cost_ns;
    phases->start = phases->entered = phases->mpi_ns = phases->calls = 0;
    perf_phases_suspend(phases);
}

/* The smallest k with k * T >= COST_SHARE * m * c; T and m are means over the same iterations. */
static uint32_t choose_every(const struct perf_phases *phases, const struct perf_phase *phase)
{
    uint64_t cost_ns = phase->calls * phases->call_cost_ns, loop_ns = phase->times.loop_ns;
    uint64_t every = loop_ns ? (COST_SHARE * cost_ns + loop_ns - 1) / loop_ns : 1;

    return every < 1 ? 1 : every > PERF_EVERY_MAX ? PERF_EVERY_MAX : (uint32_t) every;
}

/* The mark itself is a call, too. */
static void close_iteration(struct perf_phases *phases, uint64_t now)
{
    struct perf_phase *phase = &phases->phase[phases->current];

    phase->times.iterations++;
    phase->times.loop_ns += perf_since(phases->start, now);
    phase->times.mpi_ns += phases->mpi_ns;
    phase->calls += phases->calls + 1;
    if (phase->decided < SETTLED_ITERATIONS)
        phase->decided++;
    if (phase->decided == SETTLED_ITERATIONS)
        phase->every = choose_every(phases, phase);
    phase->left_out = 0;
}

bool perf_phases_mark(struct perf_phases *phases, int next, bool measure, uint64_t now)
{
    bool closed = phases->measuring;

    if (closed)
        close_iteration(phases, now);
    phases->current = next;
    phases->measuring = false;
    if (next == PERF_NO_PHASE)
        return closed;
    struct perf_phase *phase = &phases->phase[next];
    phases->measuring = measure && !phase->once && ++phase->left_out >= phase->every;
    if (phases->measuring) {
        phases->start = now;
        phases->mpi_ns = phases->calls = 0;
    }
    return closed;
}

void perf_phases_enter(struct perf_phases *phases, uint64_t now)
{
    phases->entered = now;
    phases->calls++;
}

void perf_phases_leave(struct perf_phases *phases, uint64_t now)
{
    phases->mpi_ns += perf_since(phases->entered, now);
}

void perf_phases_leave_out(struct perf_phases *phases, uint64_t entered, uint64_t now)
{
    phases->start += perf_since(entered, now);
}

struct perf_times perf_phases_elastic(const struct perf_phases *phases)
{
    struct perf_times sum = { 0 };

    for (int i = 0; i < phases->count; i++) {
        const struct perf_times *times = &phases->phase[i].times;
        if (phases->phase[i].elastic) {
            sum.iterations += times->iterations;
            sum.loop_ns += times->loop_ns;
            sum.mpi_ns += times->mpi_ns;
        }
    }
    return sum;
}

/* Equal for equal phases. */
static uint64_t hash_structure(const struct perf_phases *phases)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (int i = 0; i < phases->count; i++) {
        hash = (hash ^ phases->phase[i].id) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ hash >> 29) + phases->phase[i].elastic;
    }
    return hash;
}

void perf_phases_pack(const struct perf_phases *phases, struct pmi_adapt_graph *packed)
{
    uint32_t count = (uint32_t) phases->count, every = 1;

    for (uint32_t i = 0; i < count; i++) {
        const struct perf_phase *phase = &phases->phase[i];
        struct pmi_adapt_graph_loop *loop = &packed->loop[i];
        packed->node[i] = (struct pmi_adapt_graph_node) {
            .id = phase->id,.kind = phase->elastic ? PERF_KIND_ELASTIC_PHASE
                : PERF_KIND_RIGID_PHASE,
            .head = PMI_ADAPT_GRAPH_NONE,.tail = i,.outer = PMI_ADAPT_GRAPH_NONE
        };
        packed->reentries[i] = 0;
        *loop = (struct pmi_adapt_graph_loop) {
            .head = i,.iterations = phase->times.iterations,.loop_ns = phase->times.loop_ns,
            .mpi_ns = phase->times.mpi_ns
        };
        memcpy(loop->name, phase->name, sizeof(loop->name));
        every = phase->elastic && phase->every > every ? phase->every : every;
    }
    packed->summary = (struct pmi_adapt_graph_summary) {
        .structure = count,.hash = hash_structure(phases),.nodes = count,.loops = count,
            .every = every
    };
}
