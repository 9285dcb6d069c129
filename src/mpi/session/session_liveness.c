/*
 * Detects that a process which this one waits for has ended: a long wait queries mpiexec
 * repeatedly.  SI8, SL4.
 *
 * mpiexec detects an end after the process has sent all its messages, but these may still be in
 * transit.  A wait for one process of a group may also be endless because another member has ended:
 * the awaited process was notified of that, and does not take part.  Or the awaited process is
 * slow, and the other one has ended after its part was complete, which is possible only when all
 * have entered.  So each process publishes on its board which communicators it is making.  If
 * another member has ended, the awaited process is queried: if it has not entered, no member can
 * have completed its part; if it has, it will send a message or end at some time.
 */

#include "session.h"
#include "connect_board.h"
#include "mpir_adapt.h"
#include "connect_comms.h"
#include "mpid_dynproc.h"
#include "mpid_failure.h"
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

/* The communicator that this thread is making. */
static MPL_TLS struct {
    uint64_t creation;
    uint64_t *shown;            /* its entry on the board; NULL: none */
} present;

/* If there are more threads than entries, the others have no entry, and processes that wait for
 * them may give up. */
void MPIR_Session_come_to(uint64_t creation)
{
    uint64_t *creations = MPIR_Session_has_proxy()? MPIR_Board_creations() : NULL;

    present.creation = creation;
    present.shown = NULL;
    for (int i = 0; creations && i < PMI_SET_CREATIONS_MAX && !present.shown; i++) {
        uint64_t none = 0;
        if (__atomic_compare_exchange_n(&creations[i], &none, creation, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
            present.shown = &creations[i];
    }
}

void MPIR_Session_came(void)
{
    if (present.shown)
        __atomic_store_n(present.shown, 0, __ATOMIC_SEQ_CST);
    present.shown = NULL;
    present.creation = 0;
}

/* Calls whose reply is one number. */
static int query_number(struct MPIR_Session_call *call, uint32_t * number)
{
    struct MPIR_Session_answer answer = { 0 };
    int mpi_errno = MPIR_Session_call_query(call, &answer);

    if (!mpi_errno)
        *number = MPIR_Session_answer_number(&answer);
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
}

int MPIR_Session_have_ended(const int *lpids, int n, bool * ended)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    uint32_t number = 0;

    *ended = false;
    if (!MPIR_Session_has_proxy())
        goto fn_exit;
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_write_set_ended_count(&call, lpids, n);
    mpi_errno = query_number(&call, &number);
    MPIR_ERR_CHECK(mpi_errno);
    *ended = number > 0;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int has_failed_members(const MPIR_Group * group, bool * failed)
{
    int mpi_errno = MPI_SUCCESS, *lpids = NULL;
    MPIR_CHKLMEM_DECL(1);

    MPIR_CHKLMEM_MALLOC(lpids, int *, group->size * sizeof(int), mpi_errno, "lpids", MPL_MEM_OTHER);
    for (int i = 0; i < group->size; i++) {
        /* a process that cannot be reached any more has no lpid */
        *failed = group->lrank_to_lpid[i].lpid >= MPID_SESSION_LPIDS_MAX;
        if (*failed)
            goto fn_exit;
        lpids[i] = (int) group->lrank_to_lpid[i].lpid;
    }
    mpi_errno = MPIR_Session_have_ended(lpids, group->size, failed);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_has_failed(const MPIR_Group * group, bool * failed)
{
    int mpi_errno = has_failed_members(group, failed);

    for (int64_t until = now_ms() + GRACE_MS; !mpi_errno && !*failed && now_ms() < until;) {
        MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        usleep(FIRST_PAUSE_MS * 1000);
        MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        mpi_errno = has_failed_members(group, failed);
    }
    return mpi_errno;
}

/* Whether the process with this lpid makes the same communicator as this thread. */
static int has_come(int lpid, bool * come)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    uint32_t number = 0;

    MPIR_Session_write_set_comes(&call, lpid, present.creation);
    mpi_errno = query_number(&call, &number);
    MPIR_ERR_CHECK(mpi_errno);
    *come = number == 1;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int poll_watch(struct MPIR_Session_watch *watch, const int *lpids, int n,
                      const MPIR_Group * group)
{
    int mpi_errno = MPI_SUCCESS;
    bool failed = false, come = true;

    mpi_errno = MPIR_Session_have_ended(lpids, n, &watch->seen);
    MPIR_ERR_CHECK(mpi_errno);
    if (group && !watch->seen)
        mpi_errno = has_failed_members(group, &failed);
    MPIR_ERR_CHECK(mpi_errno);
    if (failed)
        mpi_errno = has_come(lpids[0], &come);
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

int MPIR_Session_watch(struct MPIR_Session_watch *watch, const int *lpids, int n,
                       const MPIR_Group * group, bool *ended)
{
    int mpi_errno = MPI_SUCCESS;

    *ended = false;
    /* such a cheap clock is read each time */
    if (!MPIR_Session_has_proxy())
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
    mpi_errno = poll_watch(watch, lpids, n, group);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- members of communicators ---------------------------------------------------------------- */

/*
 * While there are communicators of several processes made from groups, progress reads a clock at
 * intervals.  After some time without progress it queries mpiexec for the number of members that
 * have ended, and then finds them by bisection.  The program continues meanwhile.
 */

#define POLLS 64                /* between two reads of the clock */
#define BUSY_PAUSE_MS 8000      /* while messages are sent and received */
#define MEMBER_PAUSE_MS 2       /* for each member, because all may wait and query */
/* messages of an ended process have arrived, and are received by so many polls */
#define COMES_POLLS 1024
#define SILENT_MS 3000
#define AGAIN_MS 100
#define AGAIN_POLLS 256
#define RANGES_MAX 34           /* pending halves, for at most 2^16 members */

struct range {
    int first, n;
};

struct ended {
    int lpid;
    int64_t noted_ms;
    unsigned noted_polls;
    struct ended *next;
};

static struct {
    int hook_id;
    bool is_active;
    unsigned polls, failed_polls;
    int64_t queried_ms, due_ms, pause_ms, failed_ms;
    int progress;               /* at the last poll */
    /* a round of queries */
    int *lpids, n_lpids;        /* NULL: no round */
    struct range ranges[RANGES_MAX];
    int n_ranges;
    struct range queried;       /* n 0: no query is pending */
    struct MPIR_Session_sent sent;
    struct ended *ended;        /* ended processes with messages that may still arrive */
    bool any_exited;
} members = {.hook_id = -1 };

static void add_members(uint8_t * wanted, MPIR_Comm * comm, int n, bool is_remote)
{
    for (int i = 0; i < n; i++) {
        uint64_t lpid;
        (void) MPID_Comm_get_lpid(comm, i, &lpid, is_remote);
        if (lpid < MPID_SESSION_LPIDS_MAX)
            wanted[lpid] = 1;
    }
}

static bool is_noted(int lpid)
{
    for (const struct ended *one = members.ended; one; one = one->next) {
        if (one->lpid == lpid)
            return true;
    }
    return false;
}

/* Collects all members that are not known to have ended.  False: there are no such
 * communicators. */
static bool begin_round(void)
{
    uint8_t *wanted = MPL_calloc(MPID_SESSION_LPIDS_MAX, 1, MPL_MEM_OTHER);
    bool any = false;
    int n = 0;

    members.lpids = MPL_malloc(MPID_SESSION_LPIDS_MAX * sizeof(int), MPL_MEM_OTHER);
    if (!wanted || !members.lpids)
        any = true;     /* next time */
    for (MPIR_Comm * comm = MPIR_Live_comms; comm && wanted && members.lpids;
         comm = comm->adapt.next) {
        bool is_intercomm = comm->comm_kind == MPIR_COMM_KIND__INTERCOMM;
        if (!comm->adapt.session || comm->adapt.connection || comm->remote_size + is_intercomm < 2)
            continue;
        any = true;
        add_members(wanted, comm, comm->local_size, false);
        if (is_intercomm)
            add_members(wanted, comm, comm->remote_size, true);
    }
    for (int i = 0; any && wanted && members.lpids && i < MPID_SESSION_LPIDS_MAX; i++) {
        if (wanted[i] && i != MPIR_Session_lpid() && !MPID_Session_has_exited(i) && !is_noted(i))
            members.lpids[n++] = i;
    }
    MPL_free(wanted);
    if (n == 0) {
        MPL_free(members.lpids);
        members.lpids = NULL;
    }
    members.n_lpids = n;
    members.n_ranges = n > 0;
    members.ranges[0] = (struct range) {0, n};
    return any;
}

static void end_round(void)
{
    MPL_free(members.lpids);
    members.lpids = NULL;
    members.n_ranges = 0;
}

static void query_next(void)
{
    struct MPIR_Session_call call;

    members.queried = members.ranges[--members.n_ranges];
    MPIR_Session_write_set_ended_count(&call, members.lpids + members.queried.first,
                                       members.queried.n);
    if (!MPIR_Session_call_has_capacity(&call)) {
        MPIR_Session_call_free(&call);
        members.queried.n = 0;
    } else if (MPIR_Session_call_send(&call, &members.sent)) {
        members.queried.n = 0;
    }
    if (members.queried.n == 0)
        end_round();            /* the next round starts again */
}

static void note_ended(int lpid, int64_t now)
{
    struct ended *one = MPL_malloc(sizeof(*one), MPL_MEM_OTHER);

    if (!one)
        return;                 /* it is queried again */
    *one = (struct ended) {.lpid = lpid,.noted_ms = now,.noted_polls = members.polls,
                           .next = members.ended };
    members.ended = one;
}

static void take_count(uint32_t count, int64_t now)
{
    struct range queried = members.queried;

    if (count >= (uint32_t) queried.n) {
        for (int i = 0; i < queried.n; i++)
            note_ended(members.lpids[queried.first + i], now);
    } else if (count > 0) {
        int half = queried.n / 2;
        members.ranges[members.n_ranges++] =
            (struct range) { queried.first + half, queried.n - half };
        members.ranges[members.n_ranges++] = (struct range) { queried.first, half };
    }
}

static void take_answer(int64_t now)
{
    struct MPIR_Session_answer answer;
    bool is_complete;
    int mpi_errno = MPIR_Session_call_test(&members.sent, &answer, &is_complete);

    if (!is_complete)
        return;
    if (!mpi_errno)
        take_count(MPIR_Session_answer_number(&answer), now);
    else
        members.n_ranges = 0;
    MPIR_Session_answer_free(&answer);
    members.queried.n = 0;
    if (members.n_ranges == 0)
        end_round();
}

/* By then the messages that a process sent before its end have arrived. */
static void poll_ended(int64_t now)
{
    for (struct ended ** cursor = &members.ended; *cursor;) {
        struct ended *one = *cursor;
        if (now - one->noted_ms >= GRACE_MS && members.polls - one->noted_polls >= COMES_POLLS) {
            MPID_Session_mark_exited(one->lpid);
            members.any_exited = true;
        }
        if (now - one->noted_ms < SILENT_MS || !MPID_Session_has_exited(one->lpid)) {
            cursor = &one->next;
            continue;
        }
        MPID_Session_mark_silent(one->lpid);
        *cursor = one->next;
        MPL_free(one);
    }
}

static int64_t shortest_pause(void)
{
    return MPL_MAX(FIRST_PAUSE_MS, MEMBER_PAUSE_MS * members.n_lpids);
}

/* A waiting process queries soon, and then at increasing intervals. */
static bool is_due(int64_t now)
{
    int progress = MPID_Dynproc_progress_count();

    if (progress != members.progress) {
        members.progress = progress;
        members.pause_ms = FIRST_PAUSE_MS;
        members.due_ms = MPL_MIN(members.queried_ms + BUSY_PAUSE_MS, now + shortest_pause());
    }
    return now >= members.due_ms;
}

static void rest(void)
{
    end_round();
    members.is_active = false;
    MPIR_Progress_hook_deactivate(members.hook_id);
}

/* Ranks in the world are uids only before its first adaptation; afterwards processes end in
 * windows. */
static void go_on(int64_t now)
{
    if (MPIR_Adapt_epoch() != 0) {
        MPID_Session_depart_nobody();
        members.any_exited = false;
        rest();
        return;
    }
    if (members.queried.n > 0)
        take_answer(now);
    else if (members.n_ranges > 0)
        query_next();
    poll_ended(now);
    if (members.any_exited && now - members.failed_ms >= AGAIN_MS &&
        members.polls - members.failed_polls >= AGAIN_POLLS) {
        members.failed_ms = now;
        members.failed_polls = members.polls;
        (void) MPID_Failure_end_requests(&(const struct MPID_Failure) {.connection = 0});
        MPID_Dynproc_sweep();
    }
    if (members.queried.n == 0 && members.n_ranges == 0 && is_due(now)) {
        members.pause_ms = MPL_MIN(2 * members.pause_ms, LONGEST_PAUSE_MS);
        members.queried_ms = now;
        members.due_ms = now + MPL_MAX(members.pause_ms, shortest_pause());
        if (!begin_round())
            rest();
    }
}

static int poll_members(int *made_progress)
{
    /* ending requests makes progress, which would call this function again */
    static bool is_polling;

    if (++members.polls % POLLS || is_polling)
        return MPI_SUCCESS;
    is_polling = true;
    go_on(now_ms());
    is_polling = false;
    return MPI_SUCCESS;
}

void MPIR_Session_watch_members(MPIR_Comm * comm)
{
    if (!MPIR_Session_has_proxy() || MPIR_Adapt_epoch() != 0 ||
        comm->remote_size + comm->local_size <= 2)
        return;
    if (members.hook_id < 0 &&
        MPIR_Progress_hook_register(poll_members, &members.hook_id) != MPI_SUCCESS)
        return;
    MPID_Session_watch_comm(comm);
    if (members.is_active)
        return;
    members.is_active = true;
    members.pause_ms = FIRST_PAUSE_MS;
    members.queried_ms = now_ms();
    members.due_ms = members.queried_ms + FIRST_PAUSE_MS;
    MPIR_Progress_hook_activate(members.hook_id);
}
