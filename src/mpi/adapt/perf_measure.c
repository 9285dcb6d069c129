/* See perf_measure.h. */

#include "perf_measure.h"

#include <string.h>

#define SETTLED_ITERATIONS 3
#define COST_SHARE 200          /* measuring may take 1/COST_SHARE of the time */

void perf_measure_init(struct perf_measure *measure, uint32_t call_cost_ns)
{
    memset(measure, 0, offsetof(struct perf_measure, graph));
    perf_graph_init(&measure->graph);
    measure->every = 1;
    measure->call_cost_ns = call_cost_ns;
}

/* ---- iterations ---- */

/* The iteration of this head is complete, and so are those of inner loops, which the program has
 * left: their pending time is added to this one's. */
static void collect_inner(struct perf_measure *measure, uint16_t head)
{
    const struct perf_graph *graph = &measure->graph;
    uint64_t pending_ns = 0;

    for (uint16_t i = 0; i < graph->loops; i++) {
        struct perf_times *times = &measure->times[i];
        uint16_t inner = graph->loop_head[i];
        if ((times->start || times->pending_ns) && inner != head &&
            perf_graph_inside(graph, inner, head)) {
            pending_ns += times->pending_ns;
            times->pending_ns = times->start = 0;
        }
    }
    measure->times[graph->node[head].loop].pending_ns += pending_ns;
}

/* Adds the time of the calls in an iteration to the enclosing iteration. */
static void hand_up(struct perf_measure *measure, uint16_t head)
{
    const struct perf_graph *graph = &measure->graph;
    struct perf_times *times = &measure->times[graph->node[head].loop];
    uint16_t up = perf_graph_up(graph, head);

    if (up != PERF_NONE)
        measure->times[graph->node[up].loop].pending_ns += times->pending_ns;
    times->pending_ns = 0;
}

static void close_iteration(struct perf_measure *measure, uint16_t head, uint64_t now)
{
    struct perf_times *times = &measure->times[measure->graph.node[head].loop];

    collect_inner(measure, head);
    times->iterations++;
    times->loop_ns += perf_since(times->start, now);
    times->mpi_ns += times->pending_ns;
    hand_up(measure, head);
}

/* The present iteration cannot be closed. */
static void abandon(struct perf_measure *measure, uint16_t head)
{
    collect_inner(measure, head);
    hand_up(measure, head);
    measure->times[measure->graph.node[head].loop].start = 0;
}

void perf_measure_arrive(struct perf_measure *measure, const struct perf_step *step, uint64_t now)
{
    const struct perf_graph *graph = &measure->graph;
    const struct perf_node *node = &graph->node[step->node];

    if (step->label == PERF_LABEL_HEAD_REENTRY || step->label == PERF_LABEL_BODY_REENTRY) {
        uint16_t head = perf_graph_head(graph, step->node);
        if (step->event == PERF_EVENT_REENTRY)
            abandon(measure, head);
        for (; head != PERF_NONE && !perf_graph_inside(graph, step->from, head);
             head = perf_graph_up(graph, head))
            abandon(measure, head);
    }
    if (node->loop == PERF_NONE)
        return;
    struct perf_times *times = &measure->times[node->loop];
    if (times->start)
        close_iteration(measure, step->node, now);
    else
        abandon(measure, step->node);
    times->start = now;
}

/* ---- probes ---- */

static void stop(struct perf_measure *measure)
{
    for (uint16_t i = 0; i < measure->graph.loops; i++)
        measure->times[i].start = measure->times[i].pending_ns = 0;
    measure->measuring = false;
}

/* The smallest k with k * T >= COST_SHARE * m * c; T and m are means over the same iterations. */
static uint32_t choose_every(const struct perf_measure *measure, const struct perf_times *elastic)
{
    uint64_t cost_ns = measure->closed_calls * measure->call_cost_ns;
    uint64_t every =
        elastic->loop_ns ? (COST_SHARE * cost_ns + elastic->loop_ns - 1) / elastic->loop_ns : 1;

    return every < 1 ? 1 : every > PERF_EVERY_MAX ? PERF_EVERY_MAX : (uint32_t) every;
}

/* An iteration of the elastic loop has ended, measured or not: decides whether the next one is
 * measured. */
static bool decide(struct perf_measure *measure)
{
    if (measure->decided < SETTLED_ITERATIONS)
        return true;
    measure->every = choose_every(measure, &measure->times[perf_measure_elastic(measure)]);
    measure->left_out = measure->measuring ? 1 : measure->left_out + 1;
    return measure->left_out >= measure->every;
}

static struct perf_step visit_probe(struct perf_measure *measure, uint64_t entered)
{
    struct perf_step step =
        perf_graph_visit(&measure->graph, PERF_KEY_PROBE, PERF_KIND_PROBE);
    uint16_t loop = perf_measure_elastic(measure);

    if (loop != PERF_NONE) {
        uint64_t iterations = measure->times[loop].iterations;
        perf_measure_arrive(measure, &step, entered);
        if (measure->times[loop].iterations > iterations) {
            measure->closed_calls += measure->calls + 1;        /* the probe is also a call */
            measure->decided += measure->decided < SETTLED_ITERATIONS;
        }
    }
    if (measure->graph.structure != measure->structure)
        measure->decided = 0;
    measure->structure = measure->graph.structure;
    return step;
}

bool perf_measure_skip(struct perf_measure *measure)
{
    bool skip = !measure->measuring && measure->decided >= SETTLED_ITERATIONS &&
        measure->left_out + 1 < measure->every;

    measure->left_out += skip;
    return skip;
}

struct perf_step perf_measure_probe(struct perf_measure *measure, uint64_t entered, uint64_t now)
{
    struct perf_step step = {.node = PERF_NONE,.from = PERF_NONE };

    if (measure->measuring || measure->graph.nodes == 0)
        step = visit_probe(measure, entered);
    measure->calls = 0;

    bool measured = measure->measuring;
    if (decide(measure)) {
        if (!measured)
            perf_graph_resume(&measure->graph, 0);      /* the probe, which was the first site */
        measure->measuring = true;
        if (measure->graph.node[0].loop != PERF_NONE)
            measure->times[measure->graph.node[0].loop].start = now;
    } else if (measured) {
        stop(measure);
    }
    return step;
}

void perf_measure_suspend(struct perf_measure *measure)
{
    stop(measure);
    memset(measure->times, 0, sizeof(measure->times));
    measure->decided = measure->left_out = 0;
    measure->closed_calls = 0;
    measure->every = 1;
}

/* ---- results ---- */

uint16_t perf_measure_elastic(const struct perf_measure *measure)
{
    return measure->graph.nodes > 0 ? measure->graph.node[0].loop : PERF_NONE;
}
