/*
 * State of this process in the adaptations of its job, internal to src/mpi/adapt.
 *
 *   OFF      before initialisation, after MPI_Finalize, and in programs that called MPI_Init
 *   ALONE    adaptive program without (extended) process manager: never offered anything
 *   RUNNING  an ordinary member, nothing agreed as far as it knows
 *   TOLD     a probe has answered TRUE
 *   JOINING  created for an expansion, begin not yet called
 *   WINDOW   between begin and commit
 *   COMMITTED  as RUNNING, before the first probe; what the previous world used is still there
 *   LEFT     left its job (MPIR_CVAR_ADAPT_LEAVERS_RETURN, MPIX_Comm_modify): alone from now on
 *   MODIFIED  rigid program that has called MPIX_Comm_modify: a member as in RUNNING, but never
 *             offered anything
 *
 * Owned by whichever thread holds the library's critical section.
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
    /* of the last commit; of a joining process: the one before it joins */
    unsigned epoch;

    /* pending adaptation; the plan may be withdrawn and replaced until the process is notified */
    const struct pmi_adapt_plan *plan;  /* on the board (adapt_plan.c), NULL: not known */
    uint32_t plan_serial;
    /* about the plan, for the probe that returns TRUE; NULL: not made, or given away */
    MPIR_Info *info;
    int prepared;               /* for the plan, as far as it is possible before begin */
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
 * may be connecting to this process); then makes progress, so that nobody ever depends on a
 * sleeper. */
int MPIR_Adapt_board_wait(uint32_t seen);
/* How far this process is, for reports of the step manager (stragglers, and processes that hang in
 * the window). */
void MPIR_Adapt_set_phase(enum pmi_adapt_phase phase);

/* ---- adapt_plan.c ---- */

/* Whether the board holds the plan of this epoch; the serial number of what it holds or held
 * last. */
bool MPIR_Adapt_has_plan(unsigned epoch, uint32_t * serial);
/* The plan of this epoch as it is on the board now, for reading until MPIR_Adapt_unmap_plan; NULL:
 * there is none. */
int MPIR_Adapt_map_plan(unsigned epoch, const struct pmi_adapt_plan **plan, uint32_t * serial);
void MPIR_Adapt_unmap_plan(void);

/* ---- adapt_prepare.c ---- */

/* Notifies the proxy when this was the last of the board's processes to prepare, or to be
 * preconnected. */
int MPIR_Adapt_report_prepared(unsigned epoch);
int MPIR_Adapt_report_greeted(unsigned epoch);
/* A probe that answers FALSE: is there a plan for the next epoch?  Then this process prepares for
 * it. */
void MPIR_Adapt_prepare_early(void);
/* MPIR_Adapt.plan is the plan of this epoch, which is on the board and stays there. */
int MPIR_Adapt_need_plan(unsigned epoch);
/* Committed: the plan is over, the rest of the previous world waits for MPIR_Adapt_reclaim. */
void MPIR_Adapt_end_plan(void);
int MPIR_Adapt_reclaim(void);
/* MPI_Finalize: gives back whatever has been prepared or is left. */
int MPIR_Adapt_drop_plan(void);

/* ---- adapt_probe.c ---- */
/* The data of the plan that a probe returns (P2), made before the program stands still; nothing if
 * there is no memory. */
void MPIR_Adapt_prebuild_info(void);

/* Agreed on: whether this process leaves, by the plan. */
int MPIR_Adapt_find_own_status(void);

/* ---- adapt_window.c ---- */
/* Too late for a call to fail and change nothing: others have continued and rely on this
 * process. */
void MPIR_Adapt_end_job(const char *call, int mpi_errno) ATTRIBUTE((noreturn));
/* Whether this process ends in commit. */
bool MPIR_Adapt_ends_in_commit(void);

/* ---- adapt_modify.c ---- */
/* A process that MPIX_Comm_modify creates, at the end of MPI_Init: it enters the world. */
int MPIR_Adapt_enter_world(void);

/* ---- adapt_size_request.c ---- */
struct pmi_adapt_request_end;
/* Rank 0 requests a world of this size, for MPIX_Comm_modify; and whether that has ended. */
int MPIR_Adapt_request_modify(int size, uint32_t * number);
bool MPIR_Adapt_request_has_ended(uint32_t number, struct pmi_adapt_request_end *end);

/* ---- adapt_unable.c ---- */
/* Why, in words: the last line of an error's text, which is put into `text`. */
const char *MPIR_Adapt_reason_of(int mpi_errno, char *text, int bytes);
/* This process cannot take part, for the reason in the error code: the adaptation is withdrawn if
 * the world has not been notified yet. */
void MPIR_Adapt_report_unable(unsigned epoch, int mpi_errno);
/* The same for a joining process, which waits for its end; returns if it is too late for a
 * withdrawal. */
void MPIR_Adapt_await_removal(int mpi_errno);

/* ---- adapt_unreceived.c ---- */

/* Everybody is in commit, the communicators that end are still there: drops the messages on them
 * that nobody has received.  mpiexec is notified of them; `notified`: whether there were any. */
int MPIR_Adapt_drop_unreceived(unsigned epoch, bool * notified);

/* ---- adapt_pvars.c ---- */
/* All of them, and the counter of rendezvous, which sessions have. */
void MPIR_Adapt_add_pvars(unsigned long long *rendezvous);
/* A staying process spent so many seconds in the library because of the adaptation under way. */
void MPIR_Adapt_count_standstill(double seconds);
void MPIR_Adapt_count_joining_wait(double seconds);
double MPIR_Adapt_seconds_since(MPL_time_t start);
/* The adaptation under way has been committed. */
void MPIR_Adapt_count_commit(void);

/* ---- mpir_init.c ---- */
/* A leaving process ends, whatever sessions it still has: the next MPI_Finalize is the last one. */
void MPIR_Adapt_end_sessions(void);

#endif /* ADAPT_H_INCLUDED */
