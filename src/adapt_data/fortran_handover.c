/*
 * Shared variables, sums and files of the Fortran module adapt_data.  Variables are descriptors, of
 * any type and rank; the module closes and opens a file, this code exchanges its description.
 */

#include <ISO_Fortran_binding.h>

#include "adapt_items.h"
#include "channel.h"
#include "failure.h"
#include "handover.h"

/* ---- variables ------------------------------------------------------------------------------- */

static int64_t bytes_of(const CFI_cdesc_t *variable)
{
    int64_t bytes = (int64_t) variable->elem_len;

    for (int k = 0; k < variable->rank; k++)
        bytes *= variable->dim[k].extent;
    return bytes;
}

/* Joining processes receive the value of old rank 0. */
int adapt_fortran_share(const epop_window_t *window, CFI_cdesc_t *variable)
{
    const bool is_whole = variable->base_addr && (variable->rank == 0 ||
                                                  CFI_is_contiguous(variable));

    return adapt_share_bytes(window, variable->base_addr, is_whole ? bytes_of(variable) : 0,
                             is_whole ? NULL : "the variable is not allocated, or not in one piece",
                             "adapt_share");
}

int adapt_fortran_sums(const epop_window_t *window, int count, double values[])
{
    const char *former = adapt_call_as("adapt_sums");
    int code = MPIX_Adapt_sums(window, count, values);

    (void) adapt_call_as(former);
    return code;
}

/* ---- files ----------------------------------------------------------------------------------- */

int adapt_fortran_file_owner(const epop_window_t *window, int has_it, int successor, int *owner,
                             int *rank)
{
    struct adapt_channel *channel;

    int code = adapt_file_owner(window, has_it, successor, NULL, "adapt_file", owner);
    if (!code)
        code = adapt_channel_open(window, &channel);
    return code ? code : MPI_Comm_rank(channel->all, rank);
}

/* Broadcasts the owner's description of the file. */
int adapt_fortran_file_tell(const epop_window_t *window, int owner, char text[], int length)
{
    struct adapt_channel *channel;

    int code = adapt_channel_open(window, &channel);
    return code ? code : MPI_Bcast(text, length, MPI_CHAR, owner, channel->all);
}

/* Agrees on the status of closing or opening it; 0: no error. */
int adapt_fortran_file_end(const epop_window_t *window, int status)
{
    return adapt_file_end(window, status != 0, "adapt_file");
}
