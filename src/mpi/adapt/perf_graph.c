/* See perf_graph.h. */

#include "perf_graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void perf_graph_init(struct perf_graph *graph)
{
    /* the nodes are written when they are made */
    memset(graph, 0, offsetof(struct perf_graph, hash));
    memset(graph->hash, 0xff, sizeof(graph->hash));
    graph->current = PERF_NONE;
}

void perf_graph_resume(struct perf_graph *graph, uint16_t node)
{
    graph->current = node;
}

bool perf_graph_inside(const struct perf_graph *graph, uint16_t node, uint16_t head)
{
    while (node != PERF_NONE && node != head)
        node = perf_graph_up(graph, node);
    return node == head;
}

/* ---- nodes and edges ---- */

/* The entry of `key` in the table, or the free one for it. */
static uint16_t *find_entry(struct perf_graph *graph, uint64_t key)
{
    size_t i = (size_t) ((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % PERF_HASH_SIZE;
    while (graph->hash[i] != PERF_NONE && graph->node[graph->hash[i]].key != key)
        i = (i + 1) % PERF_HASH_SIZE;
    return &graph->hash[i];
}

static uint16_t make_node(struct perf_graph *graph, uint64_t key, enum perf_kind kind)
{
    uint16_t index = graph->nodes++;
    struct perf_node *node = &graph->node[index];

    memset(node, 0, sizeof(*node));
    node->key = key;
    node->kind = (uint8_t) kind;
    node->head = node->outer = node->tail = node->loop = PERF_NONE;
    return index;
}

static struct perf_edge *find_edge(struct perf_node *from, uint16_t to)
{
    for (int i = 0; i < from->edges; i++) {
        if (from->edge[i].to == to) {
            from->next = (uint8_t) i;
            return &from->edge[i];
        }
    }
    return NULL;
}

/* Without space the edge is a new one each time; no loop is detected twice by that. */
static bool add_edge(struct perf_graph *graph, uint16_t from, uint16_t to)
{
    struct perf_node *node = &graph->node[from];

    if (node->edges == PERF_SUCCESSORS_MAX) {
        graph->edges_dropped++;
        return false;
    }
    node->next = node->edges++;
    node->edge[node->next] = (struct perf_edge) {.to = to,.structure = graph->structure - 1 };
    return true;
}

/* ---- the structure ---- */

/* For each node: the last node of its chain upwards before `stop`; if the chain does not contain
 * `stop`, its end (root). */
static void find_tops(const struct perf_graph *graph, uint16_t stop, uint16_t * top)
{
    for (uint16_t i = 0; i < graph->nodes; i++)
        top[i] = PERF_NONE;
    for (uint16_t i = 0; i < graph->nodes; i++) {
        uint16_t end = i, up;
        while (top[end] == PERF_NONE && (up = perf_graph_up(graph, end)) != stop && up != PERF_NONE)
            end = up;
        if (top[end] != PERF_NONE)
            end = top[end];
        for (uint16_t x = i; x != PERF_NONE && top[x] == PERF_NONE; x = perf_graph_up(graph, x)) {
            top[x] = end;
            if (x == end)
                break;
        }
    }
}

/* The last slot is reserved for the elastic loop, which must always be found. */
static bool make_head(struct perf_graph *graph, uint16_t b, uint16_t tail)
{
    bool reserved = graph->loops == PERF_LOOPS_MAX - 1 && graph->node[b].kind != PERF_KIND_PROBE;

    if (graph->loops == PERF_LOOPS_MAX || reserved) {
        graph->full = true;
        return false;
    }
    graph->node[b].loop = graph->loops;
    graph->loop_head[graph->loops++] = b;
    graph->node[b].tail = tail;
    return true;
}

/* D3: back at b, which is in no loop.  All that was visited since then is its body, with the loops
 * around that. */
static enum perf_event detect_loop(struct perf_graph *graph, uint16_t a, uint16_t b)
{
    uint16_t root[PERF_NODES_MAX];

    if (!make_head(graph, b, a))
        return PERF_EVENT_CHANGED;
    find_tops(graph, PERF_NONE, root);
    for (uint16_t x = 0; x < graph->nodes; x++) {
        if (graph->node[x].seq > graph->node[b].seq && root[x] != b)
            graph->node[root[x]].head = b;
    }
    return PERF_EVENT_DETECTED;
}

/* D5: back at b, in the body of h, since h was visited: a loop inside that of h.  Nodes and loops
 * directly in h that were visited since b are, with all that they contain, in the body of b. */
static enum perf_event detect_inner_loop(struct perf_graph *graph, uint16_t a, uint16_t b,
                                         uint16_t h)
{
    uint16_t child[PERF_NODES_MAX];

    if (!make_head(graph, b, a))
        return PERF_EVENT_CHANGED;
    find_tops(graph, h, child);
    for (uint16_t x = 0; x < graph->nodes; x++) {
        uint16_t c = child[x];
        if (graph->node[x].seq > graph->node[b].seq && c != b && perf_graph_up(graph, c) == h) {
            graph->node[c].head = b;
            graph->node[c].outer = PERF_NONE;
        }
    }
    return PERF_EVENT_DETECTED;
}

/* D4: from outside to b of a known loop.  Nodes that were visited since that loop was left belong
 * to the loop around b, or to the loop of b itself where none is known. */
static void enclose_excursion(struct perf_graph *graph, uint16_t b, const uint16_t * root)
{
    uint16_t up = perf_graph_up(graph, b), h = up != PERF_NONE ? up : b;
    uint64_t left = 0;

    for (uint16_t x = 0; x < graph->nodes; x++) {
        if (root[x] == root[b] && graph->node[x].seq > left)
            left = graph->node[x].seq;
    }
    for (uint16_t x = 0; x < graph->nodes; x++) {
        if (graph->node[x].seq > left) {
            struct perf_node *o = &graph->node[root[x]];
            if (o->loop != PERF_NONE)
                o->outer = h;
            else
                o->head = h;
        }
    }
}

/* Where an edge leads to, by the loops as they are now: D8. */
static enum perf_label label_edge(const struct perf_graph *graph, uint16_t a, uint16_t b)
{
    uint16_t head = perf_graph_head(graph, b);

    if (head == PERF_NONE)
        return PERF_LABEL_OUTSIDE;
    if (head == b)
        return perf_graph_inside(graph, a, b) ? PERF_LABEL_INSIDE : PERF_LABEL_HEAD_REENTRY;
    return perf_graph_head(graph, a) == head ? PERF_LABEL_INSIDE : PERF_LABEL_BODY_REENTRY;
}

/* A new edge between known nodes. */
static void follow_new_edge(struct perf_graph *graph, uint16_t a, uint16_t b,
                            struct perf_step *step)
{
    uint16_t root[PERF_NODES_MAX];
    uint16_t h = perf_graph_head(graph, b);

    step->event = PERF_EVENT_CHANGED;
    if (h == PERF_NONE) {
        step->event = detect_loop(graph, a, b);
    } else {
        find_tops(graph, PERF_NONE, root);
        if (root[a] != root[b]) {
            step->event = PERF_EVENT_REENTRY;
            enclose_excursion(graph, b, root);
            step->label = h == b ? PERF_LABEL_HEAD_REENTRY : PERF_LABEL_BODY_REENTRY;
            return;
        }
        if (h != b && perf_graph_inside(graph, a, h) && graph->node[b].seq > graph->node[h].seq)
            step->event = detect_inner_loop(graph, a, b, h);
    }
    step->label = label_edge(graph, a, b);
}

static void follow_edge(struct perf_graph *graph, uint16_t a, uint16_t b, struct perf_step *step)
{
    struct perf_edge *edge = find_edge(&graph->node[a], b);

    if (edge) {
        if (edge->structure != graph->structure) {
            edge->label = label_edge(graph, a, b);
            edge->structure = graph->structure;
        }
        step->label = edge->label;
        return;
    }
    follow_new_edge(graph, a, b, step);
    if (add_edge(graph, a, b) || step->event != PERF_EVENT_CHANGED)
        graph->structure++;
}

/* D1: the first call from a site. */
static struct perf_step visit_new(struct perf_graph *graph, uint64_t key, enum perf_kind kind)
{
    struct perf_step step = {.node = PERF_NONE,.from = graph->current };

    if (graph->nodes == PERF_NODES_MAX) {
        graph->full = true;
        return step;
    }
    step.node = make_node(graph, key, kind);
    step.event = PERF_EVENT_NEW;
    if (step.from != PERF_NONE) {
        add_edge(graph, step.from, step.node);
        if (perf_graph_head(graph, step.from) != PERF_NONE)
            step.event = PERF_EVENT_EXIT;
    }
    graph->structure++;
    return step;
}

struct perf_step perf_graph_find_step(struct perf_graph *graph, uint64_t key, enum perf_kind kind)
{
    struct perf_step step = {.from = graph->current };
    uint16_t *entry = find_entry(graph, key);

    step.node = *entry;
    if (step.node == PERF_NONE) {
        step = visit_new(graph, key, kind);
        if (step.node == PERF_NONE)
            return step;
        *entry = step.node;
    } else if (step.from != PERF_NONE) {
        follow_edge(graph, step.from, step.node, &step);
    }

    struct perf_node *node = &graph->node[step.node];
    node->visits++;
    node->seq = ++graph->steps;
    if (step.label == PERF_LABEL_BODY_REENTRY) {
        node->reentries++;
        node->tail = step.from;
    }
    graph->current = step.node;
    return step;
}

/* ---- the listings ---- */

int perf_graph_print_step(const struct perf_graph *graph, const struct perf_step *step,
                          uint64_t nanoseconds, char *text, size_t size)
{
    static const char *const LABELS[] =
        { "NOT in a loop", "", "head re-entry; ", "body re-entry; " };
    const struct perf_node *node = &graph->node[step->node];
    uint16_t head = perf_graph_head(graph, step->node);

    if (graph->steps == 1)
        return snprintf(text, size, "0: root id: %" PRIu64, node->key);
    int bytes = snprintf(text, size, "%" PRIu64 ": id: %" PRIu64 "; detected: %d; -> %s",
                         graph->steps - 1, node->key, step->label != PERF_LABEL_OUTSIDE,
                         LABELS[step->label]);
    size_t used = (size_t) bytes < size ? (size_t) bytes : size;
    if (step->label != PERF_LABEL_OUTSIDE)
        bytes += snprintf(text + used, size - used, "head: %" PRIu64, graph->node[head].key);
    used = (size_t) bytes < size ? (size_t) bytes : size;
    return bytes + snprintf(text + used, size - used, "; (TD: %" PRIu64 ")", nanoseconds);
}

static const char *print_index(uint16_t index, char *text)
{
    if (index == PERF_NONE)
        return "";
    sprintf(text, "%d", index);
    return text;
}

int perf_graph_print_node(const struct perf_graph *graph, uint16_t index, char *text, size_t size)
{
    const struct perf_node *node = &graph->node[index];
    char tail[8], head[8];

    return snprintf(text, size, "%d; id: %" PRIu64 "; H: %d; B: %d; Re: %" PRIu64 "; Rv: %" PRIu64
                    "; tail: %s; head: %s", index, node->key, node->loop != PERF_NONE,
                    node->head != PERF_NONE, node->reentries, node->visits - 1,
                    print_index(node->tail, tail), print_index(node->head, head));
}
