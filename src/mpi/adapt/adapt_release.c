/*
 * Commit releases the objects that end with the world: requests lose their communicator, files are
 * closed, windows and communicators are freed, all without communication.  No state.  SPEC C3, C4.
 */

#include "adapt_handles.h"
#include "utlist.h"

/* Requests that are complete or inactive remain the application's.  They lose their communicator: a
 * persistent request without one can be completed and freed, but not started. */
static void detach_request(void *object, void *unused)
{
    MPIR_Request *req = object;
    MPIR_Comm *comm = req->comm;

    if (!comm || !MPIR_Adapt_ends(comm))
        return;
    if (req->kind == MPIR_REQUEST_KIND__PREQUEST_COLL) {
        /* the schedule refers to the communicator and its children */
        MPIR_Persist_coll_free_cb(req);
        MPIDI_Adapt_request_disarm(req);
    }
    req->comm = NULL;
    MPIR_Comm_release(comm);
}

static void end_win(void *object, void *unused)
{
    MPIR_Win *win = object;

    if (!MPIR_Adapt_ends(win->comm_ptr))
        return;
    /* already done, unless the window is one over MPI_COMM_SELF of a process that ends */
    if (MPIR_Process.attr_free && win->attributes)
        MPIR_Process.attr_free(win->handle, &win->attributes);
    if (win->errhandler && !HANDLE_IS_BUILTIN(win->errhandler->handle)) {
        int in_use;
        MPIR_Errhandler_release_ref(win->errhandler, &in_use);
        if (!in_use)
            MPIR_Handle_obj_free(&MPIR_Errhandler_mem, win->errhandler);
    }
    win->errhandler = NULL;
    MPIR_Adapt_ending.win = win;
    MPIDI_Adapt_win_release(win);
    MPIR_Adapt_ending.win = NULL;
}

static void end_comm(MPIR_Comm * comm)
{
    MPIR_Adapt_ending.comm = comm;
    /* All holders of references (requests, windows, files) have released them above.  If deleting
     * an attribute fails the object remains; its list of attributes is then empty. */
    for (int attempt = 0; attempt < 2; attempt++) {
        MPIR_Object_set_ref(comm, 1);
        if (MPIR_Comm_release(comm) == MPI_SUCCESS)
            break;
    }
    MPIR_Adapt_ending.comm = NULL;
}

static void end_comms(void)
{
    MPIR_Comm *comm, *next, *ending = NULL;

    DL_FOREACH_SAFE_NP(MPIR_Live_comms, comm, next, adapt.next, adapt.prev) {
        if (MPIR_Adapt_ends(comm)) {
            MPIR_Adapt_unlist(comm);
            comm->adapt.next = ending;
            ending = comm;
        }
    }
    for (comm = ending; comm; comm = next) {
        next = comm->adapt.next;
        end_comm(comm);
    }
}

int MPIR_Adapt_release_handles(unsigned epoch)
{
    MPIR_Adapt_ending.epoch = epoch;
    MPIR_Adapt_foreach_request(detach_request, NULL);
    /* MPI_Finalize, which follows at once, requires that windows are freed and files closed; it
     * handles communicators and requests on MPI_COMM_SELF itself */
    MPIR_Adapt_everything_ends = MPIR_Adapt_ends_in_commit();
#ifdef HAVE_ROMIO
    /* ROMIO calls MPI functions */
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_ROMIO_Adapt_close_all(epoch);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
#endif
    MPIR_Adapt_foreach_win(end_win, NULL);
    MPIR_Adapt_everything_ends = false;
    end_comms();

    return MPI_SUCCESS;
}

static bool session_has_left(unsigned session)
{
    MPIR_Comm *comm;

    /* windows and files have communicators of their own, which are listed, too */
    DL_FOREACH_NP(MPIR_Live_comms, comm, adapt.next, adapt.prev) {
        if (comm->adapt.session == session)
            return true;
    }
    return false;
}

/* Whether a communicator has the group, by MPI_Comm_create over another session's communicator, or
 * the world's. */
static bool a_comm_has(const MPIR_Group * group)
{
    MPIR_Comm *comm;

    DL_FOREACH_NP(MPIR_Live_comms, comm, adapt.next, adapt.prev) {
        if (comm->local_group == group || comm->remote_group == group)
            return true;
    }
    return false;
}

static void end_group(MPIR_Group * group, void *unused)
{
    if (HANDLE_IS_BUILTIN(group->handle) || group->session != MPIR_Adapt_ending.session ||
        a_comm_has(group))
        return;
    MPL_free(group->lrank_to_lpid);
    group->lrank_to_lpid = NULL;
    group->size = MPIR_Object_get_ref(group);   /* number of times that it can be freed */
    MPIR_Adapt_group_end(group);
}

static void release_groups(void)
{
    MPIR_Adapt_ending.epoch = MPIR_ADAPT_BY_SESSION;
    MPIR_Adapt_foreach_group(end_group, NULL);
}

void MPIR_Adapt_release_session(unsigned session)
{
    int mpi_errno = MPI_SUCCESS;
    static MPL_initlock_t one_at_a_time = MPL_INITLOCK_INITIALIZER;

    MPL_initlock_lock(&one_at_a_time);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_Adapt_ending.session = session;
    if (session_has_left(session)) {
        mpi_errno = MPIR_Adapt_check_pending();
        if (mpi_errno == MPI_SUCCESS)
            MPIR_Adapt_release_handles(MPIR_ADAPT_BY_SESSION);
    }
    if (mpi_errno == MPI_SUCCESS)
        release_groups();
    MPIR_Adapt_ending.session = 0;
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPL_initlock_unlock(&one_at_a_time);
}

/* ---- the end of a leaving process ------------------------------------------------------------ */

static void free_typerep(void *object, void *unused)
{
    MPIR_Datatype *type = object;

    if (type->typerep.handle)
        MPIR_Typerep_free(type);
    type->typerep.handle = 0;
}

static int free_typereps(void *unused)
{
    MPIR_Adapt_foreach_in_use(&MPIR_Datatype_mem, HANDLE_NUM_INDICES, free_typerep, NULL);
    return MPI_SUCCESS;
}

void MPIR_Adapt_free_datatypes(void)
{
    /* after MPICH's own callbacks for datatypes, before the pools are freed */
    MPIR_Add_finalize(free_typereps, NULL, MPIR_FINALIZE_CALLBACK_PRIO - 2);
}
