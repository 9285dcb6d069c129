/* The loops of several processes' graphs, added one by one (loop_set.h). */

#include "loop_parts.h"

#include <stdlib.h>
#include <string.h>

struct loop_reduction {
    struct loop_set set;        /* of the processes before those of `like` */
    struct loop_set like;       /* of the last processes, whose graphs are equal */
    struct pmi_adapt_graph graph;       /* of one of those */
    uint32_t loop_of[PMI_ADAPT_GRAPH_NODES];    /* of a head */
    struct {
        uint32_t loop, item;    /* of `like`; NONE: nowhere */
    } position[PMI_ADAPT_GRAPH_NODES];
    struct loop_item item[PMI_ADAPT_GRAPH_NODES];       /* of all loops, one after the other */
    uint32_t node[PMI_ADAPT_GRAPH_NODES];       /* the node of each item */
    /* of all processes of `like`, not in its items yet */
    uint64_t reentries[PMI_ADAPT_GRAPH_NODES];
};

struct loop_reduction *loop_reduction_create(void)
{
    return calloc(1, sizeof(struct loop_reduction));
}

void loop_reduction_destroy(struct loop_reduction *reduction)
{
    if (!reduction)
        return;
    loop_set_free(&reduction->set);
    loop_set_free(&reduction->like);
    free(reduction);
}

/* The loop that has this node as an item: its own loop, or the one whose body contains it.  Nested
 * loops are no items. */
static uint32_t loop_of_node(const struct loop_reduction *reduction, uint32_t node)
{
    uint32_t own = reduction->loop_of[node], head = reduction->graph.node[node].head;

    if (own != LOOP_NONE || head == LOOP_NONE)
        return own;
    return reduction->loop_of[head];
}

static bool is_message(uint32_t kind)
{
    return kind == LOOP_P2P || kind == LOOP_RMA;
}

/* N2: the items of each loop from first[loop] on, in the order of their nodes.  Items of messages
 * are not joined yet. */
static void sort_items(struct loop_reduction *reduction, uint32_t * first, uint32_t * count)
{
    const struct pmi_adapt_graph *graph = &reduction->graph;
    uint32_t at = 0;

    memset(count, 0, graph->summary.loops * sizeof(*count));
    for (uint32_t i = 0; i < graph->summary.nodes; i++) {
        uint32_t loop = loop_of_node(reduction, i);
        reduction->position[i].loop = loop;
        if (loop != LOOP_NONE)
            count[loop]++;
    }
    for (uint32_t loop = 0; loop < graph->summary.loops; loop++) {
        first[loop] = at;
        at += count[loop];
        count[loop] = 0;
    }
    for (uint32_t i = 0; i < graph->summary.nodes; i++) {
        uint32_t loop = reduction->position[i].loop;
        if (loop != LOOP_NONE)
            reduction->node[first[loop] + count[loop]++] = i;
    }
}

/* Keeps only one item of the loop that probes: its own messages and other calls are not
 * reported. */
static uint32_t keep_probe(struct loop_reduction *reduction, uint32_t first, uint32_t count)
{
    const struct pmi_adapt_graph *graph = &reduction->graph;
    uint32_t probe = LOOP_NONE;

    for (uint32_t i = first; i < first + count; i++) {
        if (graph->node[reduction->node[i]].kind == LOOP_PROBE)
            probe = i;
    }
    if (probe == LOOP_NONE)
        return 0;
    for (uint32_t i = first; i < first + count; i++)
        reduction->position[reduction->node[i]].item = 0;
    reduction->item[first] = (struct loop_item) {.id = graph->node[reduction->node[probe]].id,
                                                 .kind = LOOP_PROBE };
    return 1;
}

/* Joins each run of messages into one item; a run at the end continues at the beginning. */
static uint32_t collapse(struct loop_reduction *reduction, uint32_t first, uint32_t count)
{
    const struct pmi_adapt_graph *graph = &reduction->graph;
    struct loop_item *item = &reduction->item[first];
    uint32_t n = keep_probe(reduction, first, count);

    if (n > 0)
        return n;
    for (uint32_t i = first; i < first + count; i++) {
        const struct pmi_adapt_graph_node *node = &graph->node[reduction->node[i]];
        bool message = is_message(node->kind);
        if (!message || n == 0 || item[n - 1].kind != LOOP_P2P)
            item[n++] = (struct loop_item) {.id = message ? 0 : node->id,
                                            .kind = message ? LOOP_P2P : node->kind };
        reduction->position[reduction->node[i]].item = n - 1;
    }
    if (n > 1 && item[0].kind == LOOP_P2P && item[n - 1].kind == LOOP_P2P) {
        n--;
        for (uint32_t i = first; i < first + count; i++) {
            if (reduction->position[reduction->node[i]].item == n)
                reduction->position[reduction->node[i]].item = 0;
        }
    }
    return n;
}

/* N3: rotates the items so that the smallest one is first. */
static bool make_loop(struct loop_reduction *reduction, struct loop *loop, uint32_t first,
                      uint32_t count)
{
    uint32_t n = collapse(reduction, first, count);
    uint32_t turn = loop_least_rotation(&reduction->item[first], n);

    *loop = (struct loop) {.ratio_min = LOOP_NO_RATIO,.items = n };
    loop->item = malloc(n * sizeof(loop->item[0]));
    loop->range = malloc(sizeof(loop->range[0]));
    if (!loop->item || !loop->range)
        return false;
    for (uint32_t i = 0; i < n; i++)
        loop->item[i] = reduction->item[first + (i + turn) % n];
    for (uint32_t i = first; i < first + count; i++) {
        uint32_t *position = &reduction->position[reduction->node[i]].item;
        *position = (*position + n - turn) % n;
    }
    return true;
}

/* The parent loop, or NONE. */
static uint32_t loop_around(const struct loop_reduction *reduction, uint32_t loop)
{
    uint32_t up = loop_up_of(&reduction->graph, reduction->graph.loop[loop].head);
    return up == LOOP_NONE ? LOOP_NONE : reduction->loop_of[up];
}

/* N4: sets the keys from the path of parent loops and the number among equal siblings, in the order
 * of their heads. */
static void set_keys(struct loop_reduction *reduction, const uint64_t * items_hash)
{
    const struct pmi_adapt_graph *graph = &reduction->graph;
    struct loop *loop = reduction->like.loop;
    uint32_t loops = graph->summary.loops;

    for (uint32_t known = 0; known < loops;) {  /* outer ones first */
        for (uint32_t i = 0; i < loops; i++) {
            uint32_t around = loop_around(reduction, i);
            if (loop[i].key || (around != LOOP_NONE && !loop[around].key))
                continue;
            loop[i].parent = around == LOOP_NONE ? 0 : loop[around].key;
            for (uint32_t k = 0; k < loops; k++)
                loop[i].ordinal += k != i && loop_around(reduction, k) == around &&
                    items_hash[k] == items_hash[i] && graph->loop[k].head < graph->loop[i].head;
            loop[i].key = loop_hash_word(loop_hash_word(items_hash[i], loop[i].parent),
                                         loop[i].ordinal) | 1;
            known++;
        }
    }
}

static void begin_like(struct loop_reduction *reduction)
{
    uint32_t first[PMI_ADAPT_GRAPH_LOOPS], count[PMI_ADAPT_GRAPH_LOOPS];
    uint64_t items_hash[PMI_ADAPT_GRAPH_LOOPS];
    uint32_t loops = reduction->graph.summary.loops;

    memset(reduction->reentries, 0,
           reduction->graph.summary.nodes * sizeof(reduction->reentries[0]));
    loop_find_heads(&reduction->graph, reduction->loop_of);
    sort_items(reduction, first, count);
    for (uint32_t i = 0; i < loops; i++) {
        struct loop *loop = loop_set_insert(&reduction->like, i);
        if (!loop || !make_loop(reduction, loop, first[i], count[i])) {
            reduction->set.dropped += loops;
            loop_set_free(&reduction->like);
            return;
        }
        items_hash[i] = loop_hash_items(loop->item, loop->items);
    }
    set_keys(reduction, items_hash);
}

/* Whether two graphs are equal according to the process; the first one is sound.  If the process is
 * wrong, its numbers are added to wrong loops, without other effects, because its links are not
 * followed. */
static bool is_homogeneous(const struct pmi_adapt_graph *a, const struct pmi_adapt_graph *b)
{
    if (!pmi_adapt_has_nodes_of(&a->summary, &b->summary))
        return false;
    for (uint32_t i = 0; i < a->summary.loops; i++) {
        if (!loop_are_times(&b->loop[i]) ||
            (!loop_is_same_name(a->loop[i].name, b->loop[i].name) &&
             !loop_is_name(b->loop[i].name)))
            return false;
    }
    return true;
}

/* Adds the re-entries of the nodes to their items. */
static void add_reentries(struct loop_reduction *reduction)
{
    for (uint32_t i = 0; i < reduction->graph.summary.nodes; i++) {
        uint64_t sum = reduction->reentries[i];
        if (sum == 0 || reduction->position[i].loop == LOOP_NONE)
            continue;
        struct loop_item *item =
            &reduction->like.loop[reduction->position[i].loop].item[reduction->position[i].item];
        item->reentries =
            loop_add_as_it_fits(item->reentries, sum > UINT32_MAX ? UINT32_MAX : (uint32_t) sum);
    }
}

static void finish_like(struct loop_reduction *reduction)
{
    if (reduction->like.loops > 0)
        add_reentries(reduction);
    loop_set_merge(&reduction->set, &reduction->like);
    loop_set_free(&reduction->like);
}

static uint32_t ratio_of(const struct pmi_adapt_graph_loop *measured)
{
    return (uint32_t) ((double) measured->mpi_ns / (double) measured->loop_ns * LOOP_PPM + 0.5);
}

/* Adds the measurements of a loop by the process with this rank. */
static void add_measured(struct loop *loop, const struct pmi_adapt_graph_loop *measured,
                         uint32_t rank)
{
    struct loop numbers = {.iterations = measured->iterations,.loop_ns = measured->loop_ns,
        .mpi_ns = measured->mpi_ns,.ratio_min = LOOP_NO_RATIO
    };

    memcpy(numbers.name, measured->name, sizeof(numbers.name));
    if (measured->loop_ns > 0)
        numbers.ratio_min = numbers.ratio_max = ratio_of(measured);
    if (loop->ranges == 0)
        memcpy(loop->name, numbers.name, sizeof(loop->name));
    if (loop_add_rank(loop, rank))
        loop_add_numbers(loop, &numbers);
}

int loop_reduction_add(struct loop_reduction *reduction, const struct pmi_adapt_graph *graph,
                       uint32_t rank)
{
    if (reduction->like.loops == 0 || !is_homogeneous(&reduction->graph, graph)) {
        if (!loop_graph_is_sound(graph))
            return 0;
        finish_like(reduction);
        reduction->graph = *graph;
        begin_like(reduction);
    }
    for (uint32_t i = 0; i < reduction->like.loops; i++)
        add_measured(&reduction->like.loop[i], &graph->loop[i], rank);
    for (uint32_t i = 0; i < graph->summary.nodes; i++)
        reduction->reentries[i] += graph->reentries[i];
    return 1;
}

const struct loop_set *loop_reduction_result(struct loop_reduction *reduction)
{
    finish_like(reduction);
    return &reduction->set;
}
