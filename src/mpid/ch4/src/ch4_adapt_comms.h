/*
 * The communicators of a window: that of the union, new_comm_world, intercomm; with them the next
 * MPI_COMM_WORLD (ch4_adapt_world.h).  State: communicators that are made and not yet returned by
 * begin (the union's is in ch4_adapt_window.h).
 */

#ifndef CH4_ADAPT_COMMS_H_INCLUDED
#define CH4_ADAPT_COMMS_H_INCLUDED

#include "ch4_adapt.h"

/* A map of `size` processes, from index `first` of the table on. */
MPIDI_rank_map_t MPIDI_Adapt_range_map(int first, int size);
/* A map of `size` processes, whose indices the caller writes into map->irreg.lut.lpid by rank; its
 * communicator frees it. */
int MPIDI_Adapt_table_map(int size, MPIDI_rank_map_t * map);
extern const MPIDI_rank_map_t MPIDI_Adapt_no_map;
/* MPIR_Comm_commit with these maps. */
int MPIDI_Adapt_commit_comm(MPIR_Comm * comm, MPIDI_rank_map_t map, MPIDI_rank_map_t local_map);

/* Writes the union indices of the new world's members by new rank (W2), and returns their number.
 * The window is set. */
int MPIDI_Adapt_new_members(const struct pmi_adapt_plan *plan, int *list);

/* Called in the window: make the union's communicator, and all communicators, unless they are
 * prebuilt. */
int MPIDI_Adapt_make_union(const struct pmi_adapt_plan *plan);
int MPIDI_Adapt_make_comms(const struct pmi_adapt_plan *plan, int index);
/* Passes their ownership to the caller. */
void MPIDI_Adapt_take_comms(MPIR_Comm ** intercomm, MPIR_Comm ** new_world);

/* On a pre-existing process, while the table in use is still the world's: makes the communicators
 * of the window over this table. */
int MPIDI_Adapt_prebuild_comms(const struct pmi_adapt_plan *plan, int index,
                               MPIDI_av_table_t * union_table);
/* The adaptation is withdrawn. */
int MPIDI_Adapt_drop_prebuilt_comms(void);

#endif /* CH4_ADAPT_COMMS_H_INCLUDED */
