/*
 * Detection of the loops that a program is in, from the sequence of call sites of MPI.
 *
 * A graph of one process: nodes are the call sites (sites), in the order of their first visits,
 * edges connect consecutive calls.  A loop is identified by its head, the node at which the
 * repetition was detected.  Detection is incremental: a step along a known edge changes nothing and
 * costs the same at any size; any other step is one of the events below, costs time in proportion
 * to the nodes, and changes `structure`.  After Compres 2017, section 10.1, whose listings are
 * tests of perf_graph_test.cpp; SPEC-performance D1-D12.
 *
 * A graph is one flat object without pointers: it may be copied.  No MPI, no allocation, no clock,
 * no lock: the caller owns the graph.  perf_measure.h measures the durations of the loops.
 */

#ifndef PERF_GRAPH_H_INCLUDED
#define PERF_GRAPH_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_NODES_MAX 1024
#define PERF_SUCCESSORS_MAX 16
#define PERF_LOOPS_MAX 64
#define PERF_NONE UINT16_MAX    /* no node, no loop */
#define PERF_HASH_SIZE (2 * PERF_NODES_MAX)
#define PERF_ALIGNMENT 64       /* of a graph and its nodes */

enum perf_kind {
    PERF_KIND_P2P,
    PERF_KIND_RMA,
    PERF_KIND_COLLECTIVE,
    PERF_KIND_IO,
    PERF_KIND_MANAGE,           /* communicators, windows and files are made or freed */
    PERF_KIND_PROBE,            /* MPI_Probe_adapt */
    /* of a program that reports its own position (perf_phases.h): may adapt */
    PERF_KIND_ELASTIC_PHASE,
    PERF_KIND_RIGID_PHASE       /* may not adapt */
};

/* The result of a step; all but NONE are changes of the structure. */
enum perf_event {
    PERF_EVENT_NONE,            /* as before */
    PERF_EVENT_NEW,             /* the first call from a site, outside of loops */
    PERF_EVENT_DETECTED,        /* a loop was detected */
    PERF_EVENT_EXIT,            /* from a loop to a new site */
    PERF_EVENT_REENTRY,         /* into a loop, along an edge not taken before */
    PERF_EVENT_CHANGED          /* a new edge inside a loop, or outside */
};

/* The position after a step. */
enum perf_label {
    PERF_LABEL_OUTSIDE,         /* not in a loop */
    PERF_LABEL_INSIDE,          /* within the same loop, or from its body to its head */
    PERF_LABEL_HEAD_REENTRY,    /* from outside to a head */
    PERF_LABEL_BODY_REENTRY     /* from outside, perhaps a nested loop, into the body */
};

struct perf_edge {
    uint16_t to;
    uint8_t label;              /* enum perf_label, true of .structure */
    uint32_t structure;
};

/* All fields of a node for a step along a known edge, and its first edge, are in one cache line. */
struct perf_node {
    uint64_t key;               /* the caller's key of the site */
    uint64_t id;        /* the identity for other processes, set by the caller, 0 at first */
    uint64_t visits;
    uint64_t seq;               /* number of the step of the last visit, from 1 */
    uint64_t reentries;         /* steps that were a body re-entry */
    uint16_t head;              /* head of the innermost loop whose body has it, or NONE */
    /* of a head: the enclosing loop, if it was found by re-entry, or NONE */
    uint16_t outer;
    /* of a head: the node from which the loop was closed; else of the last re-entry */
    uint16_t tail;
    uint16_t loop;              /* of a head: number of the loop; else NONE */
    uint8_t kind;               /* enum perf_kind */
    uint8_t edges;
    uint8_t next;               /* the edge that was taken last: most likely the next one */
    struct perf_edge edge[PERF_SUCCESSORS_MAX];
} __attribute__((aligned(PERF_ALIGNMENT)));

struct perf_graph {
    uint64_t steps;
    uint64_t edges_dropped;     /* steps along edges for which a node had no space */
    uint32_t structure;         /* number of changes */
    uint16_t nodes, loops;
    uint16_t current;           /* node of the last step, or NONE */
    bool full;                  /* a site or loop was found for which there was no space */
    uint16_t loop_head[PERF_LOOPS_MAX]; /* in the order of detection */
    uint16_t hash[PERF_HASH_SIZE];
    struct perf_node node[PERF_NODES_MAX];
};

struct perf_step {
    uint16_t node;              /* NONE: a new site without space; nothing has changed */
    uint16_t from;              /* the node before, or NONE */
    uint8_t event;              /* enum perf_event */
    uint8_t label;              /* enum perf_label */
};

void perf_graph_init(struct perf_graph *graph);

/* As perf_graph_visit, for a step that is not the expected one. */
struct perf_step perf_graph_find_step(struct perf_graph *graph, uint64_t key, enum perf_kind kind);

/* V1: most steps repeat the last one from the same node.  Returns the edge to that next node if its
 * site is `key`, else NULL. */
static inline const struct perf_edge *perf_graph_expected(const struct perf_graph *graph,
                                                          uint64_t key)
{
    if (graph->current == PERF_NONE)
        return NULL;
    const struct perf_node *current = &graph->node[graph->current];
    const struct perf_edge *edge = &current->edge[current->next];
    return current->edges > 0 && graph->node[edge->to].key == key ? edge : NULL;
}

/* The program calls MPI from the site `key` (not 0). */
static inline struct perf_step perf_graph_visit(struct perf_graph *graph, uint64_t key,
                                                enum perf_kind kind)
{
    const struct perf_edge *edge = perf_graph_expected(graph, key);

    if (!edge || edge->structure != graph->structure || edge->label == PERF_LABEL_BODY_REENTRY)
        return perf_graph_find_step(graph, key, kind);
    struct perf_step step = {.node = edge->to,.from = graph->current,.event = PERF_EVENT_NONE,
                             .label = edge->label };
    graph->node[step.node].visits++;
    graph->node[step.node].seq = ++graph->steps;
    graph->current = step.node;
    return step;
}

/* Steps have been omitted: continues as if `node` (or NONE) were the last one. */
void perf_graph_resume(struct perf_graph *graph, uint16_t node);

/* Head of the innermost loop of a node, which may be the node itself; or NONE. */
static inline uint16_t perf_graph_head(const struct perf_graph *graph, uint16_t node)
{
    return graph->node[node].loop != PERF_NONE ? node : graph->node[node].head;
}

/* Head of the next enclosing loop of a node or loop, or NONE. */
static inline uint16_t perf_graph_up(const struct perf_graph *graph, uint16_t node)
{
    uint16_t head = graph->node[node].head;
    return head != PERF_NONE ? head : graph->node[node].outer;
}

/* Whether a node is in the loop of `head`, at any depth, or is that head. */
bool perf_graph_inside(const struct perf_graph *graph, uint16_t node, uint16_t head);

/* The two outputs of the published listings 10.1 and 10.2, a line each, with indices for addresses;
 * `name` is printed before the ids.  They return the number of bytes, as snprintf. */
int perf_graph_print_step(const struct perf_graph *graph, const struct perf_step *step,
                          uint64_t nanoseconds, char *text, size_t size);
int perf_graph_print_node(const struct perf_graph *graph, uint16_t node, char *text, size_t size);

#endif /* PERF_GRAPH_H_INCLUDED */
