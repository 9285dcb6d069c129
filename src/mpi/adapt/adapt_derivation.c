/*
 * See adapt_handles.h.
 */

#include "adapt_handles.h"

bool MPIR_Adapt_everything_ends;

static bool cleanup_registered;

static bool ends_with_world(const MPIR_Comm * comm)
{
    return MPIR_Adapt_everything_ends || comm->adapt.derivation != MPIR_ADAPT_DERIVATION_SELF;
}

bool MPIR_Adapt_ends(const MPIR_Comm * comm)
{
    return MPIR_Adapt_ending.session ? comm->adapt.session == MPIR_Adapt_ending.session :
        ends_with_world(comm);
}

/* The communicator belongs to the session of the communicators that it is derived from (SX7). */
static void join_session(MPIR_Comm * comm, const MPIR_Comm * from)
{
    if (!comm->adapt.session)
        comm->adapt.session = from->adapt.session;
}

void MPIR_Adapt_comm_find_derivation(MPIR_Comm * comm)
{
    for (MPIR_Comm_map_t * mapper = comm->mapper_head; mapper; mapper = mapper->next)
        join_session(comm, mapper->src_comm);
    if (comm->adapt.derivation != MPIR_ADAPT_DERIVATION_UNKNOWN)
        return;

    bool self_only = (comm->handle == MPI_COMM_SELF) || (comm->mapper_head != NULL);
    for (MPIR_Comm_map_t * mapper = comm->mapper_head; mapper; mapper = mapper->next) {
        if (ends_with_world(mapper->src_comm))
            self_only = false;
    }
    comm->adapt.derivation = self_only ? MPIR_ADAPT_DERIVATION_SELF : MPIR_ADAPT_DERIVATION_WORLD;
}

void MPIR_Adapt_comm_derive(MPIR_Comm * comm, const MPIR_Comm * from, const MPIR_Comm * also)
{
    bool survives = !ends_with_world(from) && !(also && ends_with_world(also));

    join_session(comm, from);
    if (also)
        join_session(comm, also);
    comm->adapt.derivation = survives ? MPIR_ADAPT_DERIVATION_SELF : MPIR_ADAPT_DERIVATION_WORLD;
}

void MPIR_Adapt_comm_by_begin(MPIR_Comm * comm)
{
    comm->adapt.derivation = MPIR_ADAPT_DERIVATION_WORLD;
    comm->adapt.by_begin = 1;
}

int MPIR_Adapt_comm_survives(MPI_Comm handle)
{
    MPIR_Comm *comm;
    MPIR_Comm_get_ptr(handle, comm);
    return comm && !MPIR_Adapt_ends(comm);
}

/* The pools are freed as a whole when MPI is finalised; with sessions it may be initialised
 * again. */
static int remove_stale(void *unused)
{
    MPIR_Adapt_release_stale();
    cleanup_registered = false;
    return MPI_SUCCESS;
}

void MPIR_Adapt_comm_created(MPIR_Comm * comm)
{
    /* the local communicator of an intercommunicator ends together with it */
    if (HANDLE_IS_BUILTIN(comm->handle) || MPIR_CONTEXT_READ_FIELD(IS_LOCALCOMM, comm->context_id))
        return;
    MPIR_Live_comms_add(comm);
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_HANDLE_MUTEX);
    if (!cleanup_registered) {
        cleanup_registered = true;
        /* before the pools are freed, which has priority 0 */
        MPIR_Add_finalize(remove_stale, NULL, 1);
    }
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_HANDLE_MUTEX);
}

void MPIR_Adapt_unlist(MPIR_Comm * comm)
{
    MPIR_Live_comms_remove(comm);
}

void MPIR_Adapt_comm_give_back(MPIR_Comm * comm)
{
    if (comm != MPIR_Adapt_ending.comm)
        MPIR_Handle_obj_free(&MPIR_Comm_mem, comm);
    else
        MPIR_Adapt_comm_end(comm);
}

void MPIR_Adapt_foreach_comm(void (*function) (MPIR_Comm *, void *), void *context)
{
    MPIR_Live_comms_foreach(function, context);
}
