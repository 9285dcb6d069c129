/*
 * Questions about process sets to the step manager, through the node daemon (pmi_adapt_set.h): a call is written and
 * sent, the answer awaited, fetched and read.  A waiting thread makes progress, and other threads may send queries
 * meanwhile.
 *
 * Members are uids there and ranks of the present world here.  For processes of the launch these are the same until the
 * world changes; then the step manager is queried once for its members.  SA1, SE1, SW2.
 */

#include "session.h"
#include "adapt.h"
#include "pmi.h"
#include "pmi_adapt_calls.h"

#define MEMBERS_MAX (1 << 20)   /* of a set */
#define POLLS_PER_PROGRESS 8

int MPIR_Session_check_manager(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(!MPIR_Session_has_daemon(), mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**psetmanager");
    MPIR_ERR_CHKANDJUMP(!MPIR_Adapt_has_joined() && !MPIR_Session_may_query(), mpi_errno,
                        MPI_ERR_UNSUPPORTED_OPERATION, "**psetjoining");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- ranks and uids ------------------------------------------------------------------------------------- */

struct member {
    uint32_t uid;
    int rank;
};

static struct {
    unsigned epoch;             /* 0: uids are ranks */
    int size;
    uint32_t *uids;             /* by rank */
    struct member *members;     /* by uid */
} world;

static uint32_t uid_of(int rank)
{
    return world.epoch == 0 ? (uint32_t) rank : world.uids[rank];
}

static int compare_members(const void *a, const void *b)
{
    uint32_t left = ((const struct member *) a)->uid, right = ((const struct member *) b)->uid;

    return (left > right) - (left < right);
}

/* -1: it is not in the world. */
static int rank_of(uint32_t uid)
{
    const struct member wanted = {.uid = uid };
    const struct member *found;

    /* a job that changes through sets has no windows */
    uint32_t n_lpids = MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF ?
        MPID_SESSION_LPIDS_MAX : (uint32_t) MPIR_Process.size;
    if (world.epoch == 0)
        return uid < n_lpids ? (int) uid : -1;
    found = bsearch(&wanted, world.members, world.size, sizeof(wanted), compare_members);
    return found ? found->rank : -1;
}

static void take_world(unsigned epoch, uint32_t * uids, struct member *members, int size)
{
    for (int rank = 0; rank < size; rank++)
        members[rank] = (struct member) {
            uids[rank], rank
        };
    qsort(members, size, sizeof(*members), compare_members);
    MPL_free(world.uids);
    MPL_free(world.members);
    world.epoch = epoch;
    world.size = size;
    world.uids = uids;
    world.members = members;
}

/* Others may query meanwhile, and then do so twice. */
static int learn_world(unsigned epoch)
{
    int mpi_errno = MPI_SUCCESS, n = 0;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    uint32_t *uids = NULL;
    struct member *members = NULL;
    char text[PMI_SET_NAME_MAX + 1];

    snprintf(text, sizeof(text), "mpix://WORLD/%u", epoch);
    MPIR_Session_call_begin(&call, PMI_SET_LOOK);
    MPIR_Session_call_text(&call, text);
    MPIR_Session_call_number(&call, false);     /* state */
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    uids = MPL_malloc(MPIR_Process.size * sizeof(*uids), MPL_MEM_OTHER);
    members = MPL_malloc(MPIR_Process.size * sizeof(*members), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!uids || !members, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIR_Session_answer_text(&answer, text, PMI_SET_NAME_MAX);
    for (int i = 0; i < 4; i++)
        MPIR_Session_answer_number(&answer);    /* state, serial, primary, op */
    for (uint32_t i = MPIR_Session_answer_number(&answer); i > 0 && !answer.bad; i--)
        MPIR_Session_answer_text(&answer, text, PMI_SET_NAME_MAX);
    for (uint32_t i = MPIR_Session_answer_number(&answer); i > 0 && !answer.bad; i--) {
        uint32_t first = MPIR_Session_answer_number(&answer);
        uint32_t count = MPIR_Session_answer_number(&answer);
        answer.bad = answer.bad || count > (uint32_t) (MPIR_Process.size - n);
        while (!answer.bad && count-- > 0)
            uids[n++] = first++;
    }
    MPIR_ERR_CHKANDJUMP(answer.bad || n != MPIR_Process.size, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    take_world(epoch, uids, members, n);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    MPL_free(uids);
    MPL_free(members);
    goto fn_exit;
}

static int know_world(void)
{
    unsigned epoch = MPIR_Adapt_epoch();

    return epoch == world.epoch ? MPI_SUCCESS : learn_world(epoch);
}

/* ---- queries ------------------------------------------------------------------------------------- */

static void append(struct MPIR_Session_call *call, const void *bytes, size_t n)
{
    if (call->used + n > call->capacity) {
        size_t capacity = MPL_MAX(2 * call->capacity, call->used + n + 256);
        unsigned char *more = MPL_realloc(call->bytes, capacity, MPL_MEM_OTHER);
        if (!more) {
            call->failed = true;
            return;
        }
        call->bytes = more;
        call->capacity = capacity;
    }
    memcpy(call->bytes + call->used, bytes, n);
    call->used += n;
}

int MPIR_Session_call_prepare(void)
{
    int mpi_errno = MPIR_Session_check_manager();

    return mpi_errno ? mpi_errno : know_world();
}

void MPIR_Session_call_begin(struct MPIR_Session_call *call, enum pmi_set_call kind)
{
    memset(call, 0, sizeof(*call));
    MPIR_Session_call_number(call, kind);
}

void MPIR_Session_call_free(struct MPIR_Session_call *call)
{
    MPL_free(call->bytes);
    call->bytes = NULL;
}

void MPIR_Session_call_number(struct MPIR_Session_call *call, uint32_t number)
{
    append(call, &number, sizeof(number));
}

void MPIR_Session_call_text(struct MPIR_Session_call *call, const char *text)
{
    MPIR_Session_call_number(call, (uint32_t) strlen(text));
    append(call, text, strlen(text));
}

void MPIR_Session_call_members(struct MPIR_Session_call *call, const int *ranks, int n)
{
    int runs = 0;

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            MPIR_Session_call_number(call, runs);
        for (int i = 0, count; i < n; i += count) {
            uint32_t first = uid_of(ranks ? ranks[i] : i);
            for (count = 1; i + count < n && uid_of(ranks ? ranks[i + count] : i + count) == first + count; count++);
            runs++;
            if (pass == 1) {
                MPIR_Session_call_number(call, first);
                MPIR_Session_call_number(call, count);
            }
        }
    }
}

int MPIR_Session_call_data(struct MPIR_Session_call *call, MPIR_Info * info)
{
    int mpi_errno = MPI_SUCCESS, n = 0, flag;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];

    if (info)
        mpi_errno = MPIR_Info_get_nkeys_impl(info, &n);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(n > PMI_SET_KEYS_MAX, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    MPIR_Session_call_number(call, n);
    for (int i = 0; i < n; i++) {
        mpi_errno = MPIR_Info_get_nthkey_impl(info, i, key);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Info_get_impl(info, key, MPI_MAX_INFO_VAL, value, &flag);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_Session_call_text(call, key);
        MPIR_Session_call_text(call, value);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Session_call_operand(struct MPIR_Session_call *call, const char *name)
{
    struct MPIR_Session_set set;
    bool predefined = MPIR_Session_find_predefined(name, &set);

    MPIR_Session_call_text(call, predefined ? set.name : name);
    MPIR_Session_call_number(call, predefined);
    if (predefined)
        MPIR_Session_call_members(call, set.ranks, set.size);
}

/* ---- the way there and back ------------------------------------------------------------------------------- */

static void write_hex(char *hex, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        *hex++ = digits[bytes[i] >> 4];
        *hex++ = digits[bytes[i] & 15];
    }
    *hex = '\0';
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int send_call(const struct MPIR_Session_call *call, uint32_t id, bool answered)
{
    int mpi_errno = MPI_SUCCESS;
    const char *how = answered ? "board=1" : "answer=0";
    char hex[2 * PMI_SET_LINE_MAX + 1];

    for (size_t at = 0; at < call->used && !mpi_errno; at += PMI_SET_LINE_MAX) {
        size_t n = MPL_MIN(call->used - at, PMI_SET_LINE_MAX);
        write_hex(hex, call->bytes + at, n);
        mpi_errno = MPIR_Adapt_notify_proxy("cmd=adapt_set_call id=%u more=%d %s call=%s", id, at + n < call->used, how,
                                            hex);
    }
    return mpi_errno;
}

/* The part of an answer that begins at `used`.  Nothing more: it is not there. */
static int fetch_part(uint32_t id, struct MPIR_Session_answer *answer, size_t * total)
{
    int mpi_errno = MPI_SUCCESS;
    char line[128], part[PMIU_ADAPT_LINE_MAX];
    unsigned char *bytes;

    int length = snprintf(line, sizeof(line), "cmd=adapt_set_fetch id=%u at=%zu\n", id, answer->used);
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    int failed = PMIU_Adapt_query(line, length, part);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    MPIR_ERR_CHKANDJUMP(failed || sscanf(part, "cmd=adapt_set_part bytes=%zu", total) != 1, mpi_errno,
                        MPI_ERR_OTHER, "**adaptdaemon");
    if (*total == 0)
        goto fn_exit;
    const char *hex = strstr(part, "data=");
    MPIR_ERR_CHKANDJUMP(!hex, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    bytes = MPL_realloc(answer->bytes, *total, MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!bytes, mpi_errno, MPI_ERR_OTHER, "**nomem");
    answer->bytes = bytes;
    for (hex += strlen("data="); answer->used < *total && hex_digit(hex[0]) >= 0 && hex_digit(hex[1]) >= 0; hex += 2)
        answer->bytes[answer->used++] = hex_digit(hex[0]) << 4 | hex_digit(hex[1]);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int fetch(uint32_t id, struct MPIR_Session_answer *answer)
{
    size_t total, before;
    int mpi_errno;

    do {
        before = answer->used;
        mpi_errno = fetch_part(id, answer, &total);
    } while (!mpi_errno && answer->used > before && answer->used < total);
    return mpi_errno;
}

/* From the board: whether it was there. */
static bool take_from_board(uint32_t id, struct MPIR_Session_answer *answer)
{
    struct pmi_adapt_answer *replies = MPIR_Adapt_board_answers();

    for (int i = 0; i < PMI_SET_ANSWERS; i++) {
        if (__atomic_load_n(&replies[i].id, __ATOMIC_ACQUIRE) != id)
            continue;
        size_t n = MPL_MIN(replies[i].bytes, PMI_SET_ANSWER_MAX);
        answer->bytes = MPL_malloc(MPL_MAX(n, 1), MPL_MEM_OTHER);
        if (answer->bytes)
            memcpy(answer->bytes, replies[i].data, n);
        answer->used = answer->bytes ? n : 0;
        __atomic_store_n(&replies[i].id, 0, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

static int error_of(struct MPIR_Session_answer *answer)
{
    int mpi_errno = MPI_SUCCESS;
    char text[512];

    MPIR_Session_answer_text(answer, text, sizeof(text) - 1);
    switch (answer->code) {
        case PMI_SET_FOREIGN:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_GROUP, "**psetcall", "**psetcall %s", text);
            break;
        case PMI_SET_MEMBER_ENDED:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_PROC_ABORTED, "**psetcall", "**psetcall %s", text);
            break;
        case PMI_SET_PENDING:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_PENDING, "**psetcall", "**psetcall %s", text);
            break;
        case PMI_SET_LOST:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_SPAWN, "**psetcall", "**psetcall %s", text);
            break;
        case PMI_SET_WINDOWS:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**psetcall", "**psetcall %s", text);
            break;
        case PMI_TASK_NO_PLACE:
            MPIR_ERR_SET1(mpi_errno, MPIX_ERR_ALLOCATE, "**processallocate", "**processallocate %s", text);
            break;
        case PMI_SET_FULL:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_NO_MEM, "**psetcall", "**psetcall %s", text);
            break;
        default:
            MPIR_ERR_SET1(mpi_errno, MPI_ERR_ARG, "**psetcall", "**psetcall %s", text);
    }
    return mpi_errno;
}

/* By the library's critical section: calls not answered yet; those that may wait for others apart. */
static int under_way[2];

bool MPIR_Session_call_has_capacity(const struct MPIR_Session_call *call)
{
    return under_way[call->waits] < PMI_SET_CALLS_MAX / 2;
}

static uint32_t new_id(void)
{
    static MPL_atomic_uint64_t last_id = MPL_ATOMIC_UINT64_T_INITIALIZER(0);

    return (uint32_t) MPL_atomic_fetch_add_uint64(&last_id, 1) + 1;
}

int MPIR_Session_call_send(struct MPIR_Session_call *call, struct MPIR_Session_sent *sent)
{
    int mpi_errno = MPIR_Session_check_manager();

    MPIR_ERR_CHECK(mpi_errno);
    sent->answered = MPIR_Adapt_board_answered();
    MPIR_ERR_CHKANDJUMP(!sent->answered, mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION, "**psetmanager");
    MPIR_ERR_CHKANDJUMP(call->failed, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    MPIR_ERR_CHKANDJUMP(call->used > PMI_SET_CALL_MAX, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    sent->waits = call->waits;
    sent->id = new_id();
    sent->seen = __atomic_load_n(sent->answered, __ATOMIC_ACQUIRE);
    mpi_errno = send_call(call, sent->id, true);
    MPIR_ERR_CHECK(mpi_errno);
    under_way[sent->waits]++;

  fn_exit:
    MPIR_Session_call_free(call);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_call_test(struct MPIR_Session_sent *sent, struct MPIR_Session_answer *answer, bool * complete)
{
    int mpi_errno = MPI_SUCCESS;
    uint32_t now = __atomic_load_n(sent->answered, __ATOMIC_ACQUIRE);

    memset(answer, 0, sizeof(*answer));
    *complete = false;
    if (now == sent->seen)
        goto fn_exit;
    sent->seen = now;
    if (take_from_board(sent->id, answer)) {
        MPIR_ERR_CHKANDJUMP(!answer->bytes, mpi_errno, MPI_ERR_OTHER, "**nomem");
    } else {
        mpi_errno = fetch(sent->id, answer);
        MPIR_ERR_CHECK(mpi_errno);
        if (answer->used == 0)
            goto fn_exit;       /* it was another's */
    }
    *complete = true;
    answer->code = (enum pmi_set_code) MPIR_Session_answer_number(answer);
    mpi_errno = answer->code == PMI_SET_OK ? MPI_SUCCESS : error_of(answer);
    if (mpi_errno)
        goto fn_fail;           /* no line of the error's stack: the reason comes last, and would be cut off */

  fn_exit:
    under_way[sent->waits] -= *complete;
    return mpi_errno;
  fn_fail:
    *complete = true;
    MPIR_Session_answer_free(answer);
    goto fn_exit;
}

int MPIR_Session_call_query(struct MPIR_Session_call *call, struct MPIR_Session_answer *answer)
{
    int mpi_errno = MPIR_Session_check_manager();
    struct MPIR_Session_sent sent;
    uint32_t *answered = mpi_errno ? NULL : MPIR_Adapt_board_answered();
    bool complete = false;

    memset(answer, 0, sizeof(*answer));
    while (answered && !mpi_errno && !MPIR_Session_call_has_capacity(call))
        mpi_errno = MPIR_Adapt_board_await_answer(answered, __atomic_load_n(answered, __ATOMIC_ACQUIRE));
    if (mpi_errno)
        MPIR_Session_call_free(call);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_call_send(call, &sent);
    MPIR_ERR_CHECK(mpi_errno);
    if (!call->is_slow)
        mpi_errno = MPIR_Adapt_board_spin_for_answer(sent.answered, sent.seen);
    MPIR_ERR_CHECK(mpi_errno);
    while (true) {
        mpi_errno = MPIR_Session_call_test(&sent, answer, &complete);
        if (mpi_errno)
            goto fn_fail;       /* as there */
        if (complete)
            break;
        mpi_errno = MPIR_Adapt_board_await_answer(sent.answered, sent.seen);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_call_post(struct MPIR_Session_call *call)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(call->failed || call->used > PMI_SET_CALL_MAX, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    mpi_errno = send_call(call, new_id(), false);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_call_free(call);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_call_notify(struct MPIR_Session_call *call)
{
    struct MPIR_Session_answer answer;
    int mpi_errno = MPIR_Session_call_query(call, &answer);

    if (!mpi_errno)
        MPIR_Session_answer_free(&answer);
    return mpi_errno;
}

/* ---- what is answered -------------------------------------------------------------------------------------- */

static const unsigned char *take(struct MPIR_Session_answer *answer, size_t n)
{
    answer->bad = answer->bad || n > answer->used - answer->at;
    if (answer->bad)
        return NULL;
    answer->at += n;
    return answer->bytes + answer->at - n;
}

uint32_t MPIR_Session_answer_number(struct MPIR_Session_answer *answer)
{
    uint32_t number = 0;
    const unsigned char *bytes = take(answer, sizeof(number));

    if (bytes)
        memcpy(&number, bytes, sizeof(number));
    return number;
}

void MPIR_Session_answer_text(struct MPIR_Session_answer *answer, char *text, size_t max)
{
    size_t n = MPIR_Session_answer_number(answer);
    const unsigned char *bytes = take(answer, n);

    n = bytes ? MPL_MIN(n, max) : 0;
    if (n)
        memcpy(text, bytes, n);
    text[n] = '\0';
}

int *MPIR_Session_answer_members(struct MPIR_Session_answer *answer, int *n)
{
    uint32_t runs = MPIR_Session_answer_number(answer);
    struct MPIR_Session_answer counting = *answer;
    uint64_t size = 0;
    int *ranks, *next;

    for (uint32_t i = 0; i < runs && !counting.bad; i++) {
        MPIR_Session_answer_number(&counting);
        size += MPIR_Session_answer_number(&counting);
        counting.bad = counting.bad || size > MEMBERS_MAX;
    }
    answer->bad = counting.bad;
    ranks = next = answer->bad ? NULL : MPL_malloc(MPL_MAX(size, 1) * sizeof(int), MPL_MEM_OTHER);
    for (uint32_t i = 0; i < runs && ranks; i++) {
        uint32_t first = MPIR_Session_answer_number(answer);
        for (uint32_t k = MPIR_Session_answer_number(answer); k > 0; k--)
            *next++ = rank_of(first++);
    }
    *n = (int) size;
    return ranks;
}

void MPIR_Session_answer_free(struct MPIR_Session_answer *answer)
{
    MPL_free(answer->bytes);
    answer->bytes = NULL;
}

/* ---- looking ------------------------------------------------------------------------------------------------ */

void MPIR_Session_made_release(struct MPIR_Session_made *made)
{
    if (!made || --made->references > 0)
        return;
    MPL_free(made->ranks);
    MPL_free(made);
}

/* The data of a set; `lasts`: it may be cached. */
static int read_made(struct MPIR_Session_answer *answer, struct MPIR_Session_made *made, bool * lasts)
{
    int mpi_errno = MPI_SUCCESS;
    char rest[PMI_SET_NAME_MAX + 1];

    MPIR_Session_answer_text(answer, made->name, PMI_SET_NAME_MAX);
    made->state = (enum pmi_set_state) MPIR_Session_answer_number(answer);
    made->serial = MPIR_Session_answer_number(answer);
    made->primary = rank_of(MPIR_Session_answer_number(answer));
    made->op = (enum pmi_set_op) MPIR_Session_answer_number(answer);
    uint32_t n = MPIR_Session_answer_number(answer);
    for (uint32_t i = 0; i < n && !answer->bad; i++)
        MPIR_Session_answer_text(answer, i < 2 ? made->operands[i] : rest, PMI_SET_NAME_MAX);
    made->ranks = MPIR_Session_answer_members(answer, &made->size);
    MPIR_ERR_CHKANDJUMP(answer->bad || !made->ranks, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    mpi_errno = MPIR_Session_insert_bcs(answer);
    MPIR_ERR_CHECK(mpi_errno);
    uint32_t how_long = MPIR_Session_answer_number(answer);
    *lasts = how_long != PMI_SET_LASTS_NOT;
    made->state_lasts = how_long == PMI_SET_LASTS;
    MPIR_ERR_CHKANDJUMP(answer->bad, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    for (int i = 0; i < made->size; i++) {
        made->holds_me = made->holds_me || made->ranks[i] == MPIR_Session_lpid();
        if (made->ranks[i] < 0)
            made->state = PMI_SET_ENDED;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* `name`: as in the query; NULL: as in the reply. */
static int read_lookup(struct MPIR_Session_answer *answer, const char *name, struct MPIR_Session_stamp stamp,
                       struct MPIR_Session_made **result)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_made *made = MPL_calloc(1, sizeof(*made), MPL_MEM_OTHER);
    bool lasts;

    MPIR_ERR_CHKANDJUMP(!made, mpi_errno, MPI_ERR_OTHER, "**nomem");
    made->references = 1;
    mpi_errno = read_made(answer, made, &lasts);
    MPIR_ERR_CHECK(mpi_errno);
    if (lasts)
        MPIR_Session_cache_store(name ? name : made->name, made, stamp);

  fn_exit:
    *result = made;
    return mpi_errno;
  fn_fail:
    MPIR_Session_made_release(made);
    made = NULL;
    goto fn_exit;
}

int MPIR_Session_cache_lookups(struct MPIR_Session_answer *answer, uint32_t n, struct MPIR_Session_stamp stamp)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_made *made;

    MPIR_ERR_CHKANDJUMP(answer->bad, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    for (; n > 0; n--) {
        mpi_errno = read_lookup(answer, NULL, stamp, &made);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_Session_made_release(made);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int query_lookup(const char *name, bool state_matters, struct MPIR_Session_made **result)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    struct MPIR_Session_stamp stamp;

    *result = NULL;
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    stamp = MPIR_Session_stamp();
    MPIR_Session_call_begin(&call, PMI_SET_LOOK);
    MPIR_Session_call_text(&call, name);
    MPIR_Session_call_number(&call, state_matters);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = read_lookup(&answer, name, stamp, result);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A polling caller makes progress now and then: others may need that before what it waits for
 * can come.  A question makes progress itself. */
int MPIR_Session_lookup(const char *name, bool state_matters, struct MPIR_Session_made **result)
{
    static unsigned polls;
    int mpi_errno = MPI_SUCCESS;

    if (++polls % POLLS_PER_PROGRESS == 0)
        mpi_errno = MPID_Progress_test(NULL);
    *result = mpi_errno ? NULL : MPIR_Session_cache_find(name, state_matters);
    MPIR_ERR_CHECK(mpi_errno);
    if (!*result)
        mpi_errno = query_lookup(name, state_matters, result);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_list_made(uint32_t * serial, void (*take_name) (void *state, const char *name, int size), void *state)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    char name[PMI_SET_NAME_MAX + 1];

    MPIR_Session_call_begin(&call, PMI_SET_LIST);
    MPIR_Session_call_number(&call, *serial);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    *serial = MPIR_Session_answer_number(&answer);
    uint32_t n = MPIR_Session_answer_number(&answer);
    for (uint32_t i = 0; i < n && !answer.bad; i++) {
        MPIR_Session_answer_text(&answer, name, PMI_SET_NAME_MAX);
        int size = (int) MPIR_Session_answer_number(&answer);
        if (!answer.bad)
            take_name(state, name, size);
    }
    MPIR_ERR_CHKANDJUMP(answer.bad, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
