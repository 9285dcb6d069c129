/*
 * MPIX_Adapt_request: what this process wants of the size of its world.  The wish is checked here and told the node
 * daemon in one line; whoever manages resources grants or refuses it, and its end appears on the board
 * (pmi_adapt_wish.h).  All calls are local.  One wish of a process is open at a time: the next one takes its place.
 *
 * State: the last PMI_ADAPT_WISHES wishes, by number; owned as MPIR_Adapt is.  Each has exactly one end; it is the
 * board's, but of a wish that nobody could be told of, which is refused here.  SPEC I3, six steps.
 */

#include "adapt.h"
#include "pmi_adapt_sizes.h"
#include "pmi_adapt_wish.h"
#include <time.h>

/* So many wishes at once, and then one in so many ms: mpiexec has other things to do. */
#define WISHES_AT_ONCE 16
#define WISH_EVERY_MS 100

struct wish {
    uint32_t number;            /* 0: none */
    enum pmi_adapt_wish_kind kind;
    int size, size_min, size_max;
    char until[32];             /* as it was given: the same text is the same wish, "+30" as well */
    int64_t until_ms;           /* Unix time, 0: none */
    char reason[PMI_ADAPT_WISH_REASON_MAX + 1];
    struct pmi_adapt_wish_end end;      /* number 0: open, as far as is known here */
};

static struct {
    uint32_t last;              /* number of the last wish, 0 before the first */
    struct wish wishes[PMI_ADAPT_WISHES];
    int64_t allowed_ms;         /* monotonic: when the bucket of wishes was full last, or will be */
} made;

static struct wish *wish_of(uint32_t number)
{
    return &made.wishes[number % PMI_ADAPT_WISHES];
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now = { 0, 0 };

    (void) clock_gettime(clock, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- what the wish says -------------------------------------------------------------------------- */

static int value_error(const char *key, const char *value, const char *what)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_SETANDSTMT3(mpi_errno, MPI_ERR_INFO_VALUE,;, "**adaptwish", "**adaptwish %s %s %s", key, value, what);
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

static int read_reason(MPIR_Info * info, char reason[PMI_ADAPT_WISH_REASON_MAX + 1])
{
    char text[PMI_ADAPT_WISH_REASON_MAX + 2];   /* one byte more: to see that it is too long */
    int flag;

    int mpi_errno = MPIR_Info_get_impl(info, "reason", sizeof(text) - 1, text, &flag);
    if (mpi_errno != MPI_SUCCESS || !flag)
        return mpi_errno;
    if (!pmi_adapt_wish_reason_holds(text, strlen(text)))
        return value_error("reason", "", "at most 255 bytes without control characters are possible");
    strcpy(reason, text);
    return MPI_SUCCESS;
}

static int read_wish(MPIR_Info * info, struct wish *wish)
{
    int mpi_errno = MPI_SUCCESS;

    memset(wish, 0, sizeof(*wish));
    wish->kind = PMI_ADAPT_WISH_PROCESSES;
    mpi_errno = read_size(info, "size", &wish->size);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = read_size(info, "size_min", &wish->size_min);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = read_size(info, "size_max", &wish->size_max);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = read_until(info, wish->until, &wish->until_ms);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = read_reason(info, wish->reason);
    MPIR_ERR_CHECK(mpi_errno);
    if (!wish->size)
        wish->size = wish->size_max ? wish->size_max : wish->size_min;
    MPIR_ERR_CHKANDJUMP(!wish->size, mpi_errno, MPI_ERR_INFO_NOKEY, "**adaptwishsize");
    if (!wish->size_min)
        wish->size_min = wish->size;
    if (!wish->size_max)
        wish->size_max = wish->size;
    MPIR_ERR_CHKANDJUMP3(wish->size_min > wish->size || wish->size > wish->size_max, mpi_errno,
                         MPI_ERR_INFO_VALUE, "**adaptwishorder", "**adaptwishorder %d %d %d",
                         wish->size_min, wish->size, wish->size_max);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- its end ------------------------------------------------------------------------------------- */

static void end_here(struct wish *wish, enum pmi_adapt_wish_state state, const char *reason)
{
    wish->end.number = wish->number;
    wish->end.state = state;
    wish->end.size = (uint32_t) MPIR_Process.size;
    snprintf(wish->end.reason, sizeof(wish->end.reason), "%s", reason);
}

/* Whether it is open; looks at the board. */
static bool is_open(struct wish *wish)
{
    const struct pmi_adapt_control *control = MPIR_Adapt.control;

    if (wish->end.number)
        return false;
    if (!control || MPIR_Adapt.state == MPIR_ADAPT_STATE__LEFT) {
        end_here(wish, PMI_ADAPT_WISH_WITHDRAWN, "this process has left its job");
        return false;
    }
    const char *board = (const char *) control;
    const struct pmi_adapt_slot *first = (const struct pmi_adapt_slot *) (board + control->slots_offset);
    const struct pmi_adapt_wish_ends *ends = (const struct pmi_adapt_wish_ends *) (board + control->wishes_offset);
    return !pmi_adapt_read_wish_end(ends + (MPIR_Adapt.slot - first), wish->number, &wish->end);
}

/* A bucket of WISHES_AT_ONCE, filled by one every WISH_EVERY_MS. */
static bool too_many(void)
{
    int64_t now = clock_ms(CLOCK_MONOTONIC);

    made.allowed_ms = MPL_MAX(made.allowed_ms, now - WISHES_AT_ONCE * WISH_EVERY_MS) + WISH_EVERY_MS;
    bool is = made.allowed_ms > now;
    if (is)
        made.allowed_ms -= WISH_EVERY_MS;
    return is;
}

/* ---- the operations -------------------------------------------------------------------------------- */

static bool is_same(const struct wish *a, const struct wish *b)
{
    return a->kind == b->kind && a->size == b->size && a->size_min == b->size_min && a->size_max == b->size_max &&
        strcmp(a->until, b->until) == 0 && strcmp(a->reason, b->reason) == 0;
}

static int tell(const struct wish *wish)
{
    char hex[2 * PMI_ADAPT_WISH_REASON_MAX + 1] = "";

    for (size_t i = 0; wish->reason[i]; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char) wish->reason[i]);
    return MPIR_Adapt_tell_daemon("cmd=adapt_wish id=%u kind=%d size=%d min=%d max=%d until=%" PRId64 " why=%s",
                                  wish->number, wish->kind, wish->size, wish->size_min,
                                  wish->size_max, wish->until_ms, hex);
}

int MPIR_Adapt_request_impl(MPIR_Info * info, int *wish_id)
{
    int mpi_errno = MPI_SUCCESS;
    struct wish wish;

    MPIR_ERR_CHKANDJUMP(MPIR_Adapt_is_rigid(), mpi_errno, MPI_ERR_OTHER, "**adaptrigid");
    MPIR_ERR_CHKANDJUMP(!info, mpi_errno, MPI_ERR_INFO, "**infonull");
    mpi_errno = read_wish(info, &wish);
    MPIR_ERR_CHECK(mpi_errno);
    struct wish *before = made.last ? wish_of(made.last) : NULL;
    if (before && is_same(before, &wish) && is_open(before)) {
        *wish_id = (int) made.last;
        goto fn_exit;
    }
    MPIR_Assert(made.last < PMI_ADAPT_WISH_NUMBER_MAX);
    wish.number = made.last + 1;
    if (!MPIR_Adapt.control || MPIR_Adapt.state == MPIR_ADAPT_STATE__LEFT)
        end_here(&wish, PMI_ADAPT_WISH_REFUSED, "there is no process manager that could change the world's size");
    else if (too_many())
        end_here(&wish, PMI_ADAPT_WISH_REFUSED, "this process has made too many wishes in a short time");
    else {
        mpi_errno = tell(&wish);
        MPIR_ERR_CHECK(mpi_errno);
    }
    made.last = wish.number;
    *wish_of(wish.number) = wish;
    *wish_id = (int) wish.number;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* One that is remembered, or an error. */
static int find_wish(int wish_id, struct wish **wish)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(MPIR_Adapt_is_rigid(), mpi_errno, MPI_ERR_OTHER, "**adaptrigid");
    bool known = wish_id >= 1 && wish_of((uint32_t) wish_id)->number == (uint32_t) wish_id;
    MPIR_ERR_CHKANDJUMP2(!known, mpi_errno, MPI_ERR_ARG, "**adaptwishid", "**adaptwishid %d %d", wish_id,
                         (int) made.last);
    *wish = wish_of((uint32_t) wish_id);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int describe_end(const struct pmi_adapt_wish_end *end, MPI_Info * info)
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

int MPIR_Adapt_request_state_impl(int wish_id, int *state, MPI_Info * info)
{
    int mpi_errno = MPI_SUCCESS;
    struct wish *wish;

    mpi_errno = find_wish(wish_id, &wish);
    MPIR_ERR_CHECK(mpi_errno);
    if (info)
        *info = MPI_INFO_NULL;
    *state = is_open(wish) ? MPIX_ADAPT_REQUEST_OPEN : (int) wish->end.state;
    if (info && *state != MPIX_ADAPT_REQUEST_OPEN)
        mpi_errno = describe_end(&wish->end, info);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Its end comes from the step manager as every other: it may have been granted meanwhile. */
int MPIR_Adapt_request_withdraw_impl(int wish_id)
{
    int mpi_errno = MPI_SUCCESS;
    struct wish *wish;

    mpi_errno = find_wish(wish_id, &wish);
    MPIR_ERR_CHECK(mpi_errno);
    if (is_open(wish))
        mpi_errno = MPIR_Adapt_tell_daemon("cmd=adapt_wish_withdraw id=%u", wish->number);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- MPIX_Comm_modify ------------------------------------------------------------------------------ */

int MPIR_Adapt_wish_modify(int size, uint32_t * number)
{
    struct wish wish = {
        .number = made.last + 1,.kind = PMI_ADAPT_WISH_MODIFY,.size = size,.size_min = size,.size_max = size
    };

    MPIR_Assert(made.last < PMI_ADAPT_WISH_NUMBER_MAX);
    int mpi_errno = tell(&wish);
    if (mpi_errno)
        return mpi_errno;
    made.last = wish.number;
    *wish_of(wish.number) = wish;
    *number = wish.number;
    return MPI_SUCCESS;
}

bool MPIR_Adapt_wish_has_ended(uint32_t number, struct pmi_adapt_wish_end *end)
{
    struct wish *wish = wish_of(number);

    if (is_open(wish))
        return false;
    *end = wish->end;
    return true;
}
