/*
 * Initialisation of adaptive and of rigid programs, and the data that MPI_Finalize needs. SPEC
 * I1-I3, E1.
 */

#include "adapt.h"
#include <strings.h>
#include "mpir_adapt_session.h"
#include "adapt_measure.h"
#include "mpl_shm_nameless.h"
#include "pmi_adapt_set.h"

int MPIR_Init_default_thread_level(void)
{
    static const struct {
        const char *name;
        int level;
    } levels[] = {
        {"MPI_THREAD_SINGLE", MPI_THREAD_SINGLE},
        {"MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED},
        {"MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED},
        {"MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE}
    };
    const char *name;

    if (!MPL_env2str("MPIR_CVAR_DEFAULT_THREAD_LEVEL", &name))
        return MPI_THREAD_SINGLE;
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (!strcasecmp(name, levels[i].name))
            return levels[i].level;
    MPL_error_printf("Unrecognized thread level %s\n", name);
    exit(1);
}

/* The business card in hexadecimal, for the proxy and, through it, for joining processes. */
static int register_adaptive(void)
{
    int mpi_errno = MPI_SUCCESS;
    unsigned char *bc = NULL;
    char *hex = NULL;
    int bytes;

    mpi_errno = MPID_Adapt_bc((void **) &bc, &bytes);
    MPIR_ERR_CHECK(mpi_errno);

    hex = MPL_malloc(2 * bytes + 1, MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!hex, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", bc[i]);

    /* MPIX_Comm_modify does not make a rigid program adaptive */
    const char *mode = MPIR_Adapt.adaptive && !MPIR_Board.created ? "adaptive" : "modify";
    mpi_errno = MPIR_Board_notify_proxy("cmd=adapt_init mode=%s pidns=%" PRIu64 " card=%s", mode,
                                        MPIR_Adapt_pid_namespace(), hex);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(hex);
    MPL_free(bc);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Adapt_begin_membership(void)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPID_Adapt_init_contexts(!MPIR_Adapt.adaptive && !MPIR_Board.created);
    MPIR_ERR_CHECK(mpi_errno);
    if (MPIR_Board.join_epoch) {
        MPIR_Adapt.state = MPIR_ADAPT_STATE__JOINING;
        MPIR_Adapt.epoch = MPIR_Board.join_epoch - 1;
        MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_JOINING);
    } else {
        MPIR_Adapt.state = MPIR_Adapt.adaptive ? MPIR_ADAPT_STATE__RUNNING
            : MPIR_ADAPT_STATE__MODIFIED;
        MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_RUNNING);
    }
    mpi_errno = register_adaptive();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A process may be killed at any time, also in MPI_Init: its segments have no names, so that none
 * remains.  If each process runs in a container of its own, the others cannot find it in /proc. */
static void choose_segments(void)
{
    const char *text = getenv(PMI_PID_NAMESPACE_ENV);
    uint64_t ours = text ? MPIR_Adapt_pid_namespace() : 0;

    MPL_shm_nameless = ours != 0 && ours == strtoull(text, NULL, 10);
}

/* before MPI_Init, because the device marks its messages with the number from the start */
static void prepare_for_windows(void)
{
    MPIR_Board_open();
    if (MPIR_Board.control) {
        MPID_Adapt_set_uid(MPIR_Board.uid);
        MPID_Adapt_before_init();
    }
    MPIR_Adapt.state = MPIR_ADAPT_STATE__ALONE;
}

/* The state is on all boards before any process can be notified, no matter which process has
 * reported it.  The board stays open for windows. */
static bool changes_by_sets(void)
{
    MPIR_Board_open();
    return MPIR_Board.control &&
           (__atomic_load_n(&MPIR_Board.control->offer, __ATOMIC_SEQ_CST) & PMI_SET_BY_SETS);
}

static void change_phase(uint32_t before, uint32_t after)
{
    if (MPIR_Board.slot)
        __atomic_compare_exchange_n(&MPIR_Board.slot->phase, &before, after, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static bool reports_init;       /* process of MPI_Comm_spawn, in MPI_Init, without a board */

/* If a process ends in MPI_Init, the others would wait there for ever, so the proxy must end them.
 * It reads from the board that a process is in MPI_Init; spawned processes report it. */
static void show_init(void)
{
    const char *cleanup = getenv(PMI_CLEANUP_ENV);

    if (!cleanup || strcmp(cleanup, "0"))
        return;
    MPIR_Board_open();
    reports_init = !MPIR_Board.control;
    change_phase(PMI_ADAPT_PHASE_NONE, PMI_ADAPT_PHASE_INIT);
    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF)
        MPIR_Board_close();
}

void MPIR_Adapt_before_plain_init(bool is_world_model)
{
    choose_segments();
    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF && MPIR_Board_is_created())
        prepare_for_windows();
    if (is_world_model)
        show_init();
}

/* If the proxy has ended, the next call of PMI fails. */
void MPIR_Adapt_pmi_begun(void)
{
    if (reports_init)
        (void) MPIR_Board_notify_proxy("cmd=adapt_init mode=begun");
}

static void report_end_of_init(void)
{
    if (!reports_init)
        return;
    reports_init = false;
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    (void) MPIR_Board_notify_proxy("cmd=adapt_init mode=rigid");
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

/* Profiling tools start in MPI_Init_thread and may not know adaptations.  So this calls the name
 * that they wrap; after that call MPI is completely initialized for their work. */
int MPIR_Init_adapt_impl(int *argc, char ***argv, int required, int *provided, int *local_status)
{
    int mpi_errno = MPI_SUCCESS;

    /* SW1 */
    MPIR_ERR_CHKANDJUMP(MPIR_Board.changes_by_sets || changes_by_sets(), mpi_errno, MPI_ERR_OTHER,
                        "**sessiondynamic");
    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF) {
        prepare_for_windows();
        MPIR_Adapt.adaptive = true;
        mpi_errno = MPI_Init_thread(argc, argv, required, provided);
    } else {
        /* a tool that forwards MPI_Init_thread as MPI_Init_thread_adapt */
        mpi_errno = MPIR_Init_thread_impl(argc, argv, required, provided);
    }
    MPID_Adapt_after_init();
    MPIR_ERR_CHECK(mpi_errno);

    *local_status = MPIR_Adapt.state == MPIR_ADAPT_STATE__JOINING ?
        MPI_ADAPT_STATUS_JOINING : MPI_ADAPT_STATUS_NEW;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPIR_Adapt.state = MPIR_ADAPT_STATE__OFF;
    MPIR_Adapt.adaptive = false;
    goto fn_exit;
}

static bool proxy_knows_rigid;

/* Notifies the resource manager of a rigid program; nothing else happens.  Threads with sessions of
 * their own, which may be in the library during MPI_Init, do not see the board meanwhile. */
static void notify_rigid(void)
{
    if (!getenv(PMI_ADAPT_ENV))
        return;
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_Board_open();
    change_phase(PMI_ADAPT_PHASE_INIT, PMI_ADAPT_PHASE_NONE);
    if (MPIR_Board_is_ours())
        proxy_knows_rigid = !MPIR_Board_notify_proxy("cmd=adapt_init mode=rigid");
    MPIR_Board_close();
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

bool MPIR_Adapt_proxy_knows_rigid(void)
{
    return proxy_knows_rigid;
}

int MPIR_Adapt_complete_init(void)
{
    report_end_of_init();
    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF) {
        notify_rigid();
        return MPI_SUCCESS;
    }
    MPID_Adapt_after_init();
    if (!MPIR_Board_is_ours()) {
        MPIR_Board_close();
        return MPI_SUCCESS;
    }
    int mpi_errno = MPIR_Adapt_begin_membership();
    return mpi_errno || !MPIR_Board.created ? mpi_errno : MPIR_Adapt_enter_world();
}

int MPIR_Adapt_check_finalize(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP1(MPIR_Adapt.state == MPIR_ADAPT_STATE__WINDOW, mpi_errno, MPI_ERR_OTHER,
                         "**adaptfinalize", "**adaptfinalize %d", (int) MPIR_Adapt.epoch + 1);
    /* mpiexec reports a result TRUE that was ignored */
    MPIR_Adapt_set_phase(MPIR_Adapt.state == MPIR_ADAPT_STATE__TOLD ?
                         PMI_ADAPT_PHASE_IGNORED : PMI_ADAPT_PHASE_NONE);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Adapt_finalize(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF)
        goto fn_exit;
    MPIR_Measure_finalize();
    /* first, while other processes may still communicate with the callbacks */
    mpi_errno = MPIR_Adapt_delete_self_attributes();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Adapt_drop_plan();
    MPIR_ERR_CHECK(mpi_errno);
    bool is_member = MPIR_Adapt.state == MPIR_ADAPT_STATE__RUNNING ||
        MPIR_Adapt.state == MPIR_ADAPT_STATE__TOLD ||
            MPIR_Adapt.state == MPIR_ADAPT_STATE__MODIFIED;
    if (is_member && MPIR_Adapt.epoch > 0) {
        /* Some providers lose the last messages if an endpoint closes early.  After a launch the
         * barrier of PMI prevents this; it does not cover an adapted world. */
        MPIR_Errflag_t errflag = MPIR_ERR_NONE;
        mpi_errno = MPIR_Barrier(MPIR_Process.comm_world, &errflag);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* MPI_Finalize of mpi_f08: PMPI_Finalize as upstream's, but in an adaptive program the name that
 * profiling tools wrap, because MPI_Init_adapt has started them by that of MPI_Init_thread. */
MPICH_API_PUBLIC int MPII_Finalize_f08(void);
int MPII_Finalize_f08(void)
{
    return MPIR_Adapt.adaptive ? MPI_Finalize() : PMPI_Finalize();
}

bool MPIR_Adapt_is_rigid(void)
{
    return MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF ||
           MPIR_Adapt.state == MPIR_ADAPT_STATE__MODIFIED;
}

bool MPIR_Adapt_is_on(void)
{
    return MPIR_Adapt.state != MPIR_ADAPT_STATE__OFF;
}

bool MPIR_Adapt_has_joined(void)
{
    return MPIR_Adapt.state != MPIR_ADAPT_STATE__LEFT && MPIR_Adapt.epoch >= MPIR_Board.join_epoch;
}

unsigned MPIR_Adapt_epoch(void)
{
    return MPIR_Adapt.epoch;
}
