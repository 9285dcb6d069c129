/*
 * The adapt board: memory that one proxy shares with the processes it started.  pmi_adapt.h has the
 * layout and the protocol; this file is the proxy's side of them.  Only the proxy writes the
 * control words.  Only its process writes a slot, and the slot keeps the last state of a process
 * that has ended.  Owner: one struct HYD_board per hydra_pmi_proxy, used from its event loop only.
 * No function blocks.  Protocol clauses P1, P3, P4, P7, C7.
 */

#ifndef BOARD_H_INCLUDED
#define BOARD_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "pmi_adapt.h"
#include "plan_areas.h"

struct HYD_board {
    int fd;                     /* memfd, inherited by the processes; -1: no board */
    struct pmi_adapt_control *control;
    struct pmi_adapt_slot *slots;
    /* mapped bytes: control, slots, graphs and size requests, not the plan */
    size_t bytes;
    unsigned char *ended;       /* by slot: its process has ended */
    struct HYD_plan_areas plans;
    int64_t assigned_us;          /* monotonic time of the last plan, */
    uint64_t assigned_count;      /* and the greatest count then */
};

/* 0, or an errno value after complete cleanup. */
int HYD_board_create(struct HYD_board *board, const char *group, int slots);
void HYD_board_destroy(struct HYD_board *board);

/* Puts a valid plan (pmi_adapt_plan.h) on the board; `participants` local processes take part in
 * it.  Does not change plans that processes still read. 0 or errno. */
int HYD_board_assign(struct HYD_board *board, const struct pmi_adapt_plan *plan, size_t bytes,
                    uint32_t participants);
/* Step 4.  Returns the ceiling: no process passes that probe before target or thaw.  It is `margin`
 * probes above the greatest count.  Margin 0: the number of probes of the fastest process in 2 ms
 * at its rate since the plan was stored, 1 to 8. */
uint64_t HYD_board_freeze(struct HYD_board *board, uint64_t margin);
void HYD_board_target(struct HYD_board *board, uint32_t epoch, uint64_t target);
void HYD_board_thaw(struct HYD_board *board);
void HYD_board_release(struct HYD_board *board, uint32_t epoch);
/* Whether all processes of the board that take part have committed the plan on it. */
int HYD_board_committed(const struct HYD_board *board);
/* Counts a process that has requested to be counted. */
void HYD_board_count_committed(struct HYD_board *board, uint32_t epoch);
/* Whether the process is in MPI_Init, or has ended there; only with -disable-auto-cleanup. */
int HYD_board_in_init(const struct HYD_board *board, int slot);
/* Whether an adaptation has been agreed on that is neither released nor thawed. */
int HYD_board_in_window(const struct HYD_board *board);
/* The time that the process of this slot has been in its phase; 0 if unknown. */
uint64_t HYD_board_phase_ms(const struct HYD_board *board, int slot);
/* The loops that the process of this slot has written (pmi_adapt_measured.h). */
struct pmi_adapt_graph;
const struct pmi_adapt_graph *HYD_board_graph(const struct HYD_board *board, int slot);
/* Ends of the size requests of this slot's process (pmi_adapt_request.h). */
struct pmi_adapt_request_ends;
struct pmi_adapt_request_ends *HYD_board_request_ends(struct HYD_board *board, int slot);
/* Counts by this slot's process of calls for broadcasts of process sets: PMI_SET_BCASTS_MAX entries
 * (pmi_adapt_set.h). */
struct pmi_adapt_bcast;
struct pmi_adapt_bcast *HYD_board_bcasts(struct HYD_board *board, int slot);
/* Whether this slot's process is making the communicator with this number. */
int HYD_board_makes(const struct HYD_board *board, int slot, uint64_t creation);
/* Puts the reply to this call on the board; 0: there is no space. */
int HYD_board_answer(struct HYD_board *board, int slot, uint32_t id, const void *answer,
                     size_t bytes);
/* Notifies the process of this slot that a reply is ready (pmi_adapt_set.h). */
void HYD_board_answered(struct HYD_board *board, int slot);
/* Sets the tag of the change through process sets that waits for a query, 0: none. */
void HYD_board_set_offer(struct HYD_board *board, uint32_t offer);
void HYD_board_set_by_sets(struct HYD_board *board);
/* Invalidates the data of process sets that processes cache. */
void HYD_board_invalidate(struct HYD_board *board);
uint32_t HYD_board_invalidations(const struct HYD_board *board);
/* Sets the interval at which processes write their loops; 0: they measure nothing from their next
 * probe on. */
void HYD_board_set_interval(struct HYD_board *board, uint32_t interval_ms);
/* The process of this slot has ended: it takes part in no later freeze. */
void HYD_board_ended(struct HYD_board *board, int slot);

#endif /* BOARD_H_INCLUDED */
