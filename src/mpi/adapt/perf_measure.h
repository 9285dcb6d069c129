/*
 * Times in the loops of a program, and MPI's share of them: durations of iterations, and of the
 * calls in them.
 *
 * An iteration lies between two visits of a loop's head of which the second comes from inside the
 * loop; an arrival from outside only starts one.  loop_ns is the sum over closed iterations, and
 * mpi_ns what calls took in these same iterations; both include the loops inside.  (Without them,
 * the sum of mpi_ns over a loop and its inner loops would exceed the measured value of the loop:
 * inner loops are detected earlier, and close iterations within outer ones that never close.)
 *
 * Sampling: the loop that contains MPI_Probe_adapt, the elastic loop, has the probe as its head.
 * Each probe decides whether the next iteration is measured: while loops are being detected, and
 * until 3 iterations are closed after the last change, all are measured; then one in `every`, so
 * that measuring costs at most 1/200 of the time.  SPEC-performance V1-V7.
 *
 * Like the graph one flat object, pure: times come from the caller, in nanoseconds of one clock,
 * never 0.
 */

#ifndef PERF_MEASURE_H_INCLUDED
#define PERF_MEASURE_H_INCLUDED

#include "perf_graph.h"

#define PERF_EVERY_MAX 1000
#define PERF_KEY_PROBE 1        /* all calls of MPI_Probe_adapt are one site, which is no address */

struct perf_times {
    uint64_t iterations, loop_ns, mpi_ns;       /* of closed iterations */
    uint64_t start;             /* of the iteration under way; 0: none that could be closed */
    /* time in calls since then, without the open iterations of inner loops */
    uint64_t pending_ns;
};

struct perf_measure {
    bool measuring;             /* the present iteration is measured */
    uint32_t every;             /* one iteration in this many is measured */
    uint32_t left_out;          /* 1 + iterations since the last measured one */
    uint32_t decided;           /* iterations closed since the last change of the structure */
    uint32_t structure;         /* of the graph, at the last measured probe */
    uint32_t call_cost_ns;      /* time that measuring a call takes */
    /* in the present iteration of the elastic loop, in the closed ones */
    uint64_t calls, closed_calls;
    uint64_t entered;           /* when the present call began */
    struct perf_times times[PERF_LOOPS_MAX];    /* by number of the loop */
    struct perf_graph graph;
};

/* 0 if the clock ran backwards: it may differ by nanoseconds between two processors. */
static inline uint64_t perf_since(uint64_t then, uint64_t now)
{
    return now > then ? now - then : 0;
}

void perf_measure_init(struct perf_measure *measure, uint32_t call_cost_ns);

/* A step has reached a node of a loop at this time. */
void perf_measure_arrive(struct perf_measure *measure, const struct perf_step *step, uint64_t now);

/* Called around each MPI call while `measuring`; the second is for calls that are no steps of the
 * program but take time. */
static inline struct perf_step perf_measure_enter(struct perf_measure *measure, uint64_t key,
                                                  enum perf_kind kind, uint64_t now)
{
    struct perf_step step = perf_graph_visit(&measure->graph, key, kind);

    measure->entered = now;
    measure->calls++;
    if (step.label != PERF_LABEL_OUTSIDE &&
        (step.label != PERF_LABEL_INSIDE || measure->graph.node[step.node].loop != PERF_NONE))
        perf_measure_arrive(measure, &step, now);
    return step;
}

static inline void perf_measure_enter_aside(struct perf_measure *measure, uint64_t now)
{
    measure->entered = now;
    measure->calls++;
}

static inline void perf_measure_leave(struct perf_measure *measure, uint64_t now)
{
    const struct perf_graph *graph = &measure->graph;
    uint16_t head = perf_graph_head(graph, graph->current);

    if (head != PERF_NONE)
        measure->times[graph->node[head].loop].pending_ns += perf_since(measure->entered, now);
}

/* A probe returns FALSE.  The time between `entered` and `now` does not count.  Afterwards
 * `measuring` reports whether the next iteration is measured. */
struct perf_step perf_measure_probe(struct perf_measure *measure, uint64_t entered, uint64_t now);

/* Whether the probe that has just returned FALSE need not be reported; then the clock is not
 * read. */
bool perf_measure_skip(struct perf_measure *measure);

/* A probe returns TRUE: measures nothing until the next FALSE, and discards the measurements, but
 * not the loops. */
void perf_measure_suspend(struct perf_measure *measure);

/* Number of the elastic loop, or PERF_NONE. */
uint16_t perf_measure_elastic(const struct perf_measure *measure);

#endif /* PERF_MEASURE_H_INCLUDED */
