/*
 * The communicators of a window: that of the union, new_comm_world, intercomm; with them the coming
 * MPI_COMM_WORLD (ch4_adapt_world.h).  State: those that are made and not yet returned by begin
 * (the union's is in ch4_adapt_window.h).
 */

#ifndef CH4_ADAPT_COMMS_H_INCLUDED
#define CH4_ADAPT_COMMS_H_INCLUDED

#include "ch4_adapt.h"

/* Of so many processes from an index of the table on. */
MPIDI_rank_map_t MPIDI_Adapt_range_map(int first, int size);
/* Of so many processes, whose indices the caller writes into map->irreg.lut.lpid by rank; its
 * communicator frees it. */
int MPIDI_Adapt_table_map(int size, MPIDI_rank_map_t * map);
extern const MPIDI_rank_map_t MPIDI_Adapt_no_map;
/* MPIR_Comm_commit with these maps. */
int MPIDI_Adapt_commit_comm(MPIR_Comm * comm, MPIDI_rank_map_t map, MPIDI_rank_map_t local_map);

/* Union indices of the new world's members by new rank (W2); their number.  The window is set. */
int MPIDI_Adapt_new_members(const struct pmi_adapt_plan *plan, int *list);

/* In the window, where that has not been done in advance: the union's communicator; all of them. */
int MPIDI_Adapt_make_union(const struct pmi_adapt_plan *plan);
int MPIDI_Adapt_make_comms(const struct pmi_adapt_plan *plan, int index);
/* They are the caller's. */
void MPIDI_Adapt_take_comms(MPIR_Comm ** intercomm, MPIR_Comm ** new_world);

/* Of a process that was there before, while the table in use is still the world's: makes the
 * communicators of the window over this one. */
int MPIDI_Adapt_prebuild_comms(const struct pmi_adapt_plan *plan, int index,
                               MPIDI_av_table_t * union_table);
/* The adaptation is withdrawn. */
int MPIDI_Adapt_drop_prebuilt_comms(void);

#endif /* CH4_ADAPT_COMMS_H_INCLUDED */
