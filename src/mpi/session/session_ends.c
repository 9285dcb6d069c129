/*
 * Whether a process that is waited for has ended: whoever waits long asks mpiexec now and then.  SI8.
 *
 * An end that mpiexec knows of comes after all that the process has sent, but what it has sent may still be on its way.
 * Whoever waits for one process of a group may wait in vain, too, because another one has ended: the awaited one has
 * been told, and does not come.  Or it is slow, and the other one has ended after it had done its part.  That one could
 * only do when all had come.  So each process shows on its board which communicators it is making, and if another
 * member has ended the awaited one is looked at: if it has not come, nobody can have done his part; if it has, it will
 * say something or end, however long that takes.
 */

#include "session.h"
#include "adapt.h"
#include <time.h>
#include <unistd.h>

#define FIRST_PAUSE_MS 50
#define LONGEST_PAUSE_MS 2000
#define GRACE_MS 1000

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What this thread is making. */
static MPL_TLS struct {
    uint64_t creation;
    uint64_t *shown;            /* NULL: nowhere */
} present;

/* More threads than there are places for are not shown, and may be given up by who waits for them. */
void MPIR_Session_come_to(uint64_t creation)
{
    uint64_t *places = MPIR_Session_has_daemon()? MPIR_Adapt_board_creations() : NULL;

    present.creation = creation;
    present.shown = NULL;
    for (int i = 0; places && i < PMI_SET_CREATIONS_MAX && !present.shown; i++) {
        uint64_t none = 0;
        if (__atomic_compare_exchange_n(&places[i], &none, creation, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            present.shown = &places[i];
    }
}

void MPIR_Session_came(void)
{
    if (present.shown)
        __atomic_store_n(present.shown, 0, __ATOMIC_SEQ_CST);
    present.shown = NULL;
    present.creation = 0;
}

/* What is answered by one number. */
static int ask(struct MPIR_Session_call *call, uint32_t * number)
{
    struct MPIR_Session_answer answer = { 0 };
    int mpi_errno = MPIR_Session_call_ask(call, &answer);

    if (!mpi_errno)
        *number = MPIR_Session_answer_number(&answer);
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
}

int MPIR_Session_have_ended(const int *places, int n, bool * ended)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    uint32_t number = 0;

    *ended = false;
    if (!MPIR_Session_has_daemon())
        goto fn_exit;
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_call_begin(&call, PMI_SET_ENDED_COUNT);
    MPIR_Session_call_members(&call, places, n);
    mpi_errno = ask(&call, &number);
    MPIR_ERR_CHECK(mpi_errno);
    *ended = number > 0;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int has_lost_members(const MPIR_Group * group, bool * lost)
{
    int mpi_errno = MPI_SUCCESS, *places = NULL;
    MPIR_CHKLMEM_DECL(1);

    MPIR_CHKLMEM_MALLOC(places, int *, group->size * sizeof(int), mpi_errno, "places", MPL_MEM_OTHER);
    for (int i = 0; i < group->size; i++)
        places[i] = (int) group->lrank_to_lpid[i].lpid;
    mpi_errno = MPIR_Session_have_ended(places, group->size, lost);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_has_lost(const MPIR_Group * group, bool * lost)
{
    int mpi_errno = has_lost_members(group, lost);

    for (int64_t until = now_ms() + GRACE_MS; !mpi_errno && !*lost && now_ms() < until;) {
        MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        usleep(FIRST_PAUSE_MS * 1000);
        MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        mpi_errno = has_lost_members(group, lost);
    }
    return mpi_errno;
}

/* Whether the process at this place is making what this thread makes. */
static int has_come(int place, bool * come)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    uint32_t number = 0;

    MPIR_Session_call_begin(&call, PMI_SET_COMES);
    MPIR_Session_call_members(&call, &place, 1);
    MPIR_Session_call_number(&call, (uint32_t) present.creation);
    MPIR_Session_call_number(&call, (uint32_t) (present.creation >> 32));
    mpi_errno = ask(&call, &number);
    MPIR_ERR_CHECK(mpi_errno);
    *come = number == 1;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int look(struct MPIR_Session_watch *watch, const int *places, int n, const MPIR_Group * group)
{
    int mpi_errno = MPI_SUCCESS;
    bool lost = false, come = true;

    mpi_errno = MPIR_Session_have_ended(places, n, &watch->seen);
    MPIR_ERR_CHECK(mpi_errno);
    if (group && !watch->seen)
        mpi_errno = has_lost_members(group, &lost);
    MPIR_ERR_CHECK(mpi_errno);
    if (lost)
        mpi_errno = has_come(places[0], &come);
    MPIR_ERR_CHECK(mpi_errno);
    watch->seen = watch->seen || !come;
    int64_t now = now_ms();
    watch->pause_ms = MPL_MIN(2 * watch->pause_ms, LONGEST_PAUSE_MS);
    watch->due_ms = now + (watch->seen ? GRACE_MS : watch->pause_ms);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_watch(struct MPIR_Session_watch *watch, const int *places, int n, const MPIR_Group * group,
                       bool * ended)
{
    int mpi_errno = MPI_SUCCESS;

    *ended = false;
    /* a clock that is as cheap as that is looked at each time */
    if (!MPIR_Session_has_daemon())
        goto fn_exit;
    int64_t now = now_ms();
    if (watch->due_ms == 0) {
        watch->pause_ms = FIRST_PAUSE_MS;
        watch->due_ms = now + watch->pause_ms;
    }
    if (now < watch->due_ms)
        goto fn_exit;
    if (watch->seen) {
        *ended = true;
        goto fn_exit;
    }
    mpi_errno = look(watch, places, n, group);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
