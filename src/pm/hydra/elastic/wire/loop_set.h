/*
 * The loops of several processes, distinguished by their content and their nesting: made by the
 * proxy from the graphs on its board, and by mpiexec from the data of the proxies.  Pure C, used by
 * both.  Performance clauses N, B6.
 *
 * Of each graph (pmi_adapt_measured.h) only loops count.  In a loop, each run of point-to-point and
 * one-sided calls is one item without identity, because every process has its own of these; kind
 * and identity distinguish the others. The items are cyclic: the sequence is rotated so that the
 * smallest comes first.  Loops with the same items, in the same loops, and of the same number among
 * such siblings are one loop of all these processes.  The probing loop is one whatever else it
 * contains: all processes repeat it equally often.
 *
 * Merging is associative and commutative, and an empty set changes nothing, unless a set is full:
 * then loops are dropped, and counted.
 */

#ifndef WIRE_LOOP_SET_H_INCLUDED
#define WIRE_LOOP_SET_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

#include "pmi_adapt_measured.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LOOP_SET_MAX 1024       /* loops */
#define LOOP_ITEMS_MAX PMI_ADAPT_GRAPH_NODES
/* of one process, nanoseconds: 104 days, more is nonsense */
#define LOOP_TIME_MAX (UINT64_C(1) << 53)
#define LOOP_PPM 1000000u
#define LOOP_NO_RATIO UINT32_MAX

/* As src/mpi/adapt/perf_graph.h numbers them. */
enum loop_kind {
    LOOP_P2P, LOOP_RMA, LOOP_COLLECTIVE, LOOP_IO, LOOP_MANAGE, LOOP_PROBE, LOOP_ELASTIC_PHASE,
    LOOP_RIGID_PHASE, LOOP_KINDS
};

struct loop_item {
    uint64_t id;                /* 0 of LOOP_P2P, a run of calls */
    uint32_t kind;              /* enum loop_kind, never LOOP_RMA */
    uint32_t reentries;         /* from elsewhere, sum, as far as it fits */
};

struct loop_ranks {
    uint32_t first, last;
};

struct loop {
    uint64_t key, parent;       /* the same wherever it was made; 0: in no other loop */
    uint64_t iterations, loop_ns, mpi_ns;       /* sums over the processes */
    uint32_t ordinal;           /* among equal siblings */
    /* of the processes' mpi_ns / loop_ns, ppm; LOOP_NO_RATIO, 0: none is known */
    uint32_t ratio_min, ratio_max;
    uint32_t items, ranges;
    char name[PMI_ADAPT_LOOP_NAME_MAX]; /* of one of the processes, the smallest of all */
    struct loop_item *item;
    struct loop_ranks *range;   /* which processes, rising, not touching each other */
};

struct loop_set {
    struct loop *loop;          /* rising */
    uint32_t loops, capacity;
    uint32_t dropped;              /* without space, or without memory */
};

/* Whether a graph is consistent: each link leads to a node, that of a loop to a head, and links are
 * acyclic. */
int loop_graph_is_sound(const struct pmi_adapt_graph *graph);

void loop_set_init(struct loop_set *set);
void loop_set_free(struct loop_set *set);
/* Adds those of `from`, which stays as it is. */
void loop_set_merge(struct loop_set *set, const struct loop_set *from);
/* A loop that some processes have alone, of `processes`, may differ only by messages: it is taken
 * for one that is the same but for them.  For the reader, at the end: the result is not merged any
 * more. */
void loop_set_join_alone(struct loop_set *set, uint32_t processes);
/* How many processes. */
uint32_t loop_processes(const struct loop *loop);
/* The processes are numbered anew: `map` gives the number of each, or -1, which is left out, as all
 * from `limit` on. */
void loop_set_renumber(struct loop_set *set, uint32_t limit,
                       int64_t(*map) (void *context, uint32_t rank), void *context);

/* Graphs are added one by one.  A graph that is like the one before costs a comparison and sums. */
struct loop_reduction;
struct loop_reduction *loop_reduction_create(void);     /* NULL: no memory */
void loop_reduction_destroy(struct loop_reduction *reduction);
/* The graph of process `rank`.  0, and nothing is added, if it is not sound. */
int loop_reduction_add(struct loop_reduction *reduction, const struct pmi_adapt_graph *graph,
                       uint32_t rank);
/* The sum; owned by the reduction. */
const struct loop_set *loop_reduction_result(struct loop_reduction *reduction);

/* As bytes, between proxy and mpiexec. */
size_t loop_set_bytes(const struct loop_set *set);
void loop_set_write(const struct loop_set *set, void *bytes);
/* Into an empty set.  0, and the set is empty, if the bytes are no set. */
int loop_set_read(struct loop_set *set, const void *bytes, size_t n);

#ifdef __cplusplus
}
#endif
#endif /* WIRE_LOOP_SET_H_INCLUDED */
