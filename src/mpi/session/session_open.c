/*
 * The arguments of MPI_Session_init: info, thread level and error handler; and how functions of a
 * session end with an error.  SX3: SI4, SE1.  A separate `lock` protects the list of open sessions,
 * because MPII_Init_thread and MPII_Finalize hold MPIR_init_lock themselves.
 */

#include "session.h"
#include "mpi_init.h"

struct open_session {
    const MPIR_Session *session;
    unsigned number;            /* stored by its objects; never reused (SX7) */
    MPIR_Info *info;            /* a copy of the argument, with the library's keys */
    struct open_session *next;
};

#define LAST_NUMBER (~0u >> 1)  /* 31 bits of a communicator */

static struct open_session *sessions;
static unsigned number_of_last;
static int n_users;             /* sessions that are open, or are being opened */
static MPL_initlock_t lock = MPL_INITLOCK_INITIALIZER;

static const struct {
    int level;
    const char *name;
} levels[] = {
    {MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
    {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
    {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
    {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"}
};

#define N_LEVELS ((int) (sizeof(levels) / sizeof(levels[0])))

/* Under the lock. */
static struct open_session **entry_of(const MPIR_Session * session)
{
    struct open_session **cursor = &sessions;

    while (*cursor && (*cursor)->session != session)
        cursor = &(*cursor)->next;
    return cursor;
}

int MPIR_Session_check(const MPIR_Session * session)
{
    int mpi_errno = MPI_SUCCESS;

    MPL_initlock_lock(&lock);
    bool open = *entry_of(session) != NULL;
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHKANDJUMP(!open, mpi_errno, MPI_ERR_SESSION, "**sessionfinalized");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* New sessions are inserted at the front. */
int MPIR_Session_get_oldest_impl(MPI_Session * oldest)
{
    *oldest = MPI_SESSION_NULL;
    MPL_initlock_lock(&lock);
    for (const struct open_session *entry = sessions; entry; entry = entry->next)
        *oldest = entry->session->handle;
    MPL_initlock_unlock(&lock);
    return MPI_SUCCESS;
}

unsigned MPIR_Session_number(const MPIR_Session * session)
{
    MPL_initlock_lock(&lock);
    const struct open_session *entry = *entry_of(session);
    unsigned number = entry ? entry->number : 0;
    MPL_initlock_unlock(&lock);
    return number;
}

/* The level requested; a program that requests none, or one that is not available, gets the
 * highest. */
static int wanted_level(MPIR_Info * info)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int flag = 0;

    if (info)
        MPIR_Info_get_impl(info, "thread_level", MPI_MAX_INFO_VAL, value, &flag);
    for (int i = 0; flag && i < N_LEVELS; i++) {
        if (!strcmp(value, levels[i].name))
            return levels[i].level;
    }
    return MPI_THREAD_MULTIPLE;
}

static const char *name_of_level(int level)
{
    int i = 0;

    while (i < N_LEVELS - 1 && levels[i].level != level)
        i++;
    return levels[i].name;
}

static int make_info(MPIR_Info * given, int level, MPIR_Info ** result)
{
    int mpi_errno = given ? MPIR_Info_dup_impl(given, result) : MPIR_Info_alloc(result);

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_add_keys(*result);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Info_set_impl(*result, "thread_level", name_of_level(level));

  fn_fail:
    return mpi_errno;
}

static int register_session(MPIR_Session * session, MPIR_Info * given)
{
    int mpi_errno = MPI_SUCCESS;
    struct open_session *entry = MPL_calloc(1, sizeof(*entry), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!entry, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = make_info(given, session->thread_level, &entry->info);
    MPIR_ERR_CHECK(mpi_errno);
    entry->session = session;
    MPL_initlock_lock(&lock);
    number_of_last = number_of_last < LAST_NUMBER ? number_of_last + 1 : 1;
    entry->number = number_of_last;
    entry->next = sessions;
    sessions = entry;
    MPL_initlock_unlock(&lock);

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(entry);
    goto fn_exit;
}

/* Returns the new number. */
static int count_user(int more)
{
    MPL_initlock_lock(&lock);
    int n = n_users += more;
    MPL_initlock_unlock(&lock);
    return n;
}

/* The library itself runs with the highest level, unless MPI_Init came first with a lower one: two
 * threads may each have a session, without knowledge of the other's (SX11). */
int MPIR_Session_init_impl(MPIR_Info * info_ptr, MPIR_Errhandler * errhandler_ptr,
                           MPIR_Session ** p_session_ptr)
{
    int mpi_errno = MPI_SUCCESS, provided, wanted = wanted_level(info_ptr);
    MPIR_Session *session = NULL;

    mpi_errno = MPIR_Session_check_over();
    if (mpi_errno)
        return mpi_errno;
    MPIR_Session_opening(wanted);
    count_user(1);
    mpi_errno = MPII_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided, &session);
    MPIR_ERR_CHECK(mpi_errno);
    session->thread_level = MPL_MIN(wanted, provided);
    mpi_errno = MPIR_Session_enter();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_become_dynamic(info_ptr);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = register_session(session, info_ptr);
    MPIR_ERR_CHECK(mpi_errno);
    if (errhandler_ptr)
        MPIR_Session_set_errhandler_impl(session, errhandler_ptr);
    MPIR_Session_opened(wanted, count_user(0) == 1);
    *p_session_ptr = session;

  fn_exit:
    return mpi_errno;
  fn_fail:
    count_user(-1);
    if (session)
        MPII_Finalize(session);
    goto fn_exit;
}

int MPIR_Session_finalize_impl(MPIR_Session * session_ptr)
{
    int mpi_errno = MPI_SUCCESS;

    MPL_initlock_lock(&lock);
    struct open_session **cursor = entry_of(session_ptr), *entry = *cursor;
    if (entry)
        *cursor = entry->next;
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHKANDJUMP(!entry, mpi_errno, MPI_ERR_SESSION, "**sessionfinalized");

    count_user(-1);
    MPIR_Adapt_release_session(entry->number);
    MPIR_Info_free_impl(entry->info);
    MPL_free(entry);
    if (session_ptr->errhandler)
        MPIR_Errhandler_free_impl(session_ptr->errhandler);
    session_ptr->errhandler = NULL;
    /* frees the object */
    mpi_errno = MPII_Finalize(session_ptr);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_get_info_impl(MPIR_Session * session_ptr, MPIR_Info ** info_p_p)
{
    int mpi_errno = MPIR_Session_check(session_ptr);
    bool leaves;

    MPIR_ERR_CHECK(mpi_errno);
    MPL_initlock_lock(&lock);
    mpi_errno = MPIR_Info_dup_impl((*entry_of(session_ptr))->info, info_p_p);
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_leaves(&leaves);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Info_set_impl(*info_p_p, "mpidynres_pending_shutdown", leaves ? "yes" : "no");
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    *info_p_p = NULL;
    goto fn_exit;
}

/* The session's handler, or the argument; NULL: neither is valid. */
static MPIR_Errhandler *handler_of(MPI_Session session, MPI_Errhandler given)
{
    MPIR_Session *session_ptr = NULL;
    MPIR_Errhandler *errhandler_ptr = NULL;

    if (HANDLE_GET_MPI_KIND(session) == MPIR_SESSION &&
        HANDLE_GET_KIND(session) != HANDLE_KIND_INVALID)
        MPIR_Session_get_ptr(session, session_ptr);
    if (session_ptr && MPIR_Session_check(session_ptr) == MPI_SUCCESS && session_ptr->errhandler)
        return session_ptr->errhandler;
    if (HANDLE_GET_MPI_KIND(given) == MPIR_ERRHANDLER &&
        HANDLE_GET_KIND(given) != HANDLE_KIND_INVALID)
        MPIR_Errhandler_get_ptr(given, errhandler_ptr);
    if (errhandler_ptr && !HANDLE_IS_BUILTIN(given) && MPIR_Object_get_ref(errhandler_ptr) <= 0)
        errhandler_ptr = NULL;  /* the handler has been freed */
    return errhandler_ptr;
}

int MPIR_Session_return_error(MPI_Session session, MPI_Errhandler errhandler, const char *function,
                              int mpi_errno)
{
    MPIR_Errhandler *own = handler_of(session, errhandler);

    /* no session is open, and no handler is valid */
    if (!own && MPIR_Session_is_parked())
        return mpi_errno;
    if (!own || MPIR_Err_is_fatal(mpi_errno))
        return MPIR_Err_return_comm(NULL, function, mpi_errno);
    if (own->handle == MPI_ERRORS_ARE_FATAL || own->handle == MPI_ERRORS_ABORT)
        MPIR_Handle_fatal_error(MPIR_Process.comm_self, function, mpi_errno);
    if (own->handle != MPI_ERRORS_RETURN && own->kind == MPIR_SESSION) {
        if (own->language == MPIR_LANG__C) {
            own->errfn.C_Session_Handler_function(&session, &mpi_errno, 0);
#ifdef HAVE_FORTRAN_BINDING
        } else {
            MPI_Fint error = mpi_errno, fortran_handle = session;
            own->errfn.F77_Handler_function(&fortran_handle, &error);
#endif
        }
    }
    return mpi_errno;
}
