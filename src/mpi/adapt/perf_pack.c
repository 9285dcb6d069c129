/* See perf_pack.h. */

#include "perf_pack.h"

#include <string.h>

_Static_assert(PERF_NODES_MAX == PMI_ADAPT_GRAPH_NODES, "all nodes are put on the board");
_Static_assert(PERF_LOOPS_MAX == PMI_ADAPT_GRAPH_LOOPS, "all loops are put on the board");

static uint32_t link_of(uint16_t index)
{
    return index == PERF_NONE ? PMI_ADAPT_GRAPH_NONE : index;
}

static uint32_t as_far_as_it_fits(uint64_t count)
{
    return count > UINT32_MAX ? UINT32_MAX : (uint32_t) count;
}

/* Equal for graphs of the same call sites, in the same order, in the same loops. */
static uint64_t hash_structure(const struct pmi_adapt_graph *packed)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (uint32_t i = 0; i < packed->summary.nodes; i++) {
        const struct pmi_adapt_graph_node *node = &packed->node[i];
        uint64_t links = (uint64_t) node->head << 32 | node->outer;
        hash = (hash ^ node->id) * UINT64_C(0x9e3779b97f4a7c15);
        hash = ((hash ^ hash >> 29) + node->kind + links) * UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 32;
    }
    for (uint32_t i = 0; i < packed->summary.loops; i++)
        hash = (hash ^ packed->loop[i].head) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

void perf_pack(const struct perf_measure *measure, struct pmi_adapt_graph *packed)
{
    const struct perf_graph *graph = &measure->graph;

    packed->summary = (struct pmi_adapt_graph_summary) {
        .structure = graph->structure,.nodes = graph->nodes,.loops = graph->loops,
        .flags = graph->full ? PMI_ADAPT_GRAPH_FULL : 0,.every = measure->every,
            .steps = graph->steps
    };
    for (uint16_t i = 0; i < graph->nodes; i++) {
        const struct perf_node *node = &graph->node[i];
        packed->node[i] = (struct pmi_adapt_graph_node) {
            .id = node->id,.kind = node->kind,.head = link_of(node->head),
                .tail = link_of(node->tail), .outer = link_of(node->outer)
        };
        packed->reentries[i] = as_far_as_it_fits(node->reentries);
    }
    for (uint16_t i = 0; i < graph->loops; i++) {
        const struct perf_times *times = &measure->times[i];
        struct pmi_adapt_graph_loop *loop = &packed->loop[i];
        loop->head = graph->loop_head[i];
        loop->pad = 0;
        loop->iterations = times->iterations;
        loop->loop_ns = times->loop_ns;
        loop->mpi_ns = times->mpi_ns;
    }
    packed->summary.hash = hash_structure(packed);
}
