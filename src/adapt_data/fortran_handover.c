/*
 * Shared variables, sums and files of the Fortran module adapt_data.  Variables come as descriptors, of any
 * type and rank; a file is closed and opened by the module, here its processes tell each other about it.
 */

#include <ISO_Fortran_binding.h>

#include "adapt_items.h"
#include "channel.h"
#include "failure.h"
#include "handover.h"

static int refuse_closed(const char *function)
{
    return adapt_fail(MPI_ERR_ARG, "%s: the window is not open", function);
}

/* ---- variables -------------------------------------------------------------------------------- */

static int64_t bytes_of(const CFI_cdesc_t *variable)
{
    int64_t bytes = (int64_t) variable->elem_len;

    for (int k = 0; k < variable->rank; k++)
        bytes *= variable->dim[k].extent;
    return bytes;
}

/* Joining processes get what old rank 0 has. */
int adapt_fortran_share(const epop_window_t *window, CFI_cdesc_t *variable)
{
    struct adapt_channel *channel;

    if (!window)
        return refuse_closed("adapt_share");
    const bool is_whole = variable->base_addr && (variable->rank == 0 || CFI_is_contiguous(variable));
    const int64_t bytes = is_whole ? bytes_of(variable) : 0;
    int64_t most[] = { !is_whole, bytes, -bytes };
    int code = adapt_channel_open(window, &channel);
    if (!code)
        code = MPI_Allreduce(MPI_IN_PLACE, most, 3, MPI_INT64_T, MPI_MAX, channel->all);
    if (!code && (most[0] || most[1] != -most[2]))
        code = adapt_fail(MPI_ERR_ARG, "adapt_share: %s", most[0] ?
                          "a variable is not allocated, or not in one piece" :
                          "processes differ in the size of a variable");
    if (code || window->joining == 0)
        return code;
    return MPI_Bcast_c(variable->base_addr, bytes, MPI_BYTE,
                       window->old_rank == 0 ? MPI_ROOT : window->old_rank > 0 ? MPI_PROC_NULL : 0,
                       window->intercomm);
}

int adapt_fortran_sums(const epop_window_t *window, int count, double values[])
{
    return window ? MPIX_Adapt_sums(window, count, values) : refuse_closed("adapt_sums");
}

/* ---- files ------------------------------------------------------------------------------------ */

int adapt_fortran_file_owner(const epop_window_t *window, int has_it, int heir, int *owner, int *rank)
{
    struct adapt_channel *channel;

    if (!window)
        return refuse_closed("adapt_file");
    int code = adapt_file_owner(window, has_it, heir, "adapt_file", owner);
    if (!code)
        code = adapt_channel_open(window, &channel);
    return code ? code : MPI_Comm_rank(channel->all, rank);
}

/* What the owner says of the file, to all. */
int adapt_fortran_file_tell(const epop_window_t *window, int owner, char text[], int length)
{
    struct adapt_channel *channel;

    int code = adapt_channel_open(window, &channel);
    return code ? code : MPI_Bcast(text, length, MPI_CHAR, owner, channel->all);
}

/* What closing or opening it has said to each, 0: nothing. */
int adapt_fortran_file_end(const epop_window_t *window, int status)
{
    return adapt_file_end(window, status != 0, "adapt_file");
}
