/* See compat.h. */

#define EPOP_NO_COMPAT
#include "compat.h"

#include <stddef.h>
#include "world.h"

static const epop_window_t *open_window;
static bool begun, committed;

void epop_compat_open(const epop_window_t * window)
{
    open_window = window;
    begun = committed = false;
}

const char *epop_compat_close(void)
{
    open_window = NULL;
    return !begun ? "phase_adapt has returned without MPI_Comm_adapt_begin" :
        !committed ? "phase_adapt has returned without MPI_Comm_adapt_commit" : NULL;
}

int epop_adapt_begin(MPI_Comm * intercomm, MPI_Comm * new_comm_world, int *staying_count,
                     int *leaving_count, int *joining_count)
{
    if (!open_window)
        epop_world_stop("MPI_Comm_adapt_begin was called, but not by phase_adapt");
    if (begun)
        epop_world_stop("phase_adapt has called MPI_Comm_adapt_begin twice");
    begun = true;
    *intercomm = open_window->intercomm;
    *new_comm_world = open_window->new_world;
    *staying_count = open_window->staying;
    *leaving_count = open_window->leaving;
    *joining_count = open_window->joining;
    return MPI_SUCCESS;
}

int epop_adapt_commit(void)
{
    if (!open_window || !begun || committed)
        epop_world_stop("MPI_Comm_adapt_commit was called without MPI_Comm_adapt_begin");
#if defined(MPI_ADAPT_TRUE) && !defined(ADAPT_IS_STUB)
    int code = MPI_Comm_adapt_commit();
    committed = code == MPI_SUCCESS;
    return code;
#else
    return MPI_ERR_OTHER;
#endif
}
