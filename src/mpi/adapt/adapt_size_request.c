/*
 * MPIX_Adapt_request: size requests of this process.  The request is checked here and sent to the
 * proxy in one line; the resource manager, or mpiexec without one, grants or refuses it, and its
 * end appears on the board (pmi_adapt_request.h).  All calls are local.  One request of a process
 * is open at a time: the next one replaces it.
 *
 * State: the last PMI_ADAPT_REQUESTS size requests, by number; owned as MPIR_Adapt is.  Each has
 * exactly one end; it is the board's, except for a request that could not be sent, which is refused
 * here.  SPEC I3, six steps.
 */

#include "adapt.h"
#include "pmi_adapt_sizes.h"
#include "pmi_adapt_request.h"
#include <time.h>

/* Max number of requests at once; then one in REQUEST_EVERY_MS.  This limits the load on
 * mpiexec. */
#define REQUESTS_AT_ONCE 16
#define REQUEST_EVERY_MS 100

struct size_request {
    uint32_t number;            /* 0: none */
    enum pmi_adapt_request_kind kind;
    int size, size_min, size_max;
    /* the program's text: the same text is the same request, also for "+30" */
    char until[32];
    int64_t until_ms;           /* Unix time, 0: none */
    char reason[PMI_ADAPT_REQUEST_REASON_MAX + 1];
    struct pmi_adapt_request_end end;      /* number 0: open, as far as this process knows */
};

static struct {
    uint32_t last;              /* number of the last request, 0 before the first */
    struct size_request size_requests[PMI_ADAPT_REQUESTS];
    /* monotonic time at which the bucket of requests was last full, or will be full */
    int64_t allowed_ms;
} made;

static struct size_request *size_request_of(uint32_t number)
{
    return &made.size_requests[number % PMI_ADAPT_REQUESTS];
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now = { 0, 0 };

    (void) clock_gettime(clock, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the contents of the request ------------------------------------------------------------- */

static int value_error(const char *key, const char *value, const char *what)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_SETANDSTMT3(mpi_errno, MPI_ERR_INFO_VALUE,;, "**adaptwish", "**adaptwish %s %s %s",
                         key, value, what);
    return mpi_errno;
}

/* A whole number from low to high, nothing else in the text. */
static bool read_number(const char *text, long long low, long long high, long long *number)
{
    char *end = NULL;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0' && *number >= low && *number <= high;
}

static int read_size(MPIR_Info * info, const char *key, int *size)
{
    char text[32];
    int flag;
    long long number;

    int mpi_errno = MPIR_Info_get_impl(info, key, sizeof(text) - 1, text, &flag);
    if (mpi_errno != MPI_SUCCESS || !flag)
        return mpi_errno;
    if (!read_number(text, 1, PMI_ADAPT_SIZE_LARGEST, &number))
        return value_error(key, text, "a number of processes from 1 to 1048576 is needed");
    *size = (int) number;
    return MPI_SUCCESS;
}

/* "1700000000": seconds since 1970, as the probe's deadline; "+30": from now on. */
static int read_until(MPIR_Info * info, char text[32], int64_t * until_ms)
{
    const long long seconds_max = 1LL << 40;
    int flag;
    long long number;

    int mpi_errno = MPIR_Info_get_impl(info, "until", 31, text, &flag);
    if (mpi_errno != MPI_SUCCESS || !flag)
        return mpi_errno;
    if (!read_number(text + (*text == '+'), 1, seconds_max, &number))
        return value_error("until", text, "seconds since 1970 are needed, or +SECONDS from now on");
    *until_ms = number * 1000 + (*text == '+' ? clock_ms(CLOCK_REALTIME) : 0);
    return MPI_SUCCESS;
}

static int read_reason(MPIR_Info * info, char reason[PMI_ADAPT_REQUEST_REASON_MAX + 1])
{
    /* one byte more, to detect a text that is too long */
    char text[PMI_ADAPT_REQUEST_REASON_MAX + 2];
    int flag;

    int mpi_errno = MPIR_Info_get_impl(info, "reason", sizeof(text) - 1, text, &flag);
    if (mpi_errno != MPI_SUCCESS || !flag)
        return mpi_errno;
    if (!pmi_adapt_request_reason_holds(text, strlen(text)))
        return value_error("reason", "",
                           "at most 255 bytes without control characters are possible");
    strcpy(reason, text);
    return MPI_SUCCESS;
}

static int read_size_request(MPIR_Info * info, struct size_request *size_request)
{
    int mpi_errno = MPI_SUCCESS;

    memset(size_request, 0, sizeof(*size_request));
    size_request->kind = PMI_ADAPT_REQUEST_PROCESSES;
    mpi_errno = read_size(info, "size", &size_request->size);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = read_size(info, "size_min", &size_request->size_min);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = read_size(info, "size_max", &size_request->size_max);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = read_until(info, size_request->until, &size_request->until_ms);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = read_reason(info, size_request->reason);
    MPIR_ERR_CHECK(mpi_errno);
    if (!size_request->size)
        size_request->size =
            size_request->size_max ? size_request->size_max : size_request->size_min;
    MPIR_ERR_CHKANDJUMP(!size_request->size, mpi_errno, MPI_ERR_INFO_NOKEY, "**adaptwishsize");
    if (!size_request->size_min)
        size_request->size_min = size_request->size;
    if (!size_request->size_max)
        size_request->size_max = size_request->size;
    MPIR_ERR_CHKANDJUMP3(size_request->size_min > size_request->size ||
                         size_request->size > size_request->size_max, mpi_errno, MPI_ERR_INFO_VALUE,
                         "**adaptwishorder", "**adaptwishorder %d %d %d", size_request->size_min,
                         size_request->size, size_request->size_max);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- its end --------------------------------------------------------------------------------- */

static void end_here(struct size_request *size_request, enum pmi_adapt_request_state state,
                     const char *reason)
{
    size_request->end.number = size_request->number;
    size_request->end.state = state;
    size_request->end.size = (uint32_t) MPIR_Process.size;
    snprintf(size_request->end.reason, sizeof(size_request->end.reason), "%s", reason);
}

/* Whether it is open; reads the board. */
static bool is_open(struct size_request *size_request)
{
    const struct pmi_adapt_control *control = MPIR_Board.control;

    if (size_request->end.number)
        return false;
    if (!control || MPIR_Adapt.state == MPIR_ADAPT_STATE__LEFT) {
        end_here(size_request, PMI_ADAPT_REQUEST_WITHDRAWN, "this process has left its job");
        return false;
    }
    const char *board = (const char *) control;
    const struct pmi_adapt_slot *first =
        (const struct pmi_adapt_slot *) (board + control->slots_offset);
    const struct pmi_adapt_request_ends *ends =
        (const struct pmi_adapt_request_ends *) (board + control->requests_offset);
    return !pmi_adapt_read_request_end(ends + (MPIR_Board.slot - first), size_request->number,
                                       &size_request->end);
}

/* A bucket of REQUESTS_AT_ONCE, filled by one every REQUEST_EVERY_MS. */
static bool too_many(void)
{
    int64_t now = clock_ms(CLOCK_MONOTONIC);

    made.allowed_ms = MPL_MAX(made.allowed_ms, now - REQUESTS_AT_ONCE * REQUEST_EVERY_MS) +
        REQUEST_EVERY_MS;
    bool is = made.allowed_ms > now;
    if (is)
        made.allowed_ms -= REQUEST_EVERY_MS;
    return is;
}

/* ---- the operations -------------------------------------------------------------------------- */

static bool is_same(const struct size_request *a, const struct size_request *b)
{
    return a->kind == b->kind && a->size == b->size && a->size_min == b->size_min &&
        a->size_max == b->size_max && strcmp(a->until, b->until) == 0 &&
        strcmp(a->reason, b->reason) == 0;
}

static int notify_size_request(const struct size_request *size_request)
{
    char hex[2 * PMI_ADAPT_REQUEST_REASON_MAX + 1] = "";

    for (size_t i = 0; size_request->reason[i]; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char) size_request->reason[i]);
    return MPIR_Board_notify_proxy("cmd=adapt_wish id=%u kind=%d size=%d min=%d max=%d until=%"
                                   PRId64 " why=%s", size_request->number, size_request->kind,
                                   size_request->size, size_request->size_min,
                                   size_request->size_max, size_request->until_ms, hex);
}

int MPIR_Adapt_request_impl(MPIR_Info * info, int *request_id)
{
    int mpi_errno = MPI_SUCCESS;
    struct size_request size_request;

    MPIR_ERR_CHKANDJUMP(MPIR_Adapt_is_rigid(), mpi_errno, MPI_ERR_OTHER, "**adaptrigid");
    MPIR_ERR_CHKANDJUMP(!info, mpi_errno, MPI_ERR_INFO, "**infonull");
    mpi_errno = read_size_request(info, &size_request);
    MPIR_ERR_CHECK(mpi_errno);
    struct size_request *before = made.last ? size_request_of(made.last) : NULL;
    if (before && is_same(before, &size_request) && is_open(before)) {
        *request_id = (int) made.last;
        goto fn_exit;
    }
    MPIR_Assert(made.last < PMI_ADAPT_REQUEST_NUMBER_MAX);
    size_request.number = made.last + 1;
    if (!MPIR_Board.control || MPIR_Adapt.state == MPIR_ADAPT_STATE__LEFT)
        end_here(&size_request, PMI_ADAPT_REQUEST_REFUSED,
                 "there is no process manager that could change the world's size");
    else if (too_many())
        end_here(&size_request, PMI_ADAPT_REQUEST_REFUSED,
                 "this process has made too many size requests in a short time");
    else {
        mpi_errno = notify_size_request(&size_request);
        MPIR_ERR_CHECK(mpi_errno);
    }
    made.last = size_request.number;
    *size_request_of(size_request.number) = size_request;
    *request_id = (int) size_request.number;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Finds a stored request, or returns an error. */
static int find_size_request(int request_id, struct size_request **size_request)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(MPIR_Adapt_is_rigid(), mpi_errno, MPI_ERR_OTHER, "**adaptrigid");
    bool known = request_id >= 1 &&
        size_request_of((uint32_t) request_id)->number == (uint32_t) request_id;
    MPIR_ERR_CHKANDJUMP2(!known, mpi_errno, MPI_ERR_ARG, "**adaptwishid", "**adaptwishid %d %d",
                         request_id, (int) made.last);
    *size_request = size_request_of((uint32_t) request_id);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int describe_end(const struct pmi_adapt_request_end *end, MPI_Info * info)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Info *info_ptr = NULL;
    char size[16];

    mpi_errno = MPIR_Info_alloc(&info_ptr);
    MPIR_ERR_CHECK(mpi_errno);
    snprintf(size, sizeof(size), "%" PRIu32, end->size);
    mpi_errno = MPIR_Info_set_impl(info_ptr, "size", size);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Info_set_impl(info_ptr, "reason", end->reason);
    MPIR_ERR_CHECK(mpi_errno);
    *info = info_ptr->handle;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (info_ptr)
        MPIR_Info_free_impl(info_ptr);
    goto fn_exit;
}

int MPIR_Adapt_request_state_impl(int request_id, int *state, MPI_Info * info)
{
    int mpi_errno = MPI_SUCCESS;
    struct size_request *size_request;

    mpi_errno = find_size_request(request_id, &size_request);
    MPIR_ERR_CHECK(mpi_errno);
    if (info)
        *info = MPI_INFO_NULL;
    *state = is_open(size_request) ? MPIX_ADAPT_REQUEST_OPEN : (int) size_request->end.state;
    if (info && *state != MPIX_ADAPT_REQUEST_OPEN)
        mpi_errno = describe_end(&size_request->end, info);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The step manager decides the end, as for every request: it may have been granted meanwhile. */
int MPIR_Adapt_request_withdraw_impl(int request_id)
{
    int mpi_errno = MPI_SUCCESS;
    struct size_request *size_request;

    mpi_errno = find_size_request(request_id, &size_request);
    MPIR_ERR_CHECK(mpi_errno);
    if (is_open(size_request))
        mpi_errno = MPIR_Board_notify_proxy("cmd=adapt_wish_withdraw id=%u", size_request->number);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- MPIX_Comm_modify ------------------------------------------------------------------------ */

int MPIR_Adapt_request_modify(int size, uint32_t * number)
{
    struct size_request size_request = {
        .number = made.last + 1,.kind = PMI_ADAPT_REQUEST_MODIFY,.size = size,.size_min = size,
            .size_max = size
    };

    MPIR_Assert(made.last < PMI_ADAPT_REQUEST_NUMBER_MAX);
    int mpi_errno = notify_size_request(&size_request);
    if (mpi_errno)
        return mpi_errno;
    made.last = size_request.number;
    *size_request_of(size_request.number) = size_request;
    *number = size_request.number;
    return MPI_SUCCESS;
}

bool MPIR_Adapt_request_has_ended(uint32_t number, struct pmi_adapt_request_end *end)
{
    struct size_request *size_request = size_request_of(number);

    if (is_open(size_request))
        return false;
    *end = size_request->end;
    return true;
}
