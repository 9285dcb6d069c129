/* Deletes the attributes of all objects that end with a commit, while the old world still works. No
 * state.  SPEC C5. */

#include "adapt_handles.h"
#include "utlist.h"

static MPIR_Comm *find_attributed_comm(void)
{
    MPIR_Comm *comm;
    DL_FOREACH_NP(MPIR_Live_comms, comm, adapt.next, adapt.prev) {
        if (MPIR_Adapt_ends(comm) && comm->attributes)
            return comm;
    }
    return NULL;
}

static void find_attributed_win(void *object, void *context)
{
    MPIR_Win *win = object, **found = context;
    if (!*found && win->attributes && MPIR_Adapt_ends(win->comm_ptr))
        *found = win;
}

static void keep_first(int *mpi_errno, int err)
{
    if (*mpi_errno == MPI_SUCCESS)
        *mpi_errno = err;
}

int MPIR_Adapt_delete_attributes(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *comm = MPIR_Process.comm_world;
    MPIR_Win *win;

    if (!MPIR_Process.attr_free)
        return MPI_SUCCESS;

    if (comm->attributes)
        keep_first(&mpi_errno, MPIR_Process.attr_free(comm->handle, &comm->attributes));
    /* Searches again each time, because callbacks may create and free communicators and windows.
     * The loop ends, because attr_free always empties the list. */
    while ((comm = find_attributed_comm()))
        keep_first(&mpi_errno, MPIR_Process.attr_free(comm->handle, &comm->attributes));
    while (win = NULL, MPIR_Adapt_foreach_win(find_attributed_win, &win), win)
        keep_first(&mpi_errno, MPIR_Process.attr_free(win->handle, &win->attributes));
    return mpi_errno;
}

int MPIR_Adapt_delete_self_attributes(void)
{
    MPIR_Comm *self = MPIR_Process.comm_self;

    if (!MPIR_Process.attr_free || !self || !self->attributes)
        return MPI_SUCCESS;
    return MPIR_Process.attr_free(self->handle, &self->attributes);
}
