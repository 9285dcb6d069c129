/*
 * The loops of several processes, distinguished by their content and their nesting: made by the
 * proxy from the graphs on its board, and by mpiexec from the data of the proxies.  Pure C, used by
 * both.  Performance clauses N, B6.
 *
 * Only the loops of a graph (pmi_adapt_measured.h) are used.  In a loop, each run of point-to-point
 * and one-sided calls is one item without identity, because these differ between processes.  Kind
 * and identity distinguish the other items.  Items are cyclic: the sequence is rotated so that the
 * smallest comes first.  Loops with the same items, in the same parent loops, and with the same
 * number among equal siblings are one loop of all these processes.  The probing loop is always one
 * loop, because all processes repeat it equally often.
 *
 * Merging is associative and commutative, and merging an empty set changes nothing, unless a set is
 * full: then loops are dropped and counted.
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
/* of one process, nanoseconds: 104 days; more is invalid */
#define LOOP_TIME_MAX (UINT64_C(1) << 53)
#define LOOP_PPM 1000000u
#define LOOP_NO_RATIO UINT32_MAX

/* Numbers as in src/mpi/adapt/perf_graph.h. */
enum loop_kind {
    LOOP_P2P, LOOP_RMA, LOOP_COLLECTIVE, LOOP_IO, LOOP_MANAGE, LOOP_PROBE, LOOP_ELASTIC_PHASE,
    LOOP_RIGID_PHASE, LOOP_KINDS
};

struct loop_item {
    uint64_t id;                /* 0 of LOOP_P2P, a run of calls */
    uint32_t kind;              /* enum loop_kind, never LOOP_RMA */
    uint32_t reentries;         /* sum of entries from other nodes, as far as it fits */
};

struct loop_ranks {
    uint32_t first, last;
};

struct loop {
    uint64_t key, parent;       /* the same in all processes; parent 0: in no other loop */
    uint64_t iterations, loop_ns, mpi_ns;       /* sums over the processes */
    uint32_t ordinal;           /* among equal siblings */
    /* range of mpi_ns / loop_ns of the processes, ppm; LOOP_NO_RATIO, 0: not known */
    uint32_t ratio_min, ratio_max;
    uint32_t items, ranges;
    char name[PMI_ADAPT_LOOP_NAME_MAX]; /* the smallest of the processes' names */
    struct loop_item *item;
    struct loop_ranks *range;   /* ranges of processes, ascending, with gaps */
};

struct loop_set {
    struct loop *loop;          /* in ascending order */
    uint32_t loops, capacity;
    uint32_t dropped;              /* number of loops dropped, for lack of space or memory */
};

/* Whether a graph is consistent: each link leads to a node, that of a loop to a head, and links are
 * acyclic. */
int loop_graph_is_sound(const struct pmi_adapt_graph *graph);

void loop_set_init(struct loop_set *set);
void loop_set_free(struct loop_set *set);
/* Adds the loops of `from`, which does not change. */
void loop_set_merge(struct loop_set *set, const struct loop_set *from);
/* Merges loops that only some of the `processes` have into a loop that differs only in messages.
 * Called at the end, by the reader: the result must not be merged any more. */
void loop_set_join_alone(struct loop_set *set, uint32_t processes);
/* Number of processes of a loop. */
uint32_t loop_processes(const struct loop *loop);
/* Renumbers the processes: `map` has the new number of each. -1, and all processes from `limit` on,
 * are left out. */
void loop_set_renumber(struct loop_set *set, uint32_t limit,
                       int64_t(*map) (void *context, uint32_t rank), void *context);

/* Adds graphs one by one.  A graph equal to the one before costs only a comparison and sums. */
struct loop_reduction;
struct loop_reduction *loop_reduction_create(void);     /* NULL: no memory */
void loop_reduction_destroy(struct loop_reduction *reduction);
/* Adds the graph of process `rank`. 0: it is not sound, and nothing is added. */
int loop_reduction_add(struct loop_reduction *reduction, const struct pmi_adapt_graph *graph,
                       uint32_t rank);
/* The merged set; owned by the reduction. */
const struct loop_set *loop_reduction_result(struct loop_reduction *reduction);

/* The set as bytes, for messages between proxy and mpiexec. */
size_t loop_set_bytes(const struct loop_set *set);
void loop_set_write(const struct loop_set *set, void *bytes);
/* Reads into an empty set. 0: the bytes are invalid, and the set stays empty. */
int loop_set_read(struct loop_set *set, const void *bytes, size_t n);

#ifdef __cplusplus
}
#endif
#endif /* WIRE_LOOP_SET_H_INCLUDED */
