/*
 * The durations of loops in a program that reports its own position (mpi_epop.h), and MPI's part of
 * them.
 *
 * Loops are known beforehand and are not nested, and a call belongs to the iteration that it is
 * made in.  An iteration lasts from its mark to the next mark, of any loop.  An iteration in which
 * the world changes is not measured, nor is a phase that runs once.  Each loop is sampled as the
 * elastic loop of perf_measure.h: all its iterations until 3 are closed, then one in `every`, so
 * that measuring costs at most 1/200 of its time.  SPEC-epop M2 to M4, SPEC-performance V2 to V7.
 *
 * Like perf_measure.h one flat object, pure: times come from the caller, in nanoseconds of one
 * clock, never 0.
 */

#ifndef PERF_PHASES_H_INCLUDED
#define PERF_PHASES_H_INCLUDED

#include "perf_measure.h"
#include "pmi_adapt_measured.h"

#define PERF_NO_PHASE (-1)

struct perf_phase {
    uint64_t id;
    uint32_t element;
    bool elastic;
    bool once;                  /* not a loop: never measured */
    char name[PMI_ADAPT_LOOP_NAME_MAX];
    uint32_t every;             /* one iteration in this many is measured */
    uint32_t left_out;          /* 1 + iterations since the last measured one */
    uint32_t decided;           /* iterations closed, as far as they matter */
    uint64_t calls;             /* in the closed iterations */
    struct perf_times times;    /* of these; neither start nor pending_ns is used */
};

struct perf_phases {
    bool measuring;             /* the present iteration is measured */
    int current;                /* phase of the present iteration, or PERF_NO_PHASE */
    int count;
    uint32_t call_cost_ns;      /* time that measuring a call takes */
    uint64_t start, entered;    /* of the present iteration, of the present call */
    uint64_t mpi_ns, calls;     /* in the present iteration */
    struct perf_phase phase[PERF_LOOPS_MAX];
};

/* The caller has set `count` and, for each phase, id, element, elastic, once and name. */
void perf_phases_init(struct perf_phases *phases, uint32_t call_cost_ns);

/* At time `now` an iteration of `phase` begins; PERF_NO_PHASE: none begins.  `measure` false: it is
 * not to be measured.  Returns whether an iteration has been closed. */
bool perf_phases_mark(struct perf_phases *phases, int phase, bool measure, uint64_t now);

/* Whether the next mark of this phase changes only the count of omitted iterations; then the clock
 * is not read. */
static inline bool perf_phases_skip(struct perf_phases *phases, int next)
{
    if (phases->measuring || next == PERF_NO_PHASE)
        return false;
    struct perf_phase *phase = &phases->phase[next];
    if (phase->left_out + 1 >= phase->every)
        return false;
    phase->left_out++;
    phases->current = next;
    return true;
}

/* Around each MPI call while `measuring`. */
void perf_phases_enter(struct perf_phases *phases, uint64_t now);
void perf_phases_leave(struct perf_phases *phases, uint64_t now);

/* The time between `entered` and `now`, a probe, does not count. */
void perf_phases_leave_out(struct perf_phases *phases, uint64_t entered, uint64_t now);

/* The world has changed: drops all measurements. */
void perf_phases_suspend(struct perf_phases *phases);

/* Sums over all elastic phases. */
struct perf_times perf_phases_elastic(const struct perf_phases *phases);

/* As perf_pack: a node and a loop for each phase, named. */
void perf_phases_pack(const struct perf_phases *phases, struct pmi_adapt_graph *packed);

#endif /* PERF_PHASES_H_INCLUDED */
