/*
 * --root: rank 0 of the old world collects all rows, and deals them out.  It is what one would
 * write first, and it needs memory for all rows in one process.  See gauss.h.
 */

#include "gauss.h"

#include <stdlib.h>
#include <string.h>

enum { TAG = 7 };

/* Rows of a rank in a world of this size. */
static int count_of(const struct gauss *gauss, int rank, int size)
{
    int64_t first;

    return (int) MPIX_Layout_range(&gauss->blocks, rank, size, &first);
}

/* All rows to the root, in their order; NULL elsewhere, or if there is no memory. */
static double *collect(const struct gauss *gauss, const epop_window_t *window)
{
    const size_t row_bytes = (size_t) (gauss->n + 1) * sizeof(double);
    const int size = window->old_size, is_root = window->old_rank == 0;
    int *counts = calloc(2 * (size_t) size, sizeof(int)), *displs = counts + size;
    double *all = is_root ? malloc((size_t) gauss->n * row_bytes) : NULL;

    if (!counts || (is_root && !all))
        return NULL;
    for (int rank = 0; rank < size; rank++) {
        counts[rank] = count_of(gauss, rank, size);
        displs[rank] = rank > 0 ? displs[rank - 1] + counts[rank - 1] : 0;
    }
    MPI_Gatherv(gauss->rows, counts[window->old_rank], gauss->row_type, all, counts, displs,
                gauss->row_type, 0, window->old_world);
    free(counts);
    return all;
}

/* The old rank of each new one; -1: it joins. */
static int *find_old_ranks(const epop_window_t *window)
{
    int *old_rank_of = malloc((size_t) window->new_size * sizeof(int));

    for (int rank = 0; old_rank_of && rank < window->new_size; rank++)
        old_rank_of[rank] = -1;
    for (int rank = 0; old_rank_of && rank < window->old_size; rank++)
        if (window->new_rank_of[rank] >= 0)
            old_rank_of[window->new_rank_of[rank]] = rank;
    return old_rank_of;
}

/* On the root: everybody's new rows; its own are copied.  Returns how many it has sent. */
static int64_t deal(struct gauss *gauss, const epop_window_t *window, const double *all,
                    const int *old_rank_of)
{
    const int64_t width = gauss->n + 1;
    int64_t sent = 0, first = 0;

    for (int rank = 0; rank < window->new_size; rank++) {
        const int count = count_of(gauss, rank, window->new_size);
        if (old_rank_of[rank] == 0) {
            memcpy(gauss->rows, all + first * width, (size_t) (count * width) * sizeof(double));
        } else {
            const int joins = old_rank_of[rank] < 0;
            MPI_Send(all + first * width, count, gauss->row_type,
                     joins ? rank - window->staying : old_rank_of[rank], TAG,
                     joins ? window->intercomm : window->old_world);
            sent += count;
        }
        first += count;
    }
    return sent;
}

int64_t gauss_move_by_root(struct gauss *gauss, const epop_window_t *window)
{
    const int joins = window->status == MPI_ADAPT_STATUS_JOINING, is_root = window->old_rank == 0;
    const int count =
        window->new_rank < 0 ? 0 : count_of(gauss, window->new_rank, window->new_size);
    double *all = joins ? NULL : collect(gauss, window);
    int *old_rank_of = find_old_ranks(window);
    int64_t sent = joins || is_root ? 0 : count_of(gauss, window->old_rank, window->old_size);

    free(gauss->rows);
    gauss->rows = malloc((size_t) count * (size_t) (gauss->n + 1) * sizeof(double) + 1);
    if (!gauss->rows || !old_rank_of || (is_root && !all))
        return -1;
    if (is_root)
        sent += deal(gauss, window, all, old_rank_of);
    else if (window->new_rank >= 0)
        MPI_Recv(gauss->rows, count, gauss->row_type, 0, TAG,
                 joins ? window->intercomm : window->old_world, MPI_STATUS_IGNORE);
    free(old_rank_of);
    free(all);
    return sent;
}
