/*
 * Whether a process that is waited for has ended: whoever waits long asks mpiexec now and then.  SI8, SL4.
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
#include "adapt_handles.h"
#include "dynproc.h"
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
    for (int i = 0; i < group->size; i++) {
        /* one that nobody reaches any more has no place */
        *lost = group->lrank_to_lpid[i].lpid >= MPID_SESSION_PLACES;
        if (*lost)
            goto fn_exit;
        places[i] = (int) group->lrank_to_lpid[i].lpid;
    }
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

/* ---- members of communicators --------------------------------------------------------------------------------- */

/*
 * As long as there are communicators of several that were made from groups, progress looks at a clock now and then.  If
 * it has been looked in vain for a while, mpiexec is asked how many of their members have ended, and then which: of the
 * halves, and so on.  The program goes on meanwhile.
 */

#define POLLS 64                /* between two looks at the clock */
#define BUSY_PAUSE_MS 8000      /* where messages come and go */
#define MEMBER_PAUSE_MS 2       /* for each member, which may all wait and ask */
#define COMES_POLLS 1024        /* what an ended process has sent lies before this process, which takes it in */
#define SILENT_MS 3000
#define AGAIN_MS 100
#define AGAIN_POLLS 256
#define RANGES_MAX 34           /* of halves that wait, of at most 2^16 */

struct range {
    int first, n;
};

struct ended {
    int place;
    int64_t told_ms;
    unsigned told_polls;
    struct ended *next;
};

static struct {
    int hook_id;
    bool is_active;
    unsigned polls, failed_polls;
    int64_t asked_ms, due_ms, pause_ms, failed_ms;
    int progress;               /* when it was last looked */
    /* a round of questions */
    int *places, n_places;      /* NULL: there is none */
    struct range ranges[RANGES_MAX];
    int n_ranges;
    struct range asked;         /* n 0: no question is under way */
    struct MPIR_Session_sent sent;
    struct ended *ended;        /* of whom something may still come */
    bool any_departed;
} members = {.hook_id = -1 };

static void add_members(uint8_t * wanted, MPIR_Comm * comm, int n, bool is_remote)
{
    for (int i = 0; i < n; i++) {
        uint64_t lpid;
        (void) MPID_Comm_get_lpid(comm, i, &lpid, is_remote);
        if (lpid < MPID_SESSION_PLACES)
            wanted[lpid] = 1;
    }
}

static bool is_told(int place)
{
    for (const struct ended *one = members.ended; one; one = one->next) {
        if (one->place == place)
            return true;
    }
    return false;
}

/* All members of whom it is not known that they have ended.  False: there are no such communicators. */
static bool begin_round(void)
{
    uint8_t *wanted = MPL_calloc(MPID_SESSION_PLACES, 1, MPL_MEM_OTHER);
    bool any = false;
    int n = 0;

    members.places = MPL_malloc(MPID_SESSION_PLACES * sizeof(int), MPL_MEM_OTHER);
    if (!wanted || !members.places)
        any = true;             /* next time */
    for (MPIR_Comm * comm = MPIR_Adapt_live_comms; comm && wanted && members.places; comm = comm->adapt.next) {
        bool is_intercomm = comm->comm_kind == MPIR_COMM_KIND__INTERCOMM;
        if (!comm->adapt.session || comm->adapt.connection || comm->remote_size + is_intercomm < 2)
            continue;
        any = true;
        add_members(wanted, comm, comm->local_size, false);
        if (is_intercomm)
            add_members(wanted, comm, comm->remote_size, true);
    }
    for (int i = 0; any && wanted && members.places && i < MPID_SESSION_PLACES; i++) {
        if (wanted[i] && i != MPIR_Session_place() && !MPID_Session_has_departed(i) && !is_told(i))
            members.places[n++] = i;
    }
    MPL_free(wanted);
    if (n == 0) {
        MPL_free(members.places);
        members.places = NULL;
    }
    members.n_places = n;
    members.n_ranges = n > 0;
    members.ranges[0] = (struct range) {0, n};
    return any;
}

static void end_round(void)
{
    MPL_free(members.places);
    members.places = NULL;
    members.n_ranges = 0;
}

static void ask_next(void)
{
    struct MPIR_Session_call call;

    members.asked = members.ranges[--members.n_ranges];
    MPIR_Session_call_begin(&call, PMI_SET_ENDED_COUNT);
    MPIR_Session_call_members(&call, members.places + members.asked.first, members.asked.n);
    if (!MPIR_Session_call_has_room(&call)) {
        MPIR_Session_call_free(&call);
        members.asked.n = 0;
    } else if (MPIR_Session_call_send(&call, &members.sent)) {
        members.asked.n = 0;
    }
    if (members.asked.n == 0)
        end_round();            /* the next one begins anew */
}

static void note_ended(int place, int64_t now)
{
    struct ended *one = MPL_malloc(sizeof(*one), MPL_MEM_OTHER);

    if (!one)
        return;                 /* it is asked for again */
    *one = (struct ended) {.place = place,.told_ms = now,.told_polls = members.polls,.next = members.ended };
    members.ended = one;
}

static void take_count(uint32_t count, int64_t now)
{
    struct range asked = members.asked;

    if (count >= (uint32_t) asked.n) {
        for (int i = 0; i < asked.n; i++)
            note_ended(members.places[asked.first + i], now);
    } else if (count > 0) {
        int half = asked.n / 2;
        members.ranges[members.n_ranges++] = (struct range) {asked.first + half, asked.n - half};
        members.ranges[members.n_ranges++] = (struct range) {asked.first, half};
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
    members.asked.n = 0;
    if (members.n_ranges == 0)
        end_round();
}

/* What it has sent before its end has come by then. */
static void look_at_ended(int64_t now)
{
    for (struct ended ** place = &members.ended; *place;) {
        struct ended *one = *place;
        if (now - one->told_ms >= GRACE_MS && members.polls - one->told_polls >= COMES_POLLS) {
            MPID_Session_depart(one->place);
            members.any_departed = true;
        }
        if (now - one->told_ms < SILENT_MS || !MPID_Session_has_departed(one->place)) {
            place = &one->next;
            continue;
        }
        MPID_Session_silence(one->place);
        *place = one->next;
        MPL_free(one);
    }
}

static int64_t shortest_pause(void)
{
    return MPL_MAX(FIRST_PAUSE_MS, MEMBER_PAUSE_MS * members.n_places);
}

/* Who waits asks soon, and ever more seldom. */
static bool is_due(int64_t now)
{
    int progress = MPID_Dynproc_progress_count();

    if (progress != members.progress) {
        members.progress = progress;
        members.pause_ms = FIRST_PAUSE_MS;
        members.due_ms = MPL_MIN(members.asked_ms + BUSY_PAUSE_MS, now + shortest_pause());
    }
    return now >= members.due_ms;
}

static void rest(void)
{
    end_round();
    members.is_active = false;
    MPIR_Progress_hook_deactivate(members.hook_id);
}

/* Ranks in the present world are uids only as long as that has not been adapted; others end in windows then. */
static void go_on(int64_t now)
{
    if (MPIR_Adapt_epoch() != 0) {
        MPID_Session_depart_nobody();
        members.any_departed = false;
        rest();
        return;
    }
    if (members.asked.n > 0)
        take_answer(now);
    else if (members.n_ranges > 0)
        ask_next();
    look_at_ended(now);
    if (members.any_departed && now - members.failed_ms >= AGAIN_MS &&
        members.polls - members.failed_polls >= AGAIN_POLLS) {
        members.failed_ms = now;
        members.failed_polls = members.polls;
        MPID_Session_fail();
        MPID_Dynproc_sweep();
    }
    if (members.asked.n == 0 && members.n_ranges == 0 && is_due(now)) {
        members.pause_ms = MPL_MIN(2 * members.pause_ms, LONGEST_PAUSE_MS);
        members.asked_ms = now;
        members.due_ms = now + MPL_MAX(members.pause_ms, shortest_pause());
        if (!begin_round())
            rest();
    }
}

static int look_at_members(int *made_progress)
{
    static bool looks;          /* what ends makes progress, which would come here again */

    if (++members.polls % POLLS || looks)
        return MPI_SUCCESS;
    looks = true;
    go_on(now_ms());
    looks = false;
    return MPI_SUCCESS;
}

void MPIR_Session_watch_members(MPIR_Comm * comm)
{
    if (!MPIR_Session_has_daemon() || MPIR_Adapt_epoch() != 0 || comm->remote_size + comm->local_size <= 2)
        return;
    if (members.hook_id < 0 && MPIR_Progress_hook_register(look_at_members, &members.hook_id) != MPI_SUCCESS)
        return;
    MPID_Session_watch_comm(comm);
    if (members.is_active)
        return;
    members.is_active = true;
    members.pause_ms = FIRST_PAUSE_MS;
    members.asked_ms = now_ms();
    members.due_ms = members.asked_ms + FIRST_PAUSE_MS;
    MPIR_Progress_hook_activate(members.hook_id);
}
