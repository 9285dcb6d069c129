/* See loop_set.h. */

#include "loop_set.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NONE PMI_ADAPT_GRAPH_NONE
#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* ---- graphs ------------------------------------------------------------------------------------ */

static uint32_t up_of(const struct pmi_adapt_graph *graph, uint32_t node)
{
    uint32_t head = graph->node[node].head;
    return head != NONE ? head : graph->node[node].outer;
}

/* Text that can be shown: printable, ended. */
static bool is_name(const char *name)
{
    size_t length = strnlen(name, PMI_ADAPT_LOOP_NAME_MAX);

    for (size_t i = 0; i < length; i++) {
        if (name[i] < ' ' || name[i] > '~')
            return false;
    }
    return length < PMI_ADAPT_LOOP_NAME_MAX;
}

static bool is_same_name(const char *a, const char *b)
{
    return memcmp(a, b, PMI_ADAPT_LOOP_NAME_MAX) == 0;
}

static bool are_times(const struct pmi_adapt_graph_loop *loop)
{
    return loop->mpi_ns <= loop->loop_ns && loop->loop_ns <= LOOP_TIME_MAX && loop->iterations <= LOOP_TIME_MAX;
}

/* For each node the number of the loop that it is the head of, or NONE. */
static bool find_heads(const struct pmi_adapt_graph *graph, uint32_t * loop_of)
{
    for (uint32_t i = 0; i < graph->summary.nodes; i++)
        loop_of[i] = NONE;
    for (uint32_t i = 0; i < graph->summary.loops; i++) {
        const struct pmi_adapt_graph_loop *loop = &graph->loop[i];
        if (loop->head >= graph->summary.nodes || loop_of[loop->head] != NONE || !are_times(loop) ||
            !is_name(loop->name))
            return false;
        loop_of[loop->head] = i;
    }
    return true;
}

static bool links_to_head(const struct pmi_adapt_graph *graph, const uint32_t * loop_of, uint32_t link)
{
    return link == NONE || (link < graph->summary.nodes && loop_of[link] != NONE);
}

/* Going up from any node ends. */
static bool is_acyclic(const struct pmi_adapt_graph *graph)
{
    enum { UNKNOWN, UNDER_WAY, ENDS };
    unsigned char state[PMI_ADAPT_GRAPH_NODES] = { UNKNOWN };

    for (uint32_t i = 0; i < graph->summary.nodes; i++) {
        uint32_t x = i;
        for (; x != NONE && state[x] == UNKNOWN; x = up_of(graph, x))
            state[x] = UNDER_WAY;
        if (x != NONE && state[x] == UNDER_WAY)
            return false;
        for (x = i; x != NONE && state[x] == UNDER_WAY; x = up_of(graph, x))
            state[x] = ENDS;
    }
    return true;
}

int loop_graph_is_sound(const struct pmi_adapt_graph *graph)
{
    uint32_t loop_of[PMI_ADAPT_GRAPH_NODES], nodes = graph->summary.nodes;

    if (nodes > PMI_ADAPT_GRAPH_NODES || graph->summary.loops > PMI_ADAPT_GRAPH_LOOPS ||
        !find_heads(graph, loop_of))
        return 0;
    for (uint32_t i = 0; i < nodes; i++) {
        const struct pmi_adapt_graph_node *node = &graph->node[i];
        if (node->kind >= LOOP_KINDS || (node->tail != NONE && node->tail >= nodes) ||
            !links_to_head(graph, loop_of, node->head) || !links_to_head(graph, loop_of, node->outer))
            return 0;
    }
    return is_acyclic(graph);
}

/* ---- items ------------------------------------------------------------------------------------- */

static uint32_t add_as_it_fits(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint64_t add_times(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The probe first, messages last. */
static uint32_t order_of(uint32_t kind)
{
    return kind == LOOP_PROBE ? 0 : kind == LOOP_P2P ? LOOP_KINDS : kind;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_items(const struct loop_item *a, const struct loop_item *b)
{
    int order = compare_numbers(order_of(a->kind), order_of(b->kind));
    return order ? order : compare_numbers(a->id, b->id);
}

static bool is_same_item(const struct loop_item *a, const struct loop_item *b)
{
    return a->id == b->id && a->kind == b->kind;
}

/* Mostly they are the same. */
static int compare_sequences(const struct loop_item *a, const struct loop_item *b, uint32_t items)
{
    uint32_t same = 0;
    while (same < items && is_same_item(&a[same], &b[same]))
        same++;
    return same < items ? compare_items(&a[same], &b[same]) : 0;
}

/* Where the least rotation of the sequence begins; linear. */
static uint32_t least_rotation(const struct loop_item *item, uint32_t n)
{
    uint32_t i = 0, j = 1, same = 0;

    while (i < n && j < n && same < n) {
        int order = compare_items(&item[(i + same) % n], &item[(j + same) % n]);
        if (order == 0) {
            same++;
            continue;
        }
        if (order > 0)
            i += same + 1;
        else
            j += same + 1;
        if (i == j)
            j++;
        same = 0;
    }
    return i < j ? i : j;
}

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * HASH_FACTOR;
    return hash ^ (hash >> 29);
}

static uint64_t hash_items(const struct loop_item *item, uint32_t items)
{
    uint64_t hash = HASH_START;
    for (uint32_t i = 0; i < items; i++)
        hash = hash_word(hash_word(hash, item[i].kind), item[i].id);
    return hash;
}

/* ---- sets -------------------------------------------------------------------------------------- */

void loop_set_init(struct loop_set *set)
{
    *set = (struct loop_set) { 0 };
}

static void free_loop(struct loop *loop)
{
    free(loop->item);
    free(loop->range);
}

void loop_set_free(struct loop_set *set)
{
    for (uint32_t i = 0; i < set->loops; i++)
        free_loop(&set->loop[i]);
    free(set->loop);
    loop_set_init(set);
}

static int compare_loops(const struct loop *a, const struct loop *b)
{
    int order = compare_numbers(a->key, b->key);
    if (!order)
        order = compare_numbers(a->parent, b->parent);
    if (!order)
        order = compare_numbers(a->ordinal, b->ordinal);
    if (!order)
        order = compare_numbers(a->items, b->items);
    return order ? order : compare_sequences(a->item, b->item, a->items);
}

/* Space for one more loop at `at`; NULL: there is none. */
static struct loop *insert(struct loop_set *set, uint32_t at)
{
    if (set->loops == LOOP_SET_MAX)
        return NULL;
    if (set->loops == set->capacity) {
        uint32_t capacity = set->capacity ? 2 * set->capacity : 8;
        struct loop *loop = realloc(set->loop, capacity * sizeof(*loop));
        if (!loop)
            return NULL;
        set->loop = loop;
        set->capacity = capacity;
    }
    memmove(&set->loop[at + 1], &set->loop[at], (set->loops - at) * sizeof(set->loop[0]));
    set->loops++;
    return &set->loop[at];
}

static void *copy_of(const void *from, size_t bytes)
{
    void *to = malloc(bytes);
    if (to)
        memcpy(to, from, bytes);
    return to;
}

static void add_copy(struct loop_set *set, uint32_t at, const struct loop *from)
{
    struct loop copy = *from;

    copy.item = copy_of(from->item, from->items * sizeof(from->item[0]));
    copy.range = copy_of(from->range, from->ranges * sizeof(from->range[0]));
    struct loop *to = copy.item && copy.range ? insert(set, at) : NULL;
    if (to) {
        *to = copy;
    } else {
        set->dropped++;
        free_loop(&copy);
    }
}

/* The bytes of `from` are after all of the loop's own, and do not touch them. */
static bool append_ranges(struct loop *loop, const struct loop *from)
{
    struct loop_ranks *range = realloc(loop->range, (loop->ranges + from->ranges) * sizeof(*range));

    if (!range)
        return false;
    memcpy(&range[loop->ranges], from->range, from->ranges * sizeof(*range));
    loop->range = range;
    loop->ranges += from->ranges;
    return true;
}

/* Both lists in one; touching ranges become one. */
static bool add_ranges(struct loop *loop, const struct loop *from)
{
    if (loop->ranges > 0 && from->range[0].first > loop->range[loop->ranges - 1].last + UINT64_C(1))
        return append_ranges(loop, from);

    struct loop_ranks *merged = malloc((loop->ranges + from->ranges) * sizeof(*merged));
    uint32_t n = 0, a = 0, b = 0;

    if (!merged)
        return false;
    while (a < loop->ranges || b < from->ranges) {
        bool own = b == from->ranges || (a < loop->ranges && loop->range[a].first <= from->range[b].first);
        struct loop_ranks next = own ? loop->range[a++] : from->range[b++];
        if (n > 0 && (uint64_t) merged[n - 1].last + 1 >= next.first) {
            if (next.last > merged[n - 1].last)
                merged[n - 1].last = next.last;
        } else {
            merged[n++] = next;
        }
    }
    free(loop->range);
    loop->range = merged;
    loop->ranges = n;
    return true;
}

static void add_numbers(struct loop *loop, const struct loop *from)
{
    loop->iterations = add_times(loop->iterations, from->iterations);
    loop->loop_ns = add_times(loop->loop_ns, from->loop_ns);
    loop->mpi_ns = add_times(loop->mpi_ns, from->mpi_ns);
    if (from->ratio_min < loop->ratio_min)
        loop->ratio_min = from->ratio_min;
    if (from->ratio_max > loop->ratio_max)
        loop->ratio_max = from->ratio_max;
    if (!is_same_name(from->name, loop->name) && strcmp(from->name, loop->name) < 0)
        memcpy(loop->name, from->name, sizeof(loop->name));
}

static bool combine(struct loop *loop, const struct loop *from)
{
    if (!add_ranges(loop, from))
        return false;
    add_numbers(loop, from);
    for (uint32_t i = 0; i < loop->items && i < from->items; i++)
        loop->item[i].reentries = add_as_it_fits(loop->item[i].reentries, from->item[i].reentries);
    return true;
}

static void add_loop(struct loop_set *set, const struct loop *from)
{
    uint32_t low = 0, high = set->loops;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = compare_loops(&set->loop[middle], from);
        if (order == 0) {
            if (!combine(&set->loop[middle], from))
                set->dropped++;
            return;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    add_copy(set, low, from);
}

void loop_set_merge(struct loop_set *set, const struct loop_set *from)
{
    for (uint32_t i = 0; i < from->loops; i++)
        add_loop(set, &from->loop[i]);
    set->dropped = add_as_it_fits(set->dropped, from->dropped);
}

uint32_t loop_processes(const struct loop *loop)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < loop->ranges; i++)
        n += loop->range[i].last - loop->range[i].first + 1;
    return n;
}

/* ---- one process ------------------------------------------------------------------------------- */

struct loop_reduction {
    struct loop_set set;        /* of the processes before those of `like` */
    struct loop_set like;       /* of the last ones, whose graphs are equal */
    struct pmi_adapt_graph graph;       /* of one of those */
    uint32_t loop_of[PMI_ADAPT_GRAPH_NODES];    /* of a head */
    struct {
        uint32_t loop, item;    /* of `like`; NONE: nowhere */
    } position[PMI_ADAPT_GRAPH_NODES];
    struct loop_item item[PMI_ADAPT_GRAPH_NODES];       /* of all loops, one after the other */
    uint32_t node[PMI_ADAPT_GRAPH_NODES];       /* whose each is */
    uint64_t reentries[PMI_ADAPT_GRAPH_NODES];  /* of all processes of `like`, not in its items yet */
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

/* The loop whose item a node is: its own, or that which it is in the body of; nested loops are no items. */
static uint32_t loop_of_node(const struct loop_reduction *reduction, uint32_t node)
{
    uint32_t own = reduction->loop_of[node], head = reduction->graph.node[node].head;

    if (own != NONE || head == NONE)
        return own;
    return reduction->loop_of[head];
}

static bool is_message(uint32_t kind)
{
    return kind == LOOP_P2P || kind == LOOP_RMA;
}

/* N2: the items of each loop from first[loop] on, in the order of their nodes; those of messages are all one after
 * the other still. */
static void sort_items(struct loop_reduction *reduction, uint32_t * first, uint32_t * count)
{
    const struct pmi_adapt_graph *graph = &reduction->graph;
    uint32_t at = 0;

    memset(count, 0, graph->summary.loops * sizeof(*count));
    for (uint32_t i = 0; i < graph->summary.nodes; i++) {
        uint32_t loop = loop_of_node(reduction, i);
        reduction->position[i].loop = loop;
        if (loop != NONE)
            count[loop]++;
    }
    for (uint32_t loop = 0; loop < graph->summary.loops; loop++) {
        first[loop] = at;
        at += count[loop];
        count[loop] = 0;
    }
    for (uint32_t i = 0; i < graph->summary.nodes; i++) {
        uint32_t loop = reduction->position[i].loop;
        if (loop != NONE)
            reduction->node[first[loop] + count[loop]++] = i;
    }
}

/* The loop that probes has one item; its own messages and so on are not reported. */
static uint32_t keep_probe(struct loop_reduction *reduction, uint32_t first, uint32_t count)
{
    const struct pmi_adapt_graph *graph = &reduction->graph;
    uint32_t probe = NONE;

    for (uint32_t i = first; i < first + count; i++) {
        if (graph->node[reduction->node[i]].kind == LOOP_PROBE)
            probe = i;
    }
    if (probe == NONE)
        return 0;
    for (uint32_t i = first; i < first + count; i++)
        reduction->position[reduction->node[i]].item = 0;
    reduction->item[first] = (struct loop_item) {.id = graph->node[reduction->node[probe]].id,.kind = LOOP_PROBE };
    return 1;
}

/* Runs of messages become one item; the run at the end goes on at the beginning. */
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
            item[n++] = (struct loop_item) {.id = message ? 0 : node->id,.kind = message ? LOOP_P2P : node->kind };
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

/* N3: turned so that the smallest item is first. */
static bool make_loop(struct loop_reduction *reduction, struct loop *loop, uint32_t first, uint32_t count)
{
    uint32_t n = collapse(reduction, first, count);
    uint32_t turn = least_rotation(&reduction->item[first], n);

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

/* The loop around, or NONE. */
static uint32_t loop_around(const struct loop_reduction *reduction, uint32_t loop)
{
    uint32_t up = up_of(&reduction->graph, reduction->graph.loop[loop].head);
    return up == NONE ? NONE : reduction->loop_of[up];
}

/* N4: the path of the loops around, and the number among equal siblings, in the order of their heads. */
static void set_keys(struct loop_reduction *reduction, const uint64_t * items_hash)
{
    const struct pmi_adapt_graph *graph = &reduction->graph;
    struct loop *loop = reduction->like.loop;
    uint32_t loops = graph->summary.loops;

    for (uint32_t known = 0; known < loops;) {  /* outer ones first */
        for (uint32_t i = 0; i < loops; i++) {
            uint32_t around = loop_around(reduction, i);
            if (loop[i].key || (around != NONE && !loop[around].key))
                continue;
            loop[i].parent = around == NONE ? 0 : loop[around].key;
            for (uint32_t k = 0; k < loops; k++)
                loop[i].ordinal += k != i && loop_around(reduction, k) == around && items_hash[k] == items_hash[i] &&
                    graph->loop[k].head < graph->loop[i].head;
            loop[i].key = hash_word(hash_word(items_hash[i], loop[i].parent), loop[i].ordinal) | 1;
            known++;
        }
    }
}

static void begin_like(struct loop_reduction *reduction)
{
    uint32_t first[PMI_ADAPT_GRAPH_LOOPS], count[PMI_ADAPT_GRAPH_LOOPS];
    uint64_t items_hash[PMI_ADAPT_GRAPH_LOOPS];
    uint32_t loops = reduction->graph.summary.loops;

    memset(reduction->reentries, 0, reduction->graph.summary.nodes * sizeof(reduction->reentries[0]));
    find_heads(&reduction->graph, reduction->loop_of);
    sort_items(reduction, first, count);
    for (uint32_t i = 0; i < loops; i++) {
        struct loop *loop = insert(&reduction->like, i);
        if (!loop || !make_loop(reduction, loop, first[i], count[i])) {
            reduction->set.dropped += loops;
            loop_set_free(&reduction->like);
            return;
        }
        items_hash[i] = hash_items(loop->item, loop->items);
    }
    set_keys(reduction, items_hash);
}

/* By what the process reports, of two graphs of which the first is sound.  If that is not true the process' numbers are
 * taken for those of other loops, nothing else: its links are not followed. */
static bool is_homogeneous(const struct pmi_adapt_graph *a, const struct pmi_adapt_graph *b)
{
    if (!pmi_adapt_has_nodes_of(&a->summary, &b->summary))
        return false;
    for (uint32_t i = 0; i < a->summary.loops; i++) {
        if (!are_times(&b->loop[i]) || (!is_same_name(a->loop[i].name, b->loop[i].name) && !is_name(b->loop[i].name)))
            return false;
    }
    return true;
}

/* The re-entries of the nodes into their items. */
static void add_reentries(struct loop_reduction *reduction)
{
    for (uint32_t i = 0; i < reduction->graph.summary.nodes; i++) {
        uint64_t sum = reduction->reentries[i];
        if (sum == 0 || reduction->position[i].loop == NONE)
            continue;
        struct loop_item *item = &reduction->like.loop[reduction->position[i].loop].item[reduction->position[i].item];
        item->reentries = add_as_it_fits(item->reentries, sum > UINT32_MAX ? UINT32_MAX : (uint32_t) sum);
    }
}

static void finish_like(struct loop_reduction *reduction)
{
    if (reduction->like.loops > 0)
        add_reentries(reduction);
    loop_set_merge(&reduction->set, &reduction->like);
    loop_set_free(&reduction->like);
}

/* Ranks mostly rise. */
static bool add_rank(struct loop *loop, uint32_t rank)
{
    struct loop_ranks one = { rank, rank };
    struct loop from = {.ranges = 1,.range = &one };

    if (loop->ranges > 0 && loop->range[loop->ranges - 1].last + UINT64_C(1) == rank) {
        loop->range[loop->ranges - 1].last = rank;
        return true;
    }
    if (loop->ranges > 0)
        return add_ranges(loop, &from);
    loop->range[0] = one;
    loop->ranges = 1;
    return true;
}

static uint32_t ratio_of(const struct pmi_adapt_graph_loop *measured)
{
    return (uint32_t) ((double) measured->mpi_ns / (double) measured->loop_ns * LOOP_PPM + 0.5);
}

/* The measurements of a loop by the process of this rank. */
static void add_measured(struct loop *loop, const struct pmi_adapt_graph_loop *measured, uint32_t rank)
{
    struct loop numbers = {.iterations = measured->iterations,.loop_ns = measured->loop_ns,
        .mpi_ns = measured->mpi_ns,.ratio_min = LOOP_NO_RATIO
    };

    memcpy(numbers.name, measured->name, sizeof(numbers.name));
    if (measured->loop_ns > 0)
        numbers.ratio_min = numbers.ratio_max = ratio_of(measured);
    if (loop->ranges == 0)
        memcpy(loop->name, numbers.name, sizeof(loop->name));
    if (add_rank(loop, rank))
        add_numbers(loop, &numbers);
}

int loop_reduction_add(struct loop_reduction *reduction, const struct pmi_adapt_graph *graph, uint32_t rank)
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

/* ---- the reader's ------------------------------------------------------------------------------ */

static bool share_processes(const struct loop *a, const struct loop *b)
{
    for (uint32_t i = 0, k = 0; i < a->ranges && k < b->ranges;) {
        if (a->range[i].last < b->range[k].first)
            i++;
        else if (b->range[k].last < a->range[i].first)
            k++;
        else
            return true;
    }
    return false;
}

/* Without messages, turned; the number of items. */
static uint32_t without_messages(const struct loop *loop, struct loop_item *item)
{
    struct loop_item left[LOOP_ITEMS_MAX];
    uint32_t n = 0;

    for (uint32_t i = 0; i < loop->items; i++) {
        if (loop->item[i].kind != LOOP_P2P)
            left[n++] = loop->item[i];
    }
    uint32_t turn = n > 0 ? least_rotation(left, n) : 0;
    for (uint32_t i = 0; i < n; i++)
        item[i] = left[(i + turn) % n];
    return n;
}

static bool is_same_but_for_messages(const struct loop *a, const struct loop *b)
{
    struct loop_item of_a[LOOP_ITEMS_MAX], of_b[LOOP_ITEMS_MAX];

    if (a->parent != b->parent || a->ordinal != b->ordinal || share_processes(a, b))
        return false;
    if (a->items == b->items && compare_sequences(a->item, b->item, a->items) == 0)
        return true;            /* the loops around were joined */
    uint32_t n = without_messages(a, of_a);
    return n > 0 && without_messages(b, of_b) == n && compare_sequences(of_a, of_b, n) == 0;
}

/* `other` goes, what is in it is in `loop` now. */
static void join(struct loop_set *set, uint32_t loop, uint32_t other)
{
    struct loop joined = set->loop[other];

    if (!combine(&set->loop[loop], &joined))
        set->dropped++;
    for (uint32_t i = 0; i < set->loops; i++) {
        if (set->loop[i].parent == joined.key)
            set->loop[i].parent = set->loop[loop].key;
    }
    set->loops--;
    memmove(&set->loop[other], &set->loop[other + 1], (set->loops - other) * sizeof(joined));
    free_loop(&joined);
}

/* The one with more processes stays, or the one with the smaller key. */
static bool join_one(struct loop_set *set, uint32_t processes)
{
    for (uint32_t a = 0; a < set->loops; a++) {
        uint32_t of_a = loop_processes(&set->loop[a]);
        for (uint32_t b = a + 1; b < set->loops && of_a < processes; b++) {
            if (!is_same_but_for_messages(&set->loop[a], &set->loop[b]))
                continue;
            if (loop_processes(&set->loop[b]) > of_a)
                join(set, b, a);
            else
                join(set, a, b);
            return true;
        }
    }
    return false;
}

void loop_set_join_alone(struct loop_set *set, uint32_t processes)
{
    while (join_one(set, processes));
}

void loop_set_renumber(struct loop_set *set, uint32_t limit, int64_t(*map) (void *context, uint32_t rank),
                       void *context)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < set->loops; i++) {
        struct loop *loop = &set->loop[i];
        struct loop renumbered = {.range = malloc(sizeof(loop->range[0])) };
        bool complete = renumbered.range != NULL;
        for (uint32_t r = 0; complete && r < loop->ranges; r++) {
            uint64_t end = loop->range[r].last < limit ? loop->range[r].last + UINT64_C(1) : limit;
            for (uint64_t rank = loop->range[r].first; complete && rank < end; rank++) {
                int64_t number = map(context, (uint32_t) rank);
                complete = number < 0 || add_rank(&renumbered, (uint32_t) number);
            }
        }
        free(loop->range);
        loop->range = renumbered.range;
        loop->ranges = renumbered.ranges;
        if (complete && loop->ranges > 0) {
            set->loop[count++] = *loop;
        } else {
            set->dropped++;
            free_loop(loop);
        }
    }
    set->loops = count;
}

/* ---- bytes ------------------------------------------------------------------------------------- */

struct set_head {
    uint32_t loops, dropped;
};

struct loop_head {
    uint64_t key, parent, iterations, loop_ns, mpi_ns;
    uint32_t ordinal, ratio_min, ratio_max, items, ranges, pad;
    char name[PMI_ADAPT_LOOP_NAME_MAX];
};

size_t loop_set_bytes(const struct loop_set *set)
{
    size_t bytes = sizeof(struct set_head);

    for (uint32_t i = 0; i < set->loops; i++)
        bytes += sizeof(struct loop_head) + set->loop[i].items * sizeof(struct loop_item) +
            set->loop[i].ranges * sizeof(struct loop_ranks);
    return bytes;
}

static char *put(char *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return to + bytes;
}

void loop_set_write(const struct loop_set *set, void *bytes)
{
    const struct set_head head = { set->loops, set->dropped };
    char *to = put(bytes, &head, sizeof(head));

    for (uint32_t i = 0; i < set->loops; i++) {
        const struct loop *loop = &set->loop[i];
        struct loop_head one = {.key = loop->key,.parent = loop->parent,.iterations = loop->iterations,
            .loop_ns = loop->loop_ns,.mpi_ns = loop->mpi_ns,.ordinal = loop->ordinal,
            .ratio_min = loop->ratio_min,.ratio_max = loop->ratio_max,.items = loop->items,.ranges = loop->ranges
        };
        memcpy(one.name, loop->name, sizeof(one.name));
        to = put(to, &one, sizeof(one));
        to = put(to, loop->item, loop->items * sizeof(loop->item[0]));
        to = put(to, loop->range, loop->ranges * sizeof(loop->range[0]));
    }
}

struct reader {
    const char *at;
    size_t left;
};

static bool take(struct reader *reader, void *to, size_t bytes)
{
    if (bytes > reader->left)
        return false;
    memcpy(to, reader->at, bytes);
    reader->at += bytes;
    reader->left -= bytes;
    return true;
}

static bool is_ratio(const struct loop_head *head)
{
    if (head->ratio_min == LOOP_NO_RATIO)
        return head->ratio_max == 0;
    return head->ratio_min <= head->ratio_max && head->ratio_max <= LOOP_PPM;
}

static bool are_items(const struct loop *loop)
{
    for (uint32_t i = 0; i < loop->items; i++) {
        uint32_t kind = loop->item[i].kind;
        if (kind >= LOOP_KINDS || kind == LOOP_RMA || (kind == LOOP_P2P && loop->item[i].id != 0))
            return false;
    }
    return true;
}

static bool are_ranges(const struct loop *loop)
{
    for (uint32_t i = 0; i < loop->ranges; i++) {
        if (loop->range[i].first > loop->range[i].last ||
            (i > 0 && (uint64_t) loop->range[i - 1].last + 1 >= loop->range[i].first))
            return false;
    }
    return true;
}

/* Its allocations belong to `loop` also if it fails. */
static bool read_loop(struct reader *reader, struct loop *loop)
{
    struct loop_head head;

    *loop = (struct loop) { 0 };
    if (!take(reader, &head, sizeof(head)) || head.items == 0 || head.items > LOOP_ITEMS_MAX || head.ranges == 0 ||
        head.items > reader->left / sizeof(struct loop_item) ||
        head.ranges > reader->left / sizeof(struct loop_ranks) || head.key == 0 || head.mpi_ns > head.loop_ns ||
        !is_ratio(&head) || !is_name(head.name))
        return false;
    *loop = (struct loop) {.key = head.key,.parent = head.parent,.iterations = head.iterations,
        .loop_ns = head.loop_ns,.mpi_ns = head.mpi_ns,.ordinal = head.ordinal,.ratio_min = head.ratio_min,
        .ratio_max = head.ratio_max,.items = head.items,.ranges = head.ranges,
        .item = malloc(head.items * sizeof(struct loop_item)),
        .range = malloc(head.ranges * sizeof(struct loop_ranks))
    };
    memcpy(loop->name, head.name, sizeof(loop->name));
    return loop->item && loop->range && take(reader, loop->item, head.items * sizeof(loop->item[0])) &&
        take(reader, loop->range, head.ranges * sizeof(loop->range[0])) && are_items(loop) && are_ranges(loop);
}

int loop_set_read(struct loop_set *set, const void *bytes, size_t n)
{
    struct reader reader = { bytes, n };
    struct set_head head;

    if (!take(&reader, &head, sizeof(head)) || head.loops > LOOP_SET_MAX)
        return 0;
    set->dropped = head.dropped;
    for (uint32_t i = 0; i < head.loops; i++) {
        struct loop loop;
        bool good = read_loop(&reader, &loop) && (i == 0 || compare_loops(&set->loop[i - 1], &loop) < 0);
        struct loop *position = good ? insert(set, i) : NULL;
        if (!position) {
            free_loop(&loop);
            loop_set_free(set);
            return 0;
        }
        *position = loop;
    }
    if (reader.left > 0)
        loop_set_free(set);
    return reader.left == 0;
}
