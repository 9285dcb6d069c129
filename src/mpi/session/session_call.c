/*
 * Queries about process sets to the step manager, through the proxy (pmi_adapt_set.h): a call is
 * written and sent, and the answer awaited and fetched.  A waiting thread makes progress, and other
 * threads may send queries meanwhile.  SA1, SE1.
 */

#include "session.h"
#include "connect_board.h"
#include "pmi.h"
#include "pmi_adapt_calls.h"

int MPIR_Session_check_manager(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(!MPIR_Session_has_proxy(), mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION,
                        "**psetmanager");
    MPIR_ERR_CHKANDJUMP(!MPIR_Adapt_has_joined() &&
                        !MPIR_Session_may_query(), mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION,
                        "**psetjoining");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- parts of a call ------------------------------------------------------------------------- */

static void append_to_call(struct MPIR_Session_call *call, const void *bytes, size_t n)
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
    append_to_call(call, &number, sizeof(number));
}

void MPIR_Session_call_text(struct MPIR_Session_call *call, const char *text)
{
    MPIR_Session_call_number(call, (uint32_t) strlen(text));
    append_to_call(call, text, strlen(text));
}

void MPIR_Session_call_data(struct MPIR_Session_call *call, MPIR_Info * info)
{
    int n = 0, flag;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];

    if (info)
        MPIR_Info_get_nkeys_impl(info, &n);
    call->failed = call->failed || n > PMI_SET_KEYS_MAX;
    MPIR_Session_call_number(call, n);
    for (int i = 0; i < n && !call->failed; i++) {
        call->failed = MPIR_Info_get_nthkey_impl(info, i, key) ||
            MPIR_Info_get_impl(info, key, MPI_MAX_INFO_VAL, value, &flag) || !flag;
        if (call->failed)
            break;
        MPIR_Session_call_text(call, key);
        MPIR_Session_call_text(call, value);
    }
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

/* ---- sending and receiving ------------------------------------------------------------------- */

static void write_hex(char *hex, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        *hex++ = digits[bytes[i] >> 4];
        *hex++ = digits[bytes[i] & 15];
    }
    *hex = '\0';
}

static int call_hex_digit(char c)
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
        mpi_errno =
            MPIR_Board_notify_proxy("cmd=adapt_set_call id=%u more=%d %s call=%s", id,
                                    at + n < call->used, how, hex);
    }
    return mpi_errno;
}

/* Fetches the part of a reply that begins at `used`. If nothing is added, the reply does not
 * exist. */
static int fetch_part(uint32_t id, struct MPIR_Session_answer *answer, size_t * total)
{
    int mpi_errno = MPI_SUCCESS;
    char line[128], part[PMIU_ADAPT_LINE_MAX];
    unsigned char *bytes;

    int length =
        snprintf(line, sizeof(line), "cmd=adapt_set_fetch id=%u at=%zu\n", id, answer->used);
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    int failed = PMIU_Adapt_query(line, length, part);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    MPIR_ERR_CHKANDJUMP(failed ||
                        sscanf(part, "cmd=adapt_set_part bytes=%zu", total) != 1, mpi_errno,
                        MPI_ERR_OTHER, "**adaptproxy");
    if (*total == 0)
        goto fn_exit;
    const char *hex = strstr(part, "data=");
    MPIR_ERR_CHKANDJUMP(!hex, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    bytes = MPL_realloc(answer->bytes, *total, MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!bytes, mpi_errno, MPI_ERR_OTHER, "**nomem");
    answer->bytes = bytes;
    hex += strlen("data=");
    for (; answer->used < *total && call_hex_digit(hex[0]) >= 0 && call_hex_digit(hex[1]) >= 0;
         hex += 2)
        answer->bytes[answer->used++] = call_hex_digit(hex[0]) << 4 | call_hex_digit(hex[1]);

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

/* Reads the reply from the board; returns whether it was there. */
static bool take_from_board(uint32_t id, struct MPIR_Session_answer *answer)
{
    struct pmi_adapt_answer *replies = MPIR_Board_answers();

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

/* Number of calls without a reply; calls that may wait for others are counted separately. Protected
 * by the library's critical section. */
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
    sent->answered = MPIR_Board_answered();
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

int MPIR_Session_call_test(struct MPIR_Session_sent *sent, struct MPIR_Session_answer *answer,
                           bool *complete)
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
            goto fn_exit;       /* it was the reply to another call */
    }
    *complete = true;
    answer->code = (enum pmi_set_code) MPIR_Session_answer_number(answer);
    mpi_errno = answer->code == PMI_SET_OK ? MPI_SUCCESS : MPIR_Session_answer_error(answer);
    if (mpi_errno)
        /* adds no line to the error stack: the reason is its end, and would be truncated */
        goto fn_fail;

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
    uint32_t *answered = mpi_errno ? NULL : MPIR_Board_answered();
    bool complete = false;

    memset(answer, 0, sizeof(*answer));
    while (answered && !mpi_errno && !MPIR_Session_call_has_capacity(call))
        mpi_errno = MPIR_Board_await_answer(answered, __atomic_load_n(answered, __ATOMIC_ACQUIRE));
    if (mpi_errno)
        MPIR_Session_call_free(call);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_call_send(call, &sent);
    MPIR_ERR_CHECK(mpi_errno);
    if (!call->is_slow)
        mpi_errno = MPIR_Board_spin_for_answer(sent.answered, sent.seen);
    MPIR_ERR_CHECK(mpi_errno);
    while (true) {
        mpi_errno = MPIR_Session_call_test(&sent, answer, &complete);
        if (mpi_errno)
            goto fn_fail;       /* likewise */
        if (complete)
            break;
        mpi_errno = MPIR_Board_await_answer(sent.answered, sent.seen);
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

    MPIR_ERR_CHKANDJUMP(call->failed ||
                        call->used > PMI_SET_CALL_MAX, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
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
