/*
 * State of this process in the adaptations of its job, internal to src/mpi/adapt.
 *
 *   OFF      before initialisation, after MPI_Finalize, and in programs that called MPI_Init
 *   ALONE    adaptive program without (extended) process manager: gets no adaptations
 *   RUNNING  an ordinary member; as far as it knows, no adaptation is agreed on
 *   TOLD     a probe has returned TRUE
 *   JOINING  created for an expansion, begin not yet called
 *   WINDOW   between begin and commit
 *   COMMITTED  as RUNNING, before the first probe; the previous world's resources still exist
 *   LEFT     left its job (MPIR_CVAR_ADAPT_LEAVERS_RETURN, MPIX_Comm_modify): alone from now on
 *   MODIFIED  rigid program that has called MPIX_Comm_modify: a member as in RUNNING, but without
 *             other adaptations
 *
 * The thread that holds the library's critical section owns the state.
 */

#ifndef ADAPT_H_INCLUDED
#define ADAPT_H_INCLUDED

#include "mpiimpl.h"
#include "connect_board.h"
#include "mpir_adapt.h"
#include "mpir_adapt_device.h"
#include "pmi_adapt.h"

typedef enum {
    MPIR_ADAPT_STATE__OFF,
    MPIR_ADAPT_STATE__ALONE,
    MPIR_ADAPT_STATE__RUNNING,
    MPIR_ADAPT_STATE__TOLD,
    MPIR_ADAPT_STATE__JOINING,
    MPIR_ADAPT_STATE__WINDOW,
    MPIR_ADAPT_STATE__COMMITTED,
    MPIR_ADAPT_STATE__LEFT,
    MPIR_ADAPT_STATE__MODIFIED
} MPIR_Adapt_state_t;

typedef struct {
    MPIR_Adapt_state_t state;
    bool adaptive;              /* has called MPI_Init_adapt */
    uint64_t count;             /* probes since start or last commit */
    /* epoch of the last commit; of a joining process: the epoch before it joins */
    unsigned epoch;

    /* pending adaptation; the plan may be withdrawn and replaced until the process is notified */
    const struct pmi_adapt_plan *plan;  /* on the board (adapt_plan.c), NULL: not known */
    uint32_t plan_serial;
    /* data of the plan, for the probe that returns TRUE; NULL: not made, or passed to the
     * program */
    MPIR_Info *info;
    int prepared;               /* as much as possible is prepared for the plan before begin */
    int leaving;
    bool modifying;             /* in MPIX_Comm_modify */
} MPIR_Adapt_t;

extern MPIR_Adapt_t MPIR_Adapt;

/* ---- adapt_init.c ---- */
/* Whether the operations on adaptations are errors, because the program has not called
 * MPI_Init_adapt. */
bool MPIR_Adapt_is_rigid(void);
/* The end of MPI_Init, of a rigid or an adaptive program. */
int MPIR_Adapt_complete_init(void);
/* The process becomes an ordinary member, or a joining one, and sends its addresses to the
 * proxy. */
int MPIR_Adapt_begin_membership(void);

/* ---- adapt_state.c ---- */
/* Sleeps until the board's `wake` differs from seen, for at most some milliseconds (fewer if others
 * may be connecting to this process); then makes progress, so that no process depends on a sleeping
 * one. */
int MPIR_Adapt_board_wait(uint32_t seen);
/* Sets the progress of this process, for reports of the step manager (stragglers, and processes
 * that hang in the window). */
void MPIR_Adapt_set_phase(enum pmi_adapt_phase phase);

/* ---- adapt_plan.c ---- */

/* Whether the board holds the plan of this epoch; *serial is the serial number of its present or
 * last plan. */
bool MPIR_Adapt_has_plan(unsigned epoch, uint32_t * serial);
/* The plan of this epoch as it is on the board now, for reading until MPIR_Adapt_unmap_plan; NULL:
 * there is none. */
int MPIR_Adapt_map_plan(unsigned epoch, const struct pmi_adapt_plan **plan, uint32_t * serial);
void MPIR_Adapt_unmap_plan(void);

/* ---- adapt_prepare.c ---- */

/* Notifies the proxy if this was the last of the board's processes to prepare, or to be
 * preconnected. */
int MPIR_Adapt_report_prepared(unsigned epoch);
int MPIR_Adapt_report_greeted(unsigned epoch);
/* Called by a probe that returns FALSE: prepares this process for the next epoch if its plan
 * exists. */
void MPIR_Adapt_prepare_early(void);
/* Sets MPIR_Adapt.plan to the plan of this epoch, which is on the board and stays there. */
int MPIR_Adapt_need_plan(unsigned epoch);
/* After the commit: ends the plan.  MPIR_Adapt_reclaim releases the rest of the previous world. */
void MPIR_Adapt_end_plan(void);
int MPIR_Adapt_reclaim(void);
/* At MPI_Finalize: releases all that has been prepared or is left. */
int MPIR_Adapt_drop_plan(void);

/* ---- adapt_probe.c ---- */
/* Makes the data of the plan that a probe returns (P2), before the program stands still; no data if
 * memory is lacking. */
void MPIR_Adapt_prebuild_info(void);

/* After the agreement: determines from the plan whether this process leaves. */
int MPIR_Adapt_find_own_status(void);

/* ---- adapt_window.c ---- */
/* Ends the job: it is too late for the call to fail without effect, because other processes have
 * continued and rely on this one. */
void MPIR_Adapt_end_job(const char *call, int mpi_errno) ATTRIBUTE((noreturn));
/* Whether this process ends in commit. */
bool MPIR_Adapt_ends_in_commit(void);

/* ---- adapt_modify.c ---- */
/* Called at the end of MPI_Init in a process that MPIX_Comm_modify creates: it enters the world. */
int MPIR_Adapt_enter_world(void);

/* ---- adapt_size_request.c ---- */
struct pmi_adapt_request_end;
/* Rank 0 requests a world of this size, for MPIX_Comm_modify; and whether that request has
 * ended. */
int MPIR_Adapt_request_modify(int size, uint32_t * number);
bool MPIR_Adapt_request_has_ended(uint32_t number, struct pmi_adapt_request_end *end);

/* ---- adapt_unable.c ---- */
/* The reason in words: the last line of an error's text, which is written into `text`. */
const char *MPIR_Adapt_reason_of(int mpi_errno, char *text, int bytes);
/* This process cannot take part, for the reason in the error code: the adaptation is withdrawn if
 * the world has not been notified yet. */
void MPIR_Adapt_report_unable(unsigned epoch, int mpi_errno);
/* The same for a joining process, which waits until it is ended; returns if it is too late for a
 * withdrawal. */
void MPIR_Adapt_await_removal(int mpi_errno);

/* ---- adapt_unreceived.c ---- */

/* Called when all processes are in commit and the ending communicators still exist: drops the
 * messages on them that were not received.  mpiexec is notified of them; `notified`: whether there
 * were any. */
int MPIR_Adapt_drop_unreceived(unsigned epoch, bool * notified);

/* ---- adapt_pvars.c ---- */
/* Registers all performance variables, with the counter of rendezvous, which belongs to
 * sessions. */
void MPIR_Adapt_add_pvars(unsigned long long *rendezvous);
/* Time that a staying process spent in the library because of the present adaptation. */
void MPIR_Adapt_count_standstill(double seconds);
void MPIR_Adapt_count_joining_wait(double seconds);
double MPIR_Adapt_seconds_since(MPL_time_t start);
/* The present adaptation has been committed. */
void MPIR_Adapt_count_commit(void);

/* ---- mpir_init.c ---- */
/* Called when a leaving process ends, also with open sessions: the next MPI_Finalize is the last
 * one. */
void MPIR_Adapt_end_sessions(void);

#endif /* ADAPT_H_INCLUDED */
