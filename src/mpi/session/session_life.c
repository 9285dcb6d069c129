/*
 * The lifetime of the library in a process that uses sessions, and its part of the world.  SX1,
 * SX2, SX8.
 *
 * A first session is local: the network endpoint is opened, but no message is sent.  The world,
 * that is, all addresses and the host's shared memory, is joined when MPI_Init or a communicator
 * over all processes needs it.
 *
 * When the last session (or MPI_Finalize) has ended, the library is parked: endpoint, addresses and
 * the world (if it was joined) stay, because others may still use this process' address, and
 * because another session may follow; only the launcher is notified that this process may end now.
 * Parked processes send no messages, and wait for no process at exit.  In programs without sessions
 * MPI_Finalize ends the library as in upstream, except for the connection to our proxy: with it, a
 * first session can initialise everything again.  Other launchers support only a closed connection;
 * under them, and in adaptive programs, no session can be opened after that.  Adaptive programs are
 * never parked: the adaptation handles their end.
 *
 * All state is under MPIR_init_lock.
 */

#include "session.h"
#include "connect_board.h"
#include "mpir_error_hooks.h"
#include "mpi_init.h"
#include "pmi.h"
#include "pmi_adapt_calls.h"

/* src/pmi/simple/simple_pmi_adapt.h */

#define HIDDEN (1 << 24)        /* more than the max number of references */
#define WORLD_PAUSE_US 100

static bool used;               /* a session was opened in this process */
static bool parked;
static bool has_proxy;         /* the proxy is that of our launcher */
static bool found_proxy;       /* the same, without a session */
static bool world_open;         /* between MPI_Init and MPI_Finalize */
static bool world_ended;
static bool async_ended;        /* the progress thread of the world model */
static bool over;               /* the connection to the process manager is closed */

/* Our proxy is notified in a line without a reply, which other launchers do not support.  The
 * variable may be inherited by accident, if another launcher has started this process within a job
 * of ours. */
static bool detect_proxy(void)
{
    if (MPIR_Adapt_is_on() || !getenv(PMI_ADAPT_ENV))
        return MPIR_Board.control != NULL;
    MPIR_Board_open();
    bool ours = MPIR_Board_is_ours();
    MPIR_Board_close();
    return ours;
}

static void set_locks(bool wanted)
{
#ifdef MPICH_IS_THREADED
    MPIR_ThreadInfo.isThreaded = wanted && MPIR_ThreadInfo.thread_provided == MPI_THREAD_MULTIPLE;
#endif
}

static bool is_initialized(void)
{
    return MPL_atomic_load_int(&MPIR_Process.mpich_state) == MPICH_MPI_STATE__INITIALIZED;
}

void MPIR_Session_opening(int level)
{
    if (level != MPI_THREAD_SINGLE && is_initialized())
        set_locks(true);
}

void MPIR_Session_opened(int level, bool alone)
{
    if (level == MPI_THREAD_SINGLE && alone && !world_open)
        set_locks(false);
}

bool MPIR_Session_has_proxy(void)
{
    return has_proxy || found_proxy;
}

bool MPIR_Session_find_proxy(void)
{
    if (!used && !found_proxy)
        found_proxy = detect_proxy();
    return MPIR_Session_has_proxy();
}

/* Other launchers support only a PMI that is finalised; it cannot be opened again, so this is
 * deferred to the exit. */
static void finalize_pmi(void)
{
    if (parked)
        PMI_Finalize();
}

int MPIR_Session_begin(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (!used) {
        used = true;
        MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        has_proxy = detect_proxy();
        if (has_proxy)         /* so that even an early end is a failure */
            MPIR_Board_notify_proxy("cmd=adapt_resumed");
        MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        if (!has_proxy)
            atexit(finalize_pmi);
    }
    mpi_errno = MPID_Session_start();
    MPIR_ERR_CHECK(mpi_errno);
    if (!MPIR_Process.comm_self) {
        mpi_errno = MPIR_init_comm_self();
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Decides by the name in the generated code: the function has a session, and requires nothing
 * else. */
bool MPIR_Session_answers(const char *function)
{
    return parked && (strstr(function, "Session_") || strstr(function, "_session_"));
}

bool MPIR_Session_is_parked(void)
{
    return parked;
}

bool MPIR_Session_resume(bool is_world_model)
{
    if (!parked) {
        MPIR_Session_before_init();
        MPIR_Adapt_before_plain_init(is_world_model);
        return false;
    }
    parked = false;
    if (has_proxy)
        MPIR_Board_notify_proxy("cmd=adapt_resumed");
    set_locks(true);
    MPL_atomic_store_int(&MPIR_Process.mpich_state, MPICH_MPI_STATE__INITIALIZED);
    return true;
}

/* The application's calls refuse an object whose reference count is not positive; the library's own
 * operations change the count as usual. */
static void show_world(bool visible)
{
    MPIR_Comm *world = MPIR_Process.comm_world;

    if (!world || visible == (MPIR_Object_get_ref(world) > 0))
        return;
    MPIR_Object_set_ref(world, MPIR_Object_get_ref(world) + (visible ? HIDDEN : -HIDDEN));
}

bool MPIR_Session_park(void)
{
    if (!used || MPIR_Adapt_is_on()) {
        /* the world is released, visible or not, and the thread with it */
        show_world(true);
        async_ended = true;
        return false;
    }
    if (world_ended && !async_ended) {
        async_ended = true;
        MPII_finalize_async();
    }
    MPIR_Adapt_delete_self_attributes();
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPID_Session_drain();
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    if (has_proxy)
        MPIR_Board_notify_proxy("cmd=adapt_parked");
    MPL_atomic_store_int(&MPIR_Process.mpich_state, MPICH_MPI_STATE__UNINITIALIZED);
    parked = true;
    return true;
}

bool MPIR_Session_keep_pmi(void)
{
    if (!used && MPIR_Adapt_proxy_knows_rigid() && !PMIU_Adapt_keep())
        return true;
    over = PMIU_Adapt_has_manager();
    return false;
}

int MPIR_Session_check_over(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(over, mpi_errno, MPI_ERR_OTHER, "**sessionover");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether a process has ended, so that the barrier cannot complete. */
static int watch_others(struct MPIR_Session_watch *watch, bool * ended)
{
    *ended = false;
    /* mpiexec ends all joining processes if one of them ends */
    return MPIR_Board.join_epoch > 0 ? MPI_SUCCESS : MPIR_Session_watch(watch, NULL,
                                                                        MPIR_Process.size, NULL,
                                                                        ended);
}

/* One thread at a time owns the connection to the process manager, for one query and its reply.
 * While this thread waits for other processes, other threads use it, and advance operations that
 * others wait for. */
static int pass_barrier(struct MPIR_Session_watch *watch)
{
    int mpi_errno = MPI_SUCCESS;
    bool is_over = false, ended = false;

    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    int failed = PMIU_Adapt_barrier_enter();
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    while (!failed) {
        MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
        failed = PMIU_Adapt_barrier_test(&is_over);
        MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
        if (is_over)
            break;
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
        if (watch)
            mpi_errno = watch_others(watch, &ended);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_ERR_CHKANDJUMP(ended, mpi_errno, MPI_ERR_PROC_ABORTED, "**sessionmemberended");
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        MPL_sched_yield();
    }
    MPIR_ERR_CHKANDJUMP(failed, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A process that opened a session first has not passed the barrier at the beginning of MPI_Init.  A
 * process that waits here continues to send messages that others wait for. */
static int barrier(void)
{
    struct MPIR_Session_watch watch = { 0 };

    /* opens the call channel of the watch: that needs replies, among which the barrier's end may
     * arrive */
    if (MPIR_Session_has_proxy())
        MPIR_Board_answered();
    return pass_barrier(&watch);
}

/* The last messages for the world may need this process' progress to arrive, and the process may
 * call nothing that makes progress for a long time: MPI_Probe_adapt does not.  On one host there
 * are no such messages. */
int MPIR_Session_leave_start(void)
{
    return MPIR_Process.num_nodes > 1 ? pass_barrier(NULL) : MPI_SUCCESS;
}

static bool world_coming;       /* a thread is in MPIR_Session_join_world */

/* Releases MPIR_init_lock and the critical section, which are entered in this order, while it waits
 * for other processes. */
static int await_everybody(void)
{
    MPL_initlock_unlock(&MPIR_init_lock);
    int mpi_errno = barrier();
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPL_initlock_lock(&MPIR_init_lock);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return mpi_errno;
}

/* Waits for another thread, which makes the world or fails. */
static void await_world(void)
{
    while (world_coming) {
        MPL_initlock_unlock(&MPIR_init_lock);
        MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        usleep(WORLD_PAUSE_US);
        MPL_initlock_lock(&MPIR_init_lock);
        MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
}

int MPIR_Session_join_world(void)
{
    int mpi_errno = MPI_SUCCESS;

    await_world();
    if (MPIR_Process.comm_world)
        goto fn_exit;
    world_coming = true;
    mpi_errno = await_everybody();
    if (!mpi_errno) {
        /* all processes have entered, so that the world will exist: no process needs a rendezvous
         * any more */
        MPIR_Session_stop_rendezvous(true);
        mpi_errno = MPIR_init_comm_world();
        if (mpi_errno)
            MPIR_Session_stop_rendezvous(false);
    }
    world_coming = false;
    MPIR_ERR_CHECK(mpi_errno);
    show_world(world_open);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* MPI_Init is not in the critical section, which a thread that waits for messages leaves and
 * enters. */
int MPIR_Session_join_world_at_init(void)
{
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    int mpi_errno = MPIR_Session_join_world();
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return mpi_errno;
}

int MPIR_Session_world_opened(void)
{
    world_open = true;
    set_locks(true);            /* as requested: a session without locks may have come before */
    show_world(true);
    /* a spawned process that opened a session before MPI_Init */
    return used && MPIR_Process.has_parent && !MPIR_Process.comm_parent ?
        MPID_InitCompleted() : MPI_SUCCESS;
}

void MPIR_Session_world_closed(void)
{
    world_open = false;
    world_ended = true;
    show_world(false);
}

/* The initialised library has one critical section; before the initialisation there is none.
 * MPI_Finalize, which holds the other lock, may call an attribute's function while the library is
 * still initialised. */
bool MPIR_Session_enter_anytime(void)
{
    if (!is_initialized()) {
        MPL_initlock_lock(&MPIR_init_lock);
        if (!is_initialized())
            return false;
        MPL_initlock_unlock(&MPIR_init_lock);
    }
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return true;
}

void MPIR_Session_leave_anytime(bool initialized)
{
    if (initialized)
        MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    else
        MPL_initlock_unlock(&MPIR_init_lock);
}

int MPIR_Session_world_error(const MPIR_Comm * comm, const char *function, int line)
{
    if (comm != &MPIR_Comm_builtin[0] || world_open)
        return MPI_SUCCESS;
    if (world_ended)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, MPI_ERR_COMM,
                                    "**worldended", 0);
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, MPI_ERR_COMM,
                                "**worldnotyet", 0);
}
