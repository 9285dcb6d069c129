/*
 * MPIX_Adapt_request: the program itself requests the sizes --sizes 4,1,...: rank 0, or with --all
 * 1 every process, makes the size request in each iteration, which is one size request.  Each is
 * granted by an adaptation.  --refused TEXT: the size request for --sizes is refused with this
 * reason instead.  --withdraw 1: what is requested is withdrawn.  A malformed size request is an
 * error.
 */

#include "elastic_test.h"

static int wanted[16], wanted_count;
static int of_all, makes_requests, id, of_epoch = -1;

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, key, value));
    return info;
}

static int request_size(int size)
{
    char text[16];
    int number = -1;

    snprintf(text, sizeof(text), "%d", size);
    MPI_Info info = info_of("size", text);
    ET_MPI(MPI_Info_set(info, "reason", "a test: 100 % \303\244"));
    ET_MPI(MPI_Info_set(info, "until", "+600"));
    ET_MPI(MPI_Info_set(info, "some_other_key", "is ignored"));
    ET_MPI(MPIX_Adapt_request(info, &number));
    ET_MPI(MPI_Info_free(&info));
    return number;
}

/* The end that the size request comes to; the info object is as it should be. */
static int await_end(int size_info, char *reason, int reason_bytes)
{
    double start = et_seconds();
    int state = -1, flag, n = reason_bytes;
    char size[16];
    MPI_Info info;

    while (1) {
        ET_MPI(MPIX_Adapt_request_state(size_info, &state, &info));
        ET_CHECK((state == MPIX_ADAPT_REQUEST_OPEN) == (info == MPI_INFO_NULL),
                 "state %d, and info", state);
        if (state != MPIX_ADAPT_REQUEST_OPEN)
            break;
        ET_CHECK(et_seconds() < start + et.patience_s, "request %d is open after %g s", size_info,
                 et.patience_s);
        et_sleep_ms(1);
    }
    ET_MPI(MPI_Info_get_string(info, "reason", &n, reason, &flag));
    ET_CHECK(flag, "no reason");
    n = sizeof(size);
    ET_MPI(MPI_Info_get_string(info, "size", &n, size, &flag));
    ET_CHECK(flag && atoi(size) > 0, "no size");
    ET_MPI(MPI_Info_free(&info));
    int again = -1;
    ET_MPI(MPIX_Adapt_request_state(size_info, &again, NULL));
    ET_CHECK(again == state, "state %d, and then %d", state, again);
    return state;
}

/* An iteration: the size request of this epoch, again and again. */
static void compute(void)
{
    if (makes_requests && wanted[et.epoch] != et.size) {
        int number = request_size(wanted[et.epoch]);
        ET_CHECK(of_epoch != et.epoch || number == id, "request %d, made again, is %d", id, number);
        id = number;
        of_epoch = et.epoch;
    }
    et_idle();
}

static void after(void)
{
    char reason[256];

    if (of_epoch != et.epoch - 1)
        return;                 /* it has joined */
    int state = await_end(id, reason, sizeof(reason));
    ET_CHECK(state == MPIX_ADAPT_REQUEST_GRANTED &&
             reason[0] == '\0', "state %d: %s", state, reason);
    ET_CHECK(et.size == wanted[et.epoch - 1], "size %d", et.size);
    if (of_all)
        /* others make the next size request already, and this one would replace it */
        return;
    int now = request_size(et.size);
    ET_CHECK(await_end(now, reason, sizeof(reason)) == MPIX_ADAPT_REQUEST_GRANTED,
             "the size that it has: %s", reason);
    ET_CHECK(await_end(id, reason, sizeof(reason)) == MPIX_ADAPT_REQUEST_GRANTED,
             "no longer granted");
}

static void is_error(const char *key, const char *value, int class, const char *word)
{
    int number = -1;
    MPI_Info info = info_of(key, value);

    ET_ERROR(MPIX_Adapt_request(info, &number), class, word);
    ET_MPI(MPI_Info_free(&info));
}

static void errors(void)
{
    int state;
    char text[300] = "";
    MPI_Info info = info_of("size", "4");

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    is_error("reason", "none", MPI_ERR_INFO_NOKEY, "the size request has no size");
    is_error("size", "0", MPI_ERR_INFO_VALUE, "from 1 to 1048576");
    is_error("size", "1048577", MPI_ERR_INFO_VALUE, "from 1 to 1048576");
    is_error("size", "4x", MPI_ERR_INFO_VALUE, "4x");
    is_error("size", "-1", MPI_ERR_INFO_VALUE, "size");
    is_error("size", "99999999999999999999999", MPI_ERR_INFO_VALUE, "size");
    ET_MPI(MPI_Info_set(info, "size_min", "5"));
    ET_ERROR(MPIX_Adapt_request(info, &state), MPI_ERR_INFO_VALUE, "size_min 5, size 4");
    ET_MPI(MPI_Info_delete(info, "size_min"));
    ET_MPI(MPI_Info_set(info, "until", "soon"));
    ET_ERROR(MPIX_Adapt_request(info, &state), MPI_ERR_INFO_VALUE, "until");
    ET_MPI(MPI_Info_delete(info, "until"));
    memset(text, 'x', 256);
    ET_MPI(MPI_Info_set(info, "reason", text));
    ET_ERROR(MPIX_Adapt_request(info, &state), MPI_ERR_INFO_VALUE, "255");
    ET_MPI(MPI_Info_set(info, "reason", "a\nb"));
    ET_ERROR(MPIX_Adapt_request(info, &state), MPI_ERR_INFO_VALUE, "control");
    ET_ERROR(MPIX_Adapt_request(info, NULL), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Adapt_request(MPI_INFO_NULL, &state), MPI_ERR_INFO, NULL);
    ET_ERROR(MPIX_Adapt_request_state(0, &state, NULL), MPI_ERR_ARG, "not known");
    ET_ERROR(MPIX_Adapt_request_state(id + 1, &state, NULL), MPI_ERR_ARG, "not known");
    ET_ERROR(MPIX_Adapt_request_withdraw(-1), MPI_ERR_ARG, "not known");
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

static void refused(const char *why)
{
    char reason[256];

    id = request_size(wanted[0]);
    int state = await_end(id, reason, sizeof(reason));
    ET_CHECK(state == MPIX_ADAPT_REQUEST_REFUSED &&
             strstr(reason, why), "state %d: %s", state, reason);
}

/* It may have been granted before.  Of many, the last ones are known. */
static void withdrawn(void)
{
    char reason[256];
    int state, first = request_size(et.size + 1);

    ET_MPI(MPIX_Adapt_request_withdraw(first));
    state = await_end(first, reason, sizeof(reason));
    ET_CHECK(state == MPIX_ADAPT_REQUEST_WITHDRAWN &&
             strstr(reason, "withdrawn"), "state %d: %s", state, reason);
    ET_MPI(MPIX_Adapt_request_withdraw(first));
    for (int i = 0; i < 8; i++)
        id = request_size(et.size + 1 + i % 2);
    ET_MPI(MPIX_Adapt_request_withdraw(id));
    ET_CHECK(id == first + 8, "request %d after request %d", id, first);
    for (int i = first + 1; i <= id; i++)
        ET_CHECK(await_end(i, reason, sizeof(reason)) == MPIX_ADAPT_REQUEST_WITHDRAWN,
                 "request %d: %s", i, reason);
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_ERROR(MPIX_Adapt_request_state(first, &state, NULL), MPI_ERR_ARG, "can be queried");
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

/* More than ten in a second for long. */
static void too_many(void)
{
    char reason[256];
    int state = -1;

    for (int i = 0; i < 40 && state != MPIX_ADAPT_REQUEST_REFUSED; i++) {
        id = request_size(et.size + 1 + i % 2);
        ET_MPI(MPIX_Adapt_request_state(id, &state, NULL));
    }
    ET_CHECK(state == MPIX_ADAPT_REQUEST_REFUSED, "forty size requests at once, state %d", state);
    await_end(id, reason, sizeof(reason));
    ET_CHECK(strstr(reason, "too many"), "%s", reason);
}

int main(int argc, char **argv)
{
    char *sizes = strdup(et_argument(argc, argv, "sizes", "1"));
    const char *why = et_argument(argc, argv, "refused", NULL);
    long withdraw = et_number(argc, argv, "withdraw", 0);

    et_init(&argc, &argv);
    for (char *size = strtok(sizes, ","); size; size = strtok(NULL, ","))
        wanted[wanted_count++] = atoi(size);
    of_all = (int) et_number(argc, argv, "all", 0);
    makes_requests = of_all || (et.rank == 0 && et.status == MPI_ADAPT_STATUS_NEW);
    if (et.status == MPI_ADAPT_STATUS_NEW && et.rank == 0) {
        if (why)
            refused(why);
        if (withdraw) {
            withdrawn();
            too_many();
        }
        errors();
    }
    if (!why && !withdraw) {
        et.epochs = wanted_count;
        et.compute = compute;
        et.after = after;
    }
    free(sizes);
    return et_run();
}
