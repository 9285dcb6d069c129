/* Whether a process' graph is consistent, and its text can be shown (loop_set.h, loop_parts.h). */

#include "loop_parts.h"

#include <string.h>

uint32_t loop_up_of(const struct pmi_adapt_graph *graph, uint32_t node)
{
    uint32_t head = graph->node[node].head;
    return head != LOOP_NONE ? head : graph->node[node].outer;
}

/* Whether the text is printable and ended by 0. */
bool loop_is_name(const char *name)
{
    size_t length = strnlen(name, PMI_ADAPT_LOOP_NAME_MAX);

    for (size_t i = 0; i < length; i++) {
        if (name[i] < ' ' || name[i] > '~')
            return false;
    }
    return length < PMI_ADAPT_LOOP_NAME_MAX;
}

bool loop_is_same_name(const char *a, const char *b)
{
    return memcmp(a, b, PMI_ADAPT_LOOP_NAME_MAX) == 0;
}

bool loop_are_times(const struct pmi_adapt_graph_loop *loop)
{
    return loop->mpi_ns <= loop->loop_ns && loop->loop_ns <= LOOP_TIME_MAX &&
        loop->iterations <= LOOP_TIME_MAX;
}

/* `loop_of`: for each node the number of the loop whose head it is, or NONE. */
bool loop_find_heads(const struct pmi_adapt_graph *graph, uint32_t * loop_of)
{
    for (uint32_t i = 0; i < graph->summary.nodes; i++)
        loop_of[i] = LOOP_NONE;
    for (uint32_t i = 0; i < graph->summary.loops; i++) {
        const struct pmi_adapt_graph_loop *loop = &graph->loop[i];
        if (loop->head >= graph->summary.nodes || loop_of[loop->head] != LOOP_NONE ||
            !loop_are_times(loop) || !loop_is_name(loop->name))
            return false;
        loop_of[loop->head] = i;
    }
    return true;
}

static bool links_to_head(const struct pmi_adapt_graph *graph, const uint32_t * loop_of,
                          uint32_t link)
{
    return link == LOOP_NONE || (link < graph->summary.nodes && loop_of[link] != LOOP_NONE);
}

/* Whether the path up from every node ends. */
static bool is_acyclic(const struct pmi_adapt_graph *graph)
{
    enum { UNKNOWN, UNDER_WAY, ENDS };
    unsigned char state[PMI_ADAPT_GRAPH_NODES] = { UNKNOWN };

    for (uint32_t i = 0; i < graph->summary.nodes; i++) {
        uint32_t x = i;
        for (; x != LOOP_NONE && state[x] == UNKNOWN; x = loop_up_of(graph, x))
            state[x] = UNDER_WAY;
        if (x != LOOP_NONE && state[x] == UNDER_WAY)
            return false;
        for (x = i; x != LOOP_NONE && state[x] == UNDER_WAY; x = loop_up_of(graph, x))
            state[x] = ENDS;
    }
    return true;
}

int loop_graph_is_sound(const struct pmi_adapt_graph *graph)
{
    uint32_t loop_of[PMI_ADAPT_GRAPH_NODES], nodes = graph->summary.nodes;

    if (nodes > PMI_ADAPT_GRAPH_NODES || graph->summary.loops > PMI_ADAPT_GRAPH_LOOPS ||
        !loop_find_heads(graph, loop_of))
        return 0;
    for (uint32_t i = 0; i < nodes; i++) {
        const struct pmi_adapt_graph_node *node = &graph->node[i];
        if (node->kind >= LOOP_KINDS || (node->tail != LOOP_NONE && node->tail >= nodes) ||
            !links_to_head(graph, loop_of, node->head) ||
            !links_to_head(graph, loop_of, node->outer))
            return 0;
    }
    return is_acyclic(graph);
}
