/* Files and sums of adapt_items.h. */

#include "adapt_items.h"
#include "handover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agreement.h"
#include "distribution.h"
#include "exchange.h"
#include "failure.h"

/* The rank of a new rank's process in the order of all, in which old ranks come first. */
static int rank_among_all(const epop_window_t *window, int new_rank)
{
    for (int rank = 0; rank < window->old_size; rank++)
        if (window->new_rank_of[rank] == new_rank)
            return rank;
    return window->old_size + new_rank - window->staying;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int add_up(const epop_window_t *window, MPI_Comm all, int count, double values[],
                  double *leaving)
{
    double *sums = leaving + count;

    for (int k = 0; k < count; k++)
        leaving[k] = window->status == MPI_ADAPT_STATUS_LEAVING ? values[k] : 0;
    int code =
        MPI_Reduce(leaving, sums, count, MPI_DOUBLE, MPI_SUM, rank_among_all(window, 0), all);
    for (int k = 0; !code && k < count; k++) {
        if (window->status != MPI_ADAPT_STATUS_STAYING)
            values[k] = 0;
        if (window->new_rank == 0)
            values[k] += sums[k];
    }
    return code;
}

static const char NOT_OPEN[] = "the window is NULL or not open (MPIX_Adapt_window_open)";

static bool is_filled(const epop_window_t *window)
{
    return window && window->new_rank_of;
}

/* The first step of all these functions; succeeds on all processes or on none. what: the meaning of
 * the terms; text: the terms of this process. *channel is that of the window. */
static int agree(const epop_window_t *window, enum adapt_call_kind kind, const char *function,
                 const char *error, int64_t terms, const char *what, const char *text,
                 struct adapt_channel **channel)
{
    const struct adapt_proposal mine = {.kind = kind,.function = function,.error = error,
        .error_class = error == ADAPT_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_ARG,.terms = terms,
        .chunk = adapt_exchange_chunk()
    };
    struct adapt_agreed agreed;

    int code = adapt_channel_open(window, channel);
    if (code)
        return adapt_channel_failed(code, function, error);
    code = adapt_agree_on_call(*channel, &mine, &agreed);
    return code ||
        !agreed.terms_differ ? code : adapt_refuse_difference(*channel, function, what, text);
}

int MPIX_Adapt_sums(const epop_window_t *window, int count, double values[])
{
    const char *error =
        !is_filled(window) ? NOT_OPEN : count < 0 ? "the number of values is negative" : count > 0
        && !values ? "values is NULL" : NULL;
    struct adapt_channel *channel;
    char text[40];

    double *capacity = error ? NULL : adapt_reserve(2 * (int64_t) count, sizeof(double));
    if (!error && !capacity)
        error = ADAPT_NO_MEMORY;
    snprintf(text, sizeof(text), "%d", count);
    int code =
        agree(window, ADAPT_CALL_SUMS, "MPIX_Adapt_sums", error, count, "the number of sums", text,
              &channel);
    if (!code)
        code = add_up(window, channel->all, count, values, capacity);
    free(capacity);
    return code;
}

/* ---- shared variables ------------------------------------------------------------------------ */

int adapt_share_bytes(const epop_window_t *window, void *address, int64_t bytes, const char *error,
                      const char *function)
{
    struct adapt_channel *channel;
    char text[40];

    if (!is_filled(window))
        error = NOT_OPEN;
    snprintf(text, sizeof(text), "%lld bytes", (long long) bytes);
    int code =
        agree(window, ADAPT_CALL_SHARE, function, error, bytes, "the size of a variable", text,
              &channel);
    if (code || window->joining == 0)
        return code;
    return MPI_Bcast_c(address, bytes, MPI_BYTE,
                       window->old_rank == 0 ? MPI_ROOT : window->old_rank > 0 ? MPI_PROC_NULL : 0,
                       window->intercomm);
}

int MPIX_Adapt_share(const epop_window_t *window, void *address, int64_t bytes)
{
    return adapt_share_bytes(window, address, bytes, bytes < 0 ? "the number of bytes is negative" :
                             bytes > 0 && !address ? "address is NULL" : NULL, "MPIX_Adapt_share");
}

int MPIX_Adapt_data_agree(const epop_window_t *window, int64_t bytes)
{
    struct adapt_channel *channel;
    char text[40];

    snprintf(text, sizeof(text), "%lld bytes", (long long) bytes);
    return agree(window, ADAPT_CALL_BROADCAST, "MPIX_Adapt_data_agree",
                 is_filled(window) ? NULL : NOT_OPEN, bytes, "the size of a variable", text,
                 &channel);
}

/* ---- files ----------------------------------------------------------------------------------- */

#define PATH_LENGTH 4096        /* with its terminator */

/* The description of the file that its process sends to the successor. */
struct handed {
    int64_t position;           /* -1: the close has failed */
    char path[PATH_LENGTH];
};

static int agree_on(MPI_Comm all, int mine, int *worst)
{
    return MPI_Allreduce(&mine, worst, 1, MPI_INT, MPI_MAX, all);
}

static int64_t close_file(FILE **file)
{
    int64_t position = ftello(*file);

    if (fclose(*file) != 0)
        position = -1;
    *file = NULL;
    return position;
}

static FILE *open_file(const char *path, int64_t position)
{
    FILE *file = fopen(path, "r+");

    if (file && fseeko(file, position, SEEK_SET) != 0) {
        fclose(file);
        file = NULL;
    }
    return file;
}

/* Sends the file from `owner`, a rank in `all`, to the successor. */
static int hand_over(const epop_window_t *window, MPI_Comm all, int owner, int successor,
                     const char *path, FILE **file)
{
    struct handed handed = {.position = -1 };
    int rank, failed = 0, worst = 0;

    MPI_Comm_rank(all, &rank);
    if (rank == owner) {
        snprintf(handed.path, sizeof(handed.path), "%s", path);
        handed.position = close_file(file);
    }
    int code = MPI_Bcast(&handed, (int) sizeof(handed), MPI_BYTE, owner, all);
    if (!code && window->new_rank == successor && handed.position >= 0) {
        *file = open_file(handed.path, handed.position);
        failed = *file ? 0 : errno ? errno : EIO;
    }
    if (!code)
        code = agree_on(all, failed, &worst);
    if (!code && (worst || handed.position < 0))
        code = adapt_fail(MPI_ERR_IO, "MPIX_Adapt_file: '%s' cannot be %s: %s", handed.path,
                          worst ? "opened by its successor" : "closed", worst ? strerror(worst) :
                          "not all of it could be written");
    return code;
}

int adapt_file_owner(const epop_window_t *window, bool has_it, int successor, const char *error,
                     const char *function, int *owner)
{
    struct adapt_channel *channel;
    int mine[2], most[2], rank;
    char text[AGREEMENT_TEXT];

    *owner = -1;
    if (!is_filled(window)) {
        error = NOT_OPEN;
    } else if (!error && (successor < 0 || successor >= window->new_size)) {
        snprintf(text, sizeof(text), "successor is %d, no rank of the new world of %d", successor,
                 window->new_size);
        error = text;
    }
    char name[40];
    snprintf(name, sizeof(name), "new rank %d", successor);
    int code =
        agree(window, ADAPT_CALL_FILE, function, error, successor, "the successor of a file", name,
              &channel);
    if (code)
        return code;
    MPI_Comm_rank(channel->all, &rank);
    /* one owner: the max and the min of the ranks are equal */
    mine[0] = has_it ? rank : -1;
    mine[1] = has_it ? -rank : INT32_MIN;
    code = MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, channel->all);
    if (!code && most[0] >= 0 && most[0] != -most[1])
        code = adapt_fail(MPI_ERR_ARG, "%s: several processes have the file open", function);
    if (!code && most[0] >= 0 && most[0] < window->old_size && window->new_rank_of[most[0]] < 0)
        *owner = most[0];
    return code;
}

int adapt_file_end(const epop_window_t *window, bool failed, const char *function)
{
    struct adapt_channel *channel;
    int worst;

    int code = adapt_channel_open(window, &channel);
    if (!code)
        code = agree_on(channel->all, failed, &worst);
    return code || !worst ? code : adapt_fail(MPI_ERR_IO,
                                   "%s: the file cannot be closed by the one that"
                                   " leaves, or not opened by its successor", function);
}

int MPIX_Adapt_file(const epop_window_t *window, int successor, const char *path, FILE **file)
{
    static const char function[] = "MPIX_Adapt_file";
    struct adapt_channel *channel;
    int owner;

    const char *error = !file ? "file is NULL" : *file && !path ? "path is NULL" :
        *file && strlen(path) >= PATH_LENGTH ? "path is longer than 4095 characters" : NULL;
    int code = adapt_file_owner(window, file && *file, successor, error, function, &owner);
    if (!code && owner >= 0)
        code = adapt_channel_open(window, &channel);
    return code || owner < 0 ? code : hand_over(window, channel->all, owner, successor, path, file);
}
