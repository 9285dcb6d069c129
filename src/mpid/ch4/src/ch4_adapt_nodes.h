/*
 * The node of each process, and the fields of MPIR_Process for the world, with the values that
 * MPIR_pmi_init sets at a launch.  No state of its own.
 */

#ifndef CH4_ADAPT_NODES_H_INCLUDED
#define CH4_ADAPT_NODES_H_INCLUDED

#include "ch4_adapt.h"

/* Node ids of a list of union indices, numbered by first appearance, as at a launch. */
typedef struct {
    int *node_of;
    int num_nodes;
} MPIDI_Adapt_nodes_t;

/* Whether two processes of the plan are on one node.  With MPIR_CVAR_NOLOCAL each process has a
 * node of its own, as at a launch: shared memory is not used, and no segment is made. */
bool MPIDI_Adapt_is_same_node(const struct pmi_adapt_plan *plan, int i, int j);
/* Nodes of n processes; without a list: of the first n of the union. */
int MPIDI_Adapt_make_nodes(const struct pmi_adapt_plan *plan, const int *list, int n,
                           MPIDI_Adapt_nodes_t * result);
/* Moves them to MPIR_Process, which then owns them. */
void MPIDI_Adapt_set_nodes(const MPIDI_Adapt_nodes_t * map);
/* Sets MPIR_Process for a world of the n processes of the list, in which this process has this
 * rank. */
int MPIDI_Adapt_set_process(const struct pmi_adapt_plan *plan, const int *list, int n, int rank);

#endif /* CH4_ADAPT_NODES_H_INCLUDED */
