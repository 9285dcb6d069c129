/*
 * The connections of this process to its job: the adapt board (pmi_adapt.h), which it shares with
 * the proxy, and the messages to the proxy.  Adaptations, sessions and process requests use this
 * file; it depends on none of them.
 *
 * The thread that holds the library's critical section owns the state.
 */

#ifndef CONNECT_BOARD_H_INCLUDED
#define CONNECT_BOARD_H_INCLUDED

#include "mpiimpl.h"
#include "pmi_adapt.h"
#include <stdbool.h>

extern struct MPIR_Board {
    /* NULL: it is not open */
    struct pmi_adapt_control *control;
    struct pmi_adapt_slot *slot;
    size_t bytes;
    int fd;

    /* sent by the proxy at the start */
    unsigned uid;
    unsigned join_epoch;        /* 0: process of the launch */
    int pre, local_pre;         /* joining only: pre-existing processes, those of this host */
    /* joining only: created by MPIX_Comm_modify, so that it is in the world when MPI_Init
     * returns */
    bool created;

    /* this process has requested changes through process sets, or was started by one */
    bool changes_by_sets;
} MPIR_Board;

/* ---- connect_board.c ---- */
/* Maps the board that PMI_ADAPT names; works before MPI is initialised.  Without the variable, or
 * if it is not for this process, nothing happens. */
void MPIR_Board_open(void);
void MPIR_Board_close(void);
/* Whether this process was started by an addition, and its number in the job.  Works before any
 * initialisation. */
bool MPIR_Board_joins(unsigned *uid);
/* Whether MPIX_Comm_modify creates this process.  Works before any initialisation. */
bool MPIR_Board_is_created(void);
/* Whether the board belongs to this process' group; queries PMI for its name, so after MPI_Init. */
int MPIR_Board_is_ours(void);
/* One-way message to the proxy, printf-like; the newline is added. */
int MPIR_Board_notify_proxy(const char *format, ...) ATTRIBUTE((format(printf, 1, 2)));

/* ---- connect_replies.c ---- */
/* The slot's count of replies (pmi_adapt_set.h), also in a process that does not adapt: the board
 * stays mapped from then on.  NULL: there is no board. */
uint32_t *MPIR_Board_answered(void);
/* The slot's entries for texts of process sets; NULL before the first call of
 * MPIR_Board_answered. */
struct pmi_adapt_bcast *MPIR_Board_bcasts(void);
/* The PMI_SET_CREATIONS_MAX entries of this process' slot; NULL: there is no board. */
uint64_t *MPIR_Board_creations(void);
/* The part of the board with `offer` and `invalidations`; NULL before the first call of
 * MPIR_Board_answered. */
const struct pmi_adapt_control *MPIR_Board_words(void);
/* The slot's entries for replies; NULL before the first call of MPIR_Board_answered. */
struct pmi_adapt_answer *MPIR_Board_answers(void);
/* Waits for a moment until *answered differs from seen, and yields the processor meanwhile; then
 * makes progress. */
int MPIR_Board_spin_for_answer(const uint32_t * answered, uint32_t seen);
/* Sleeps until *answered differs from seen, for at most some milliseconds; then makes progress. */
int MPIR_Board_await_answer(const uint32_t * answered, uint32_t seen);

#endif /* CONNECT_BOARD_H_INCLUDED */
