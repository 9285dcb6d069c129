/*
 * State of this process in the adaptations of its job, internal to src/mpi/adapt.
 *
 *   OFF      before initialisation, after MPI_Finalize, and in programs that called MPI_Init
 *   ALONE    adaptive program without (extended) process manager: never offered anything
 *   RUNNING  an ordinary member, nothing known to be pending
 *   TOLD     a probe has answered TRUE
 *   JOINING  created for an expansion, begin not yet called
 *   WINDOW   between begin and commit
 *   LEFT     left its job (MPIR_CVAR_ADAPT_LEAVERS_RETURN): alone from now on
 *
 * Owned by whichever thread holds the library's critical section.
 */

#ifndef ADAPT_H_INCLUDED
#define ADAPT_H_INCLUDED

#include "mpiimpl.h"
#include "mpir_adapt.h"
#include "pmi_adapt.h"

typedef enum {
    MPIR_ADAPT_STATE__OFF,
    MPIR_ADAPT_STATE__ALONE,
    MPIR_ADAPT_STATE__RUNNING,
    MPIR_ADAPT_STATE__TOLD,
    MPIR_ADAPT_STATE__JOINING,
    MPIR_ADAPT_STATE__WINDOW,
    MPIR_ADAPT_STATE__LEFT
} MPIR_Adapt_state_t;

typedef struct {
    MPIR_Adapt_state_t state;
    uint64_t count;             /* probes since start or last commit */
    unsigned epoch;             /* of the last commit; of a joining process: the one before it joins */

    /* the board; NULL without the extension */
    struct pmi_adapt_control *control;
    struct pmi_adapt_slot *slot;
    size_t board_bytes;
    int board_fd;

    /* what the daemon told at start */
    unsigned uid;
    unsigned join_epoch;        /* 0: process of the launch */
    int pre, local_pre;         /* joining only: pre-existing processes, those of this host */

    /* pending adaptation */
    const struct pmi_adapt_plan *plan;
    size_t plan_bytes;
    int leaving;
} MPIR_Adapt_t;

extern MPIR_Adapt_t MPIR_Adapt;

/* ---- adapt_board.c ---- */
/* Maps the board that PMI_ADAPT names.  No MPI is needed.  Without the variable, or where it is not
 * for this process, nothing happens. */
void MPIR_Adapt_board_open(void);
void MPIR_Adapt_board_close(void);
/* Whether the board belongs to this process' group; asks PMI for its name, so after MPI_Init. */
int MPIR_Adapt_board_is_ours(void);
/* One-way message to the daemon, printf-like; the newline is added. */
int MPIR_Adapt_tell_daemon(const char *format, ...) ATTRIBUTE((format(printf, 1, 2)));
/* Sleeps until the board's `wake` differs from seen, for at most some milliseconds; then makes
 * progress, so that other processes never depend on a sleeper. */
int MPIR_Adapt_board_wait(uint32_t seen);
void MPIR_Adapt_set_phase(enum pmi_adapt_phase phase);
int MPIR_Adapt_map_plan(void);
void MPIR_Adapt_unmap_plan(void);

/* ---- adapt_pvars.c ---- */
/* A survivor spent so many seconds in the library because of the adaptation under way. */
void MPIR_Adapt_count_standstill(double seconds);
void MPIR_Adapt_count_joining_wait(double seconds);
double MPIR_Adapt_seconds_since(MPL_time_t start);
/* The adaptation under way has been committed. */
void MPIR_Adapt_count_commit(void);

/* ---- mpir_init.c ---- */
/* A leaving process ends, whatever sessions it still has: the next MPI_Finalize is the last one. */
void MPIR_Adapt_end_sessions(void);

#endif /* ADAPT_H_INCLUDED */
