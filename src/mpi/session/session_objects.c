/*
 * Objects and their sessions.  SX7: a group stores the session that it was requested from, a
 * communicator stores that of its group, and derived objects inherit it: windows and files from
 * their communicators.  Objects of the world model have no session.  SX9: windows and files over a
 * group.
 *
 * No state.  The end of the objects that a session leaves is in src/mpi/adapt/adapt_release.c.
 */

#include "session.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

categories:
    - name        : SESSION
      description : MPI Sessions

cvars:
    - name        : MPIR_CVAR_SESSION_CHECK
      category    : SESSION
      type        : boolean
      default     : false
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        If true, a call that is given groups, communicators, windows or requests of two different
        sessions fails with MPI_ERR_SESSION.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

/* Whether this is a second session; objects without a session are compatible with all. */
static bool differs(unsigned *session, unsigned other)
{
    if (!*session)
        *session = other;
    return other && other != *session;
}

int MPIR_Session_check_group(const MPIR_Group * group)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(MPIR_Adapt_group_is_stale(group), mpi_errno, MPI_ERR_GROUP,
                        "**sessiongroupleft");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIR_Session_remove_group(MPIR_Group * group)
{
    return MPIR_Adapt_group_release_stale(group);
}

int MPIR_Session_check_objects(const MPIR_Group * group, const MPIR_Group * group2,
                               const MPIR_Comm * comm, const MPIR_Comm * comm2,
                               const MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    unsigned session = 0;

    if (!MPIR_CVAR_SESSION_CHECK)
        goto fn_exit;
    bool mixed = differs(&session, group ? group->session : 0) ||
        differs(&session, group2 ? group2->session : 0) ||
        differs(&session, comm ? comm->adapt.session : 0) ||
        differs(&session, comm2 ? comm2->adapt.session : 0) ||
        differs(&session, win ? win->comm_ptr->adapt.session : 0);
    MPIR_ERR_CHKANDJUMP(mixed, mpi_errno, MPI_ERR_SESSION, "**sessionmixed");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A request has its communicator's session; MPI_REQUEST_NULL and requests of files have none. */
int MPIR_Session_check_requests(int n, const MPI_Request requests[])
{
    int mpi_errno = MPI_SUCCESS;
    unsigned session = 0;

    for (int i = 0; i < n; i++) {
        MPIR_Request *request = NULL;
        if (requests[i] != MPI_REQUEST_NULL)
            MPIR_Request_get_ptr(requests[i], request);
        const MPIR_Comm *comm = request ? request->comm : NULL;
        MPIR_ERR_CHKANDJUMP(differs(&session, comm ? comm->adapt.session : 0), mpi_errno,
                            MPI_ERR_SESSION, "**sessionmixed");
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Session_group_derive(MPIR_Group * group, const MPIR_Group * from, const MPIR_Group * also)
{
    if (group)
        group->session = from->session || !also ? from->session : also->session;
}

/* ---- windows and files over a group ---------------------------------------------------------- */

static int make_comm(MPIR_Group * group, const char *stringtag, MPIR_Comm ** comm)
{
    int mpi_errno = MPI_SUCCESS;

    *comm = NULL;
    MPIR_ERR_CHKANDJUMP(group->size == 0, mpi_errno, MPI_ERR_GROUP, "**sessionmember");
    mpi_errno = MPIR_Comm_create_from_group_impl(group, stringtag, NULL, NULL, comm);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The window has its own communicator now; it gets the handler if that is for windows. */
static int finish(int mpi_errno, MPIR_Comm * comm, MPIR_Errhandler * errhandler, MPIR_Win ** win)
{
    if (mpi_errno)
        *win = NULL;
    else if (errhandler && (HANDLE_IS_BUILTIN(errhandler->handle) || errhandler->kind == MPIR_WIN))
        MPIR_Win_set_errhandler_impl(*win, errhandler);
    if (comm)
        MPIR_Comm_release(comm);
    return mpi_errno;
}

int MPIR_Win_create_from_group_impl(MPIR_Group * group, const char *stringtag, void *base,
                                    MPI_Aint size, MPI_Aint disp_unit, MPIR_Info * info,
                                    MPIR_Errhandler * errhandler, MPIR_Win ** win)
{
    MPIR_Comm *comm;
    int mpi_errno = make_comm(group, stringtag, &comm);

    if (!mpi_errno)
        mpi_errno = MPID_Win_create(base, size, (int) disp_unit, info, comm, win);
    return finish(mpi_errno, comm, errhandler, win);
}

int MPIR_Win_allocate_from_group_impl(MPIR_Group * group, const char *stringtag, MPI_Aint size,
                                      MPI_Aint disp_unit, MPIR_Info * info,
                                      MPIR_Errhandler * errhandler, void *baseptr, MPIR_Win ** win)
{
    MPIR_Comm *comm;
    int mpi_errno = make_comm(group, stringtag, &comm);

    if (!mpi_errno)
        mpi_errno = MPID_Win_allocate(size, (int) disp_unit, info, comm, baseptr, win);
    return finish(mpi_errno, comm, errhandler, win);
}

int MPIR_Win_allocate_shared_from_group_impl(MPIR_Group * group, const char *stringtag,
                                             MPI_Aint size, MPI_Aint disp_unit, MPIR_Info * info,
                                             MPIR_Errhandler * errhandler, void *baseptr,
                                             MPIR_Win ** win)
{
    MPIR_Comm *comm;
    int mpi_errno = make_comm(group, stringtag, &comm);

    if (!mpi_errno)
        mpi_errno = MPID_Win_allocate_shared(size, (int) disp_unit, info, comm, baseptr, win);
    return finish(mpi_errno, comm, errhandler, win);
}

int MPIR_Win_create_dynamic_from_group_impl(MPIR_Group * group, const char *stringtag,
                                            MPIR_Info * info, MPIR_Errhandler * errhandler,
                                            MPIR_Win ** win)
{
    MPIR_Comm *comm;
    int mpi_errno = make_comm(group, stringtag, &comm);

    if (!mpi_errno)
        mpi_errno = MPID_Win_create_dynamic(info, comm, win);
    return finish(mpi_errno, comm, errhandler, win);
}

int MPIR_File_open_from_group_impl(MPIR_Group * group, const char *stringtag, const char *filename,
                                   int amode, MPI_Info info, MPIR_Errhandler * errhandler,
                                   MPI_File * file)
{
    MPIR_Comm *comm;
    int mpi_errno = make_comm(group, stringtag, &comm);

    *file = MPI_FILE_NULL;
    MPIR_ERR_CHECK(mpi_errno);
#ifdef HAVE_ROMIO
    /* ROMIO calls MPI functions */
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    mpi_errno = PMPI_File_open(comm->handle, filename, amode, info, file);
    if (!mpi_errno && errhandler &&
        (HANDLE_IS_BUILTIN(errhandler->handle) || errhandler->kind == MPIR_FILE))
        mpi_errno = PMPI_File_set_errhandler(*file, errhandler->handle);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_ERR_CHECK(mpi_errno);
#else
    MPIR_ERR_SETANDJUMP(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**notimpl");
#endif

  fn_exit:
    if (comm)
        MPIR_Comm_release(comm);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
