/* Files and sums of adapt_items.h. */

#include "adapt_items.h"
#include "handover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "channel.h"
#include "distribution.h"
#include "failure.h"

/* The rank of a new rank's process among all, where old ranks come first. */
static int rank_among_all(const epop_window_t *window, int new_rank)
{
    for (int rank = 0; rank < window->old_size; rank++)
        if (window->new_rank_of[rank] == new_rank)
            return rank;
    return window->old_size + new_rank - window->staying;
}

/* ---- sums ------------------------------------------------------------------------------------- */

static int add_up(const epop_window_t *window, MPI_Comm all, int count, double values[],
                  double *leaving)
{
    double *sums = leaving + count;

    for (int k = 0; k < count; k++)
        leaving[k] = window->status == MPI_ADAPT_STATUS_LEAVING ? values[k] : 0;
    int code = MPI_Reduce(leaving, sums, count, MPI_DOUBLE, MPI_SUM, rank_among_all(window, 0), all);
    for (int k = 0; !code && k < count; k++) {
        if (window->status != MPI_ADAPT_STATUS_STAYING)
            values[k] = 0;
        if (window->new_rank == 0)
            values[k] += sums[k];
    }
    return code;
}

/* Fails on all processes if it does on one. */
static int agree_on(MPI_Comm all, int mine, int *worst)
{
    return MPI_Allreduce(&mine, worst, 1, MPI_INT, MPI_MAX, all);
}

int MPIX_Adapt_sums(const epop_window_t *window, int count, double values[])
{
    struct adapt_channel *channel;
    int worst = 0;

    if (!window || !window->new_rank_of || count < 0 || (count > 0 && !values))
        return adapt_fail(MPI_ERR_ARG, "MPIX_Adapt_sums: window or values is NULL, or count negative");
    int code = adapt_channel_open(window, &channel);
    if (code)
        return code;
    double *room = adapt_room(2 * (int64_t) count, sizeof(double));
    code = agree_on(channel->all, !room, &worst);
    if (!code && worst)
        code = adapt_fail(MPI_ERR_NO_MEM, "MPIX_Adapt_sums: there is no memory; nothing has changed");
    if (!code)
        code = add_up(window, channel->all, count, values, room);
    free(room);
    return code;
}

/* ---- files ------------------------------------------------------------------------------------ */

/* What whoever has the file tells the heir. */
struct handed {
    int64_t position;           /* -1: closing has failed */
    int64_t path_length;
};

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

/* From `owner` among all to the heir. */
static int hand_over(const epop_window_t *window, MPI_Comm all, int owner, int heir,
                     const char *path, FILE **file)
{
    struct handed handed = { -1, 0 };
    int rank, failed = 0, worst = 0;

    MPI_Comm_rank(all, &rank);
    if (rank == owner)
        handed = (struct handed) {close_file(file), (int64_t) strlen(path)};
    int code = MPI_Bcast(&handed, 2, MPI_INT64_T, owner, all);
    char *name = code ? NULL : malloc((size_t) handed.path_length + 1);
    if (code || !name)
        return code ? code : MPI_ERR_NO_MEM;
    if (rank == owner)
        memcpy(name, path, (size_t) handed.path_length);
    code = MPI_Bcast(name, (int) handed.path_length, MPI_CHAR, owner, all);
    name[handed.path_length] = '\0';
    if (!code && window->new_rank == heir && handed.position >= 0) {
        *file = open_file(name, handed.position);
        failed = *file ? 0 : errno ? errno : EIO;
    }
    if (!code)
        code = agree_on(all, failed, &worst);
    if (!code && (worst || handed.position < 0))
        code = adapt_fail(MPI_ERR_IO, "MPIX_Adapt_file: '%s' cannot be %s: %s", name,
                          worst ? "opened by its heir" : "closed", worst ? strerror(worst) :
                          "not all of it could be written");
    free(name);
    return code;
}

int adapt_file_owner(const epop_window_t *window, bool has_it, int heir, const char *function,
                     int *owner)
{
    struct adapt_channel *channel;
    int mine[2], most[2], rank;

    *owner = -1;
    if (heir < 0 || heir >= window->new_size)
        return adapt_fail(MPI_ERR_ARG, "%s: heir is no rank of the new world", function);
    int code = adapt_channel_open(window, &channel);
    if (code)
        return code;
    MPI_Comm_rank(channel->all, &rank);
    /* the greatest and the smallest rank are the same */
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
    return code || !worst ? code : adapt_fail(MPI_ERR_IO, "%s: the file cannot be closed by the one that"
                                              " leaves, or not opened by its heir", function);
}

int MPIX_Adapt_file(const epop_window_t *window, int heir, const char *path, FILE **file)
{
    static const char function[] = "MPIX_Adapt_file";
    struct adapt_channel *channel;
    int owner;

    if (!window || !window->new_rank_of || !file || (*file && !path))
        return adapt_fail(MPI_ERR_ARG, "%s: window, file or path is NULL", function);
    int code = adapt_file_owner(window, *file, heir, function, &owner);
    if (!code && owner >= 0)
        code = adapt_channel_open(window, &channel);
    return code || owner < 0 ? code : hand_over(window, channel->all, owner, heir, path, file);
}
