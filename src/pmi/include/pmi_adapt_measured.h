/*
 * Measurements of a process on the board (pmi_adapt.h).  The process writes those of the loop that
 * probes to its slot, at each measured probe.  It writes all loops that it has found, with their
 * call sites, to its graph, at most once in an interval.  A program of phases (SPEC-epop M) also
 * reports its position in each iteration.  Process and proxy never wait for each other: seq is odd
 * while the process writes, and data that was read between two equal even values of seq is
 * consistent.  SPEC-performance B.
 *
 * As pmi_adapt.h: plain C11/C++20, compiled into libmpi, Hydra and the tests.
 */

#ifndef PMI_ADAPT_MEASURED_H_INCLUDED
#define PMI_ADAPT_MEASURED_H_INCLUDED

#include "pmi_adapt.h"

#include <stddef.h>

#define PMI_ADAPT_READ_ATTEMPTS 4

/* ---- the loop that probes ---- */

struct pmi_adapt_measured {
    uint64_t iterations, loop_ns, mpi_ns;       /* since the last commit; of these iterations */
    /* one in `every` iterations is measured; 0: none, nothing is known */
    uint32_t every;
};

/* Called only by the process of the slot. */
static inline void pmi_adapt_write_measured(struct pmi_adapt_slot *slot,
                                            const struct pmi_adapt_measured *measured)
{
    uint32_t seq = slot->perf_seq;

    __atomic_store_n(&slot->perf_seq, seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&slot->perf_iterations, measured->iterations, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->perf_loop_ns, measured->loop_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->perf_mpi_ns, measured->mpi_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->perf_every, measured->every, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->perf_seq, seq + 2, __ATOMIC_RELEASE);
}

/* 0: the process was writing at each attempt; then nothing is known. */
static inline int pmi_adapt_read_measured(const struct pmi_adapt_slot *slot,
                                          struct pmi_adapt_measured *measured)
{
    for (int i = 0; i < PMI_ADAPT_READ_ATTEMPTS; i++) {
        uint32_t seq = __atomic_load_n(&slot->perf_seq, __ATOMIC_ACQUIRE);
        measured->iterations = __atomic_load_n(&slot->perf_iterations, __ATOMIC_RELAXED);
        measured->loop_ns = __atomic_load_n(&slot->perf_loop_ns, __ATOMIC_RELAXED);
        measured->mpi_ns = __atomic_load_n(&slot->perf_mpi_ns, __ATOMIC_RELAXED);
        measured->every = __atomic_load_n(&slot->perf_every, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (seq % 2 == 0 && __atomic_load_n(&slot->perf_seq, __ATOMIC_RELAXED) == seq)
            return 1;
    }
    return 0;
}

/* ---- the graph ---- */

#define PMI_ADAPT_GRAPH_NODES 1024
#define PMI_ADAPT_GRAPH_LOOPS 64
#define PMI_ADAPT_GRAPH_NONE UINT32_MAX /* no node */
#define PMI_ADAPT_GRAPH_FULL 1u /* flag: the program has more call sites or loops than the graph */
#define PMI_ADAPT_INTERVAL_MS 1000      /* unless the step manager sets another one */
#define PMI_ADAPT_LOOP_NAME_MAX 40

/* A call site of MPI; links are indices of nodes, as in src/mpi/adapt/perf_graph.h. */
struct pmi_adapt_graph_node {
    uint64_t id;                /* the same in all processes of a job (adapt_site.h) */
    uint32_t kind;              /* enum perf_kind */
    uint32_t head;              /* head of the innermost loop that contains it */
    uint32_t tail, outer;
};

struct pmi_adapt_graph_loop {
    uint32_t head, pad;
    /* since the last commit, of measured iterations, with inner loops */
    uint64_t iterations, loop_ns, mpi_ns;
    char name[PMI_ADAPT_LOOP_NAME_MAX]; /* name of its head: "MODULE+0xOFFSET", ended by 0 */
};

struct pmi_adapt_graph_summary {
    uint64_t structure;         /* number of changes of the graph */
    uint64_t hash;              /* of the graph without its numbers */
    uint32_t epoch, nodes, loops, flags;
    uint32_t every;             /* one in `every` iterations of the loop that probes is measured */
    uint32_t pad;
    uint64_t steps;             /* number of the last step */
};

/* The position of a program of phases.  It has its own cache line. */
struct pmi_adapt_position {
    uint64_t phase;             /* id of the node of its loop; 0: in no phase */
    uint64_t iteration;         /* present iteration, from 0 at each entry of the phase */
    int64_t total;              /* total number of iterations; -1: not known */
    uint64_t element;           /* number of the phase in the program */
    char pad[PMI_ADAPT_LINE - 32];
};

/* The nodes are equal in all processes of a program, and are therefore apart from the numbers of
 * each process. */
struct pmi_adapt_graph {
    uint64_t seq;
    struct pmi_adapt_graph_summary summary;
    struct pmi_adapt_graph_node node[PMI_ADAPT_GRAPH_NODES];
    uint32_t reentries[PMI_ADAPT_GRAPH_NODES];  /* of each node; saturates */
    struct pmi_adapt_graph_loop loop[PMI_ADAPT_GRAPH_LOOPS];
    char pad[8];
    struct pmi_adapt_position position; /* not a part of the graph: written separately */
};

/* By the process of the graph alone.  In the same phase as before it needs one store. */
static inline void pmi_adapt_write_position(struct pmi_adapt_position *position, uint64_t phase,
                                            uint64_t iteration, int64_t total, uint32_t element)
{
    if (position->phase == phase && position->total == total) {
        __atomic_store_n(&position->iteration, iteration, __ATOMIC_RELAXED);
        return;
    }
    __atomic_store_n(&position->phase, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&position->iteration, iteration, __ATOMIC_RELAXED);
    __atomic_store_n(&position->total, total, __ATOMIC_RELAXED);
    __atomic_store_n(&position->element, element, __ATOMIC_RELAXED);
    __atomic_store_n(&position->phase, phase, __ATOMIC_RELEASE);
}

/* 0: the process is in no phase, or is entering one. */
static inline int pmi_adapt_read_position(const struct pmi_adapt_position *shared,
                                          struct pmi_adapt_position *position)
{
    position->phase = __atomic_load_n(&shared->phase, __ATOMIC_ACQUIRE);
    position->iteration = __atomic_load_n(&shared->iteration, __ATOMIC_RELAXED);
    position->total = __atomic_load_n(&shared->total, __ATOMIC_RELAXED);
    position->element = __atomic_load_n(&shared->element, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return position->phase != 0 &&
        __atomic_load_n(&shared->phase, __ATOMIC_RELAXED) == position->phase;
}

/* Copies memory that two processes share, word by word with atomic accesses. */
static inline void pmi_adapt_copy_words(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
        __atomic_store_n((uint64_t *) to + i,
                         __atomic_load_n((const uint64_t *) from + i, __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
}

/* Bytes of the reentries of `nodes` nodes, rounded up to whole words. */
static inline size_t pmi_adapt_reentries_bytes(uint32_t nodes)
{
    return (nodes + 1) / 2 * sizeof(uint64_t);
}

/* By the process of the graph alone. */
static inline void pmi_adapt_write_graph(struct pmi_adapt_graph *shared,
                                         const struct pmi_adapt_graph *graph)
{
    uint64_t seq = shared->seq;
    uint32_t nodes = graph->summary.nodes;

    __atomic_store_n(&shared->seq, seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    pmi_adapt_copy_words(&shared->summary, &graph->summary, sizeof(graph->summary));
    pmi_adapt_copy_words(shared->node, graph->node, nodes * sizeof(graph->node[0]));
    pmi_adapt_copy_words(shared->reentries, graph->reentries, pmi_adapt_reentries_bytes(nodes));
    pmi_adapt_copy_words(shared->loop, graph->loop, graph->summary.loops * sizeof(graph->loop[0]));
    __atomic_store_n(&shared->seq, seq + 2, __ATOMIC_RELEASE);
}

/* Whether the summaries state that the nodes are equal. */
static inline int pmi_adapt_has_nodes_of(const struct pmi_adapt_graph_summary *graph,
                                         const struct pmi_adapt_graph_summary *other)
{
    return graph->hash == other->hash && graph->nodes == other->nodes &&
        graph->loops == other->loops;
}

/* One attempt. 0: the process was writing, or its graph does not fit; then `graph` has no nodes.
 * Nodes that `graph` already has are not read again. */
static inline int pmi_adapt_try_read_graph(const struct pmi_adapt_graph *shared,
                                           struct pmi_adapt_graph *graph)
{
    struct pmi_adapt_graph_summary summary;
    uint64_t seq = __atomic_load_n(&shared->seq, __ATOMIC_ACQUIRE);

    pmi_adapt_copy_words(&summary, &shared->summary, sizeof(summary));
    int known = pmi_adapt_has_nodes_of(&summary, &graph->summary);
    int fits = summary.nodes <= PMI_ADAPT_GRAPH_NODES && summary.loops <= PMI_ADAPT_GRAPH_LOOPS;
    graph->summary.nodes = PMI_ADAPT_GRAPH_NONE;
    if (fits) {
        if (!known)
            pmi_adapt_copy_words(graph->node, shared->node, summary.nodes * sizeof(graph->node[0]));
        pmi_adapt_copy_words(graph->reentries, shared->reentries,
                             pmi_adapt_reentries_bytes(summary.nodes));
        pmi_adapt_copy_words(graph->loop, shared->loop, summary.loops * sizeof(graph->loop[0]));
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (!fits || seq % 2 != 0 || __atomic_load_n(&shared->seq, __ATOMIC_RELAXED) != seq)
        return 0;
    graph->seq = seq;
    graph->summary = summary;
    return 1;
}

/* Reads a graph after one of another process in `graph`. Keeps its nodes if they are equal, because
 * a proxy reads many equal graphs. 0: the process was writing at each attempt, or its graph does
 * not fit; then nothing is known. loop_graph_is_sound checks the contents of nodes and loops. */
static inline int pmi_adapt_read_next_graph(const struct pmi_adapt_graph *shared,
                                            struct pmi_adapt_graph *graph)
{
    for (int i = 0; i < PMI_ADAPT_READ_ATTEMPTS; i++) {
        if (pmi_adapt_try_read_graph(shared, graph))
            return 1;
    }
    return 0;
}

/* The same for the first graph. */
static inline int pmi_adapt_read_graph(const struct pmi_adapt_graph *shared,
                                       struct pmi_adapt_graph *graph)
{
    graph->summary.nodes = PMI_ADAPT_GRAPH_NONE;
    return pmi_adapt_read_next_graph(shared, graph);
}

#endif /* PMI_ADAPT_MEASURED_H_INCLUDED */
