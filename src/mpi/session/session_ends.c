/*
 * Whether a process that is waited for has ended: whoever waits long asks mpiexec now and then.  SI8.
 *
 * An end that mpiexec knows of comes after all that the process has sent, but what it has sent may still be on its way.
 */

#include "session.h"
#include <time.h>

#define FIRST_PAUSE_MS 50
#define LONGEST_PAUSE_MS 2000
#define GRACE_MS 1000

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int MPIR_Session_have_ended(const int *places, int n, bool * ended)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };

    *ended = false;
    if (!MPIR_Session_has_daemon())
        goto fn_exit;
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_call_begin(&call, PMI_SET_ENDED_COUNT);
    MPIR_Session_call_members(&call, places, n);
    mpi_errno = MPIR_Session_call_ask(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    *ended = MPIR_Session_answer_number(&answer) > 0;

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_watch(struct MPIR_Session_watch *watch, const int *places, int n, bool * ended)
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
    mpi_errno = MPIR_Session_have_ended(places, n, &watch->seen);
    MPIR_ERR_CHECK(mpi_errno);
    watch->pause_ms = MPL_MIN(2 * watch->pause_ms, LONGEST_PAUSE_MS);
    watch->due_ms = now_ms() + (watch->seen ? GRACE_MS : watch->pause_ms);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
