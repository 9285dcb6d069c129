/*
 * One adaptation, as one process sees it between MPI_Comm_adapt_begin and MPI_Comm_adapt_commit.
 */

#ifndef ADAPT_WINDOW_H_INCLUDED
#define ADAPT_WINDOW_H_INCLUDED

#include <mpi.h>
#include <stdint.h>
#ifndef MPI_ADAPT_TRUE          /* another MPI: the world never changes */
#include "adapt_stub.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epop_window {
    MPI_Comm old_world;         /* a joining process': that of the joining ones */
    MPI_Comm intercomm;         /* MPI_COMM_NULL: nobody joins */
    MPI_Comm new_world;         /* MPI_COMM_NULL: this process leaves */
    int status;                 /* MPI_ADAPT_STATUS_STAYING, _LEAVING or _JOINING */
    int staying, leaving, joining;      /* how many processes */
    int old_size, new_size;     /* processes before; staying + joining */
    int old_rank, new_rank;     /* -1: joining; leaving */
    int pc;                     /* where the program is; -1: not known */
    int64_t iteration;
    const int *new_rank_of;     /* [old_size] by old rank, -1: leaving; on joining processes too */
} epop_window_t;

/* Fills `window` from what MPI_Comm_adapt_begin has returned; old is MPI_COMM_WORLD, status that of
 * the probe or of MPI_Init_adapt.  Collective over old.  MPI_ERR_ARG if the communicators are not
 * those of a window.  MPIX_Adapt_window_clear releases its memory; the window is not usable
 * then. */
int MPIX_Adapt_window_fill(MPI_Comm old, MPI_Comm inter, MPI_Comm fresh, int status,
                           epop_window_t *window);
void MPIX_Adapt_window_clear(epop_window_t *window);

/* One communicator of all processes of the window: the old ones by old rank, so that the process of
 * old rank r has rank r in it, then the joining ones by their rank in new_world.  Collective over
 * all of them.  The caller frees it, or leaves that to the commit. */
int MPIX_Adapt_window_all(const epop_window_t *window, MPI_Comm *all);

/* MPI_Probe_adapt: 1 if there is a window to be opened, with *status; else, and with an error,
 * 0. */
int MPIX_Adapt_window_probe(int *status);

/* The window in one call: MPI_Comm_adapt_begin, MPIX_Adapt_window_fill and, unless `all` is NULL,
 * MPIX_Adapt_window_all.  status: that of the probe that returned TRUE, or of MPI_Init_adapt where
 * it is MPI_ADAPT_STATUS_JOINING. */
int MPIX_Adapt_window_open(int status, epop_window_t *window, MPI_Comm *all);
/* MPI_Comm_adapt_commit; leaving processes end here.  Collective over all processes of the window:
 * if one of them is in another call of this library, all get MPI_ERR_ARG, and the message names
 * both calls.  If it fails the window is open as before, and it can be called again; else window is
 * cleared and *all (all may be NULL) freed. */
int MPIX_Adapt_window_close(epop_window_t *window, MPI_Comm *all);

/* The text of the last error of a function of this library in this process; valid until the next
 * error. */
const char *MPIX_Adapt_data_message(void);

/* For bindings of other languages.  agree: before a message of their own to all processes of the
 * window, all agree on its bytes (-1: they need not), or all fail.  call_as: errors name the
 * function `name` until it is NULL; returns the name until now.  misfit: why the part that is
 * passed as NULL does not fit, until the next one (NULL: not known).  The texts stay valid as long
 * as they are set. */
int MPIX_Adapt_data_agree(const epop_window_t *window, int64_t bytes);
const char *MPIX_Adapt_data_call_as(const char *name);
void MPIX_Adapt_data_misfit(const char *why);

#ifdef __cplusplus
}
#endif

#endif /* ADAPT_WINDOW_H_INCLUDED */
