/*
 * Internal interface of the files about loops (loop_set.h).
 */

#ifndef WIRE_LOOP_PARTS_H_INCLUDED
#define WIRE_LOOP_PARTS_H_INCLUDED

#include <stdbool.h>

#include "loop_set.h"

#define LOOP_NONE PMI_ADAPT_GRAPH_NONE

/* ---- loop_graph.c ---- */

/* The head of the loop around the node, or LOOP_NONE. */
uint32_t loop_up_of(const struct pmi_adapt_graph *graph, uint32_t node);
/* Whether the text is printable and ended by 0. */
bool loop_is_name(const char *name);
bool loop_is_same_name(const char *a, const char *b);
bool loop_are_times(const struct pmi_adapt_graph_loop *loop);
/* `loop_of`: for each node the number of the loop whose head it is, or LOOP_NONE.  False: the heads
 * are not consistent. */
bool loop_find_heads(const struct pmi_adapt_graph *graph, uint32_t * loop_of);

/* ---- loop_items.c ---- */

int loop_compare_numbers(uint64_t a, uint64_t b);
int loop_compare_sequences(const struct loop_item *a, const struct loop_item *b, uint32_t items);
/* The begin of the least rotation of the sequence; linear time. */
uint32_t loop_least_rotation(const struct loop_item *item, uint32_t n);
uint64_t loop_hash_word(uint64_t hash, uint64_t word);
uint64_t loop_hash_items(const struct loop_item *item, uint32_t items);

/* ---- loop_set.c ---- */

uint32_t loop_add_as_it_fits(uint32_t a, uint32_t b);
/* Frees the allocations of the loop. */
void loop_free(struct loop *loop);
int loop_compare(const struct loop *a, const struct loop *b);
/* Makes space for one more loop at `at`; NULL: there is none. */
struct loop *loop_set_insert(struct loop_set *set, uint32_t at);
/* Adds a rank; fast if ranks are added in ascending order.  False: no memory. */
bool loop_add_rank(struct loop *loop, uint32_t rank);
void loop_add_numbers(struct loop *loop, const struct loop *from);
/* Adds numbers, items and processes of `from`. False: no memory, and nothing has changed. */
bool loop_combine(struct loop *loop, const struct loop *from);

#endif /* WIRE_LOOP_PARTS_H_INCLUDED */
