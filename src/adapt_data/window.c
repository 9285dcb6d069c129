/* See adapt_window.h. */

#include "adapt_window.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include "agreement.h"
#include "failure.h"

static const char OPEN[] = "MPIX_Adapt_window_open";
static const char CLOSE[] = "MPIX_Adapt_window_close";

/* The role of this process, which follows from the communicators.  Joining processes are the last
 * ranks of the new world, in their order. */
static int find_status(MPI_Comm old, MPI_Comm inter, MPI_Comm fresh)
{
    MPI_Group old_group, new_group;
    int old_size, new_size, ends[2], in_new[2];

    if (fresh == MPI_COMM_NULL)
        return MPI_ADAPT_STATUS_LEAVING;
    if (inter == MPI_COMM_NULL)
        return MPI_ADAPT_STATUS_STAYING;
    MPI_Comm_size(old, &old_size);
    MPI_Comm_size(fresh, &new_size);
    MPI_Comm_group(old, &old_group);
    MPI_Comm_group(fresh, &new_group);
    ends[0] = 0;
    ends[1] = old_size - 1;
    MPI_Group_translate_ranks(old_group, 2, ends, new_group, in_new);
    MPI_Group_free(&old_group);
    MPI_Group_free(&new_group);
    return in_new[0] == new_size - old_size && in_new[1] == new_size - 1 ?
        MPI_ADAPT_STATUS_JOINING : MPI_ADAPT_STATUS_STAYING;
}

static const char *name_of_status(int status)
{
    return status == MPI_ADAPT_STATUS_STAYING ? "MPI_ADAPT_STATUS_STAYING" :
        status == MPI_ADAPT_STATUS_LEAVING ? "MPI_ADAPT_STATUS_LEAVING" :
        status == MPI_ADAPT_STATUS_JOINING ? "MPI_ADAPT_STATUS_JOINING" :
        status == MPI_ADAPT_STATUS_NEW ? "MPI_ADAPT_STATUS_NEW" : "none of MPI_ADAPT_STATUS_...";
}

#define WRONG_STATUS INT_MIN    /* instead of a new rank */

/* Gathers the new ranks of the old processes, each of which knows its own.  Joining processes find
 * them in the group of the new world. */
static int query_ranks(const epop_window_t *window, bool is_wrong, int *new_rank_of)
{
    const int mine = is_wrong ? WRONG_STATUS : window->new_rank;
    MPI_Group old_group, new_group;
    int code = MPI_SUCCESS;

    if (window->status != MPI_ADAPT_STATUS_JOINING)
        return MPI_Allgather(&mine, 1, MPI_INT, new_rank_of, 1, MPI_INT,
                             window->old_world);
    int *old_ranks = malloc((size_t) window->old_size * sizeof(int));
    if (!old_ranks)
        return MPI_ERR_NO_MEM;
    for (int rank = 0; rank < window->old_size; rank++)
        old_ranks[rank] = rank;
    MPI_Comm_remote_group(window->intercomm, &old_group);
    MPI_Comm_group(window->new_world, &new_group);
    code = MPI_Group_translate_ranks(old_group, window->old_size, old_ranks, new_group,
                                     new_rank_of);
    for (int rank = 0; rank < window->old_size; rank++)
        new_rank_of[rank] = new_rank_of[rank] == MPI_UNDEFINED ? -1 : new_rank_of[rank];
    MPI_Group_free(&old_group);
    MPI_Group_free(&new_group);
    free(old_ranks);
    return code;
}

static int query_sizes(epop_window_t *window)
{
    const int joins = window->status == MPI_ADAPT_STATUS_JOINING;
    int own_size, rank, remote_size = 0;

    MPI_Comm_size(window->old_world, &own_size);
    MPI_Comm_rank(window->old_world, &rank);
    if (window->intercomm != MPI_COMM_NULL)
        MPI_Comm_remote_size(window->intercomm, &remote_size);
    window->old_size = joins ? remote_size : own_size;
    window->joining = joins ? own_size : remote_size;
    window->old_rank = joins ? -1 : rank;
    window->new_rank = -1;
    if (window->status != MPI_ADAPT_STATUS_LEAVING)
        MPI_Comm_rank(window->new_world, &window->new_rank);
    return window->old_size > 0;
}

/* If one old process has passed a wrong status, all old processes fail. */
static int check_status(const epop_window_t *window, int given, const char *function,
                        const int *new_rank_of)
{
    if (given != window->status)
        return adapt_fail(MPI_ERR_ARG,
                          "%s: the status is %s, but for this process it is %s: give that of"
                          " the last MPI_Probe_adapt, or of MPI_Init_adapt on a joining process",
                          function, name_of_status(given), name_of_status(window->status));
    for (int rank = 0; rank < window->old_size; rank++)
        if (new_rank_of[rank] == WRONG_STATUS)
            return adapt_fail(MPI_ERR_ARG,
                              "%s: old rank %d has given the status of another process", function,
                              rank);
    return MPI_SUCCESS;
}

static int fill(MPI_Comm old, MPI_Comm inter, MPI_Comm fresh, int status, const char *function,
                epop_window_t *window)
{
    *window = (epop_window_t) {.old_world = old,.intercomm = inter,.new_world = fresh,.status =
            status,.pc = -1,.iteration = -1
    };
    if (old == MPI_COMM_NULL)
        return adapt_fail(MPI_ERR_ARG,
                          "%s: these are not the communicators of an adaptation window", function);
    const int found = find_status(old, inter, fresh);
    window->status = found;
    if (!query_sizes(window))
        return adapt_fail(MPI_ERR_ARG,
                          "%s: these are not the communicators of an adaptation window", function);
    int *new_rank_of = malloc((size_t) window->old_size * sizeof(int));
    int code = new_rank_of ? query_ranks(window, found != status, new_rank_of) : MPI_ERR_NO_MEM;
    if (!code)
        code = check_status(window, status, function, new_rank_of);
    if (code != MPI_SUCCESS) {
        free(new_rank_of);
        return code == MPI_ERR_NO_MEM ? adapt_fail(MPI_ERR_NO_MEM,
                                                   "%s: there is no memory for %d ranks", function,
                                                   window->old_size) : code;
    }
    window->new_rank_of = new_rank_of;
    for (int rank = 0; rank < window->old_size; rank++)
        window->staying += new_rank_of[rank] >= 0;
    window->leaving = window->old_size - window->staying;
    window->new_size = window->staying + window->joining;
    return adapt_channel_note(window);
}

int MPIX_Adapt_window_fill(MPI_Comm old, MPI_Comm inter, MPI_Comm fresh, int status,
                           epop_window_t *window)
{
    if (!window)
        return adapt_fail(MPI_ERR_ARG, "MPIX_Adapt_window_fill: window is NULL");
    return fill(old, inter, fresh, status, "MPIX_Adapt_window_fill", window);
}

void MPIX_Adapt_window_clear(epop_window_t *window)
{
    adapt_channel_discard(window);
    free((void *) window->new_rank_of);
    window->new_rank_of = NULL;
}

int MPIX_Adapt_window_all(const epop_window_t *window, MPI_Comm *all)
{
    if (!window || !window->new_rank_of || !all)
        return adapt_fail(MPI_ERR_ARG, "MPIX_Adapt_window_all: window or all is NULL, or the window"
                          " is not filled");
    if (window->intercomm == MPI_COMM_NULL)
        return MPI_Comm_dup(window->old_world, all);
    return MPI_Intercomm_merge(window->intercomm, window->status == MPI_ADAPT_STATUS_JOINING, all);
}

int MPIX_Adapt_window_probe(int *status)
{
    int pending = MPI_ADAPT_FALSE;

    if (!status) {
        (void) adapt_fail(MPI_ERR_ARG, "MPIX_Adapt_window_probe: status is NULL");
        return 0;
    }
    return MPI_Probe_adapt(&pending, status, NULL) == MPI_SUCCESS && pending == MPI_ADAPT_TRUE;
}

int MPIX_Adapt_window_open(int status, epop_window_t *window, MPI_Comm *all)
{
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining;

    if (!window)
        return adapt_fail(MPI_ERR_ARG, "%s: window is NULL", OPEN);
    if (status != MPI_ADAPT_STATUS_STAYING && status != MPI_ADAPT_STATUS_LEAVING &&
        status != MPI_ADAPT_STATUS_JOINING)
        return adapt_fail(MPI_ERR_ARG,
                          "%s: the status is %d (%s), not that of a process in a window: give that "
                          "of"
                          " the last MPI_Probe_adapt, or of MPI_Init_adapt on a joining process",
                          OPEN, status, name_of_status(status));
    if (adapt_channel_has_window())
        return adapt_fail(MPI_ERR_ARG,
                          "%s: a window is open in this process already, by another call of this "
                          "library:"
                          " move in that window, or register with the set that MPIX_Adapt moves",
                          adapt_called(OPEN));
    int code = MPI_Comm_adapt_begin(&intercomm, &new_world, &staying, &leaving, &joining);
    if (!code)
        code = fill(MPI_COMM_WORLD, intercomm, new_world, status, OPEN, window);
    return code || !all ? code : MPIX_Adapt_window_all(window, all);
}

/* Agrees that all processes of the window close it; otherwise the error lists their calls.  Only
 * once: a process whose commit has failed repeats it alone. */
static int agree_to_close(const epop_window_t *window)
{
    const struct adapt_proposal mine = {.kind = ADAPT_CALL_CLOSE,.function = CLOSE,.object =
            adapt_called(NULL) ? "the commit" : NULL
    };
    struct adapt_channel *channel;
    struct adapt_agreed agreed;

    int code = adapt_channel_open(window, &channel);
    if (code || channel->is_closing)
        return code;
    code = adapt_agree_on_call(channel, &mine, &agreed);
    channel->is_closing = !code;
    return code;
}

int MPIX_Adapt_window_close(epop_window_t *window, MPI_Comm *all)
{
    if (!window || !window->new_rank_of)
        return adapt_fail(MPI_ERR_ARG, "%s: the window is not open", CLOSE);
    int code = agree_to_close(window);
    if (!code)
        code = MPI_Comm_adapt_commit();
    if (code)
        return code;
    MPIX_Adapt_window_clear(window);
    return all && *all != MPI_COMM_NULL ? MPI_Comm_free(all) : MPI_SUCCESS;
}
