/*
 * --balance: in each window the rows that are left to eliminate are split evenly, and finished
 * ones, which only back substitution needs, stay where they are.  Both are irregular arrays: what
 * is left in the order of the rows, and what is finished in the order of its owners, each row with
 * its number.  See gauss.h.
 */

#include "gauss.h"

#include <stdlib.h>
#include <string.h>

/* ---- layouts -------------------------------------------------------------------------------- */

static int64_t sum_of(int count, const int64_t *lengths)
{
    int64_t sum = 0;

    for (int rank = 0; rank < count; rank++)
        sum += lengths[rank];
    return sum;
}

static int split_evenly(int old_size, const int64_t *old_lengths, int new_size,
                        int64_t *new_lengths, void *state)
{
    const MPIX_Adapt_layout even = MPIX_Layout_block(sum_of(old_size, old_lengths));
    int64_t first;

    (void) state;
    for (int rank = 0; rank < new_size; rank++)
        new_lengths[rank] = MPIX_Layout_range(&even, rank, new_size, &first);
    return 0;
}

/* The rows of a leaving process go to the staying one before it, or to the first. Staying processes
 * keep their order, so their rows lie in their new parts.  If all leave there is nobody to keep
 * it. */
static int leave_with_owners(int old_size, const int64_t *old_lengths, int new_size,
                             int64_t *new_lengths, void *state)
{
    const struct gauss *gauss = state;
    int owner = 0;

    if (gauss->window->staying == 0)
        return split_evenly(old_size, old_lengths, new_size, new_lengths, NULL);
    memset(new_lengths, 0, (size_t) new_size * sizeof(int64_t));
    for (int rank = 0; rank < old_size; rank++) {
        if (gauss->window->new_rank_of[rank] >= 0)
            owner = gauss->window->new_rank_of[rank];
        new_lengths[owner] += old_lengths[rank];
    }
    return 0;
}

int gauss_balance_setup(struct gauss *gauss)
{
    const MPIX_Adapt_layout left = MPIX_Layout_irregular(0, split_evenly, NULL);
    const MPIX_Adapt_layout finished = MPIX_Layout_irregular(0, leave_with_owners, gauss);

    return MPIX_Adapt_data_add(gauss->data, "rows", (void **) &gauss->rows, gauss->row_type, &left,
                               NULL, &gauss->rows_array) ||
        MPIX_Adapt_data_add(gauss->data, "finished", (void **) &gauss->finished.rows,
                            gauss->row_type, &finished, NULL, &gauss->finished.array) ||
        MPIX_Adapt_data_add(gauss->data, "numbers", (void **) &gauss->finished.numbers, MPI_INT64_T,
                            &finished, NULL, &gauss->finished.numbers_array);
}

/* ---- a new system --------------------------------------------------------------------------- */

int gauss_balance_refill(struct gauss *gauss, int64_t count)
{
    free(gauss->finished.rows);
    free(gauss->finished.numbers);
    gauss->finished.rows = NULL;
    gauss->finished.numbers = NULL;
    gauss->finished.count = 0;
    free(gauss->rows);
    gauss->rows = NULL;         /* of another length, perhaps */
    return MPIX_Adapt_data_set_count(gauss->data, gauss->rows_array, count) ||
        MPIX_Adapt_data_set_count(gauss->data, gauss->finished.array, 0) ||
        MPIX_Adapt_data_set_count(gauss->data, gauss->finished.numbers_array, 0);
}

/* ---- the window ----------------------------------------------------------------------------- */

int gauss_balance_set_aside(struct gauss *gauss, int64_t first, int64_t count)
{
    struct gauss_finished *finished = &gauss->finished;
    const int64_t column = gauss->progress->column, width = gauss->n + 1;
    const int64_t more = column <= first ? 0 : column - first < count ? column - first : count;
    const size_t capacity = (size_t) (finished->count + more);
    double *rows = realloc(finished->rows, capacity * (size_t) width * sizeof(double) + 1);
    int64_t *numbers = realloc(finished->numbers, capacity * sizeof(int64_t) + 1);

    finished->rows = rows ? rows : finished->rows;
    finished->numbers = numbers ? numbers : finished->numbers;
    if (!rows || !numbers)
        return 1;
    memcpy(rows + finished->count * width, gauss->rows, (size_t) (more * width) * sizeof(double));
    for (int64_t i = 0; i < more; i++)
        numbers[finished->count + i] = first + i;
    memmove(gauss->rows, gauss->rows + more * width,
            (size_t) ((count - more) * width) * sizeof(double));
    finished->count += more;
    gauss->progress->split = column;
    return MPIX_Adapt_data_set_count(gauss->data, gauss->rows_array, count - more) ||
        MPIX_Adapt_data_set_count(gauss->data, finished->array, finished->count) ||
        MPIX_Adapt_data_set_count(gauss->data, finished->numbers_array, finished->count);
}

/* ---- back substitution ---------------------------------------------------------------------- */

int gauss_balance_find_owners(struct gauss *gauss)
{
    const struct gauss_finished *finished = &gauss->finished;
    int rank;
    int *owner = malloc((size_t) gauss->progress->split * sizeof(int) + 1);

    gauss->finished.owner = owner;
    if (!owner)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int64_t row = 0; row < gauss->progress->split; row++)
        owner[row] = -1;
    for (int64_t i = 0; i < finished->count; i++)
        owner[finished->numbers[i]] = rank;
    return MPI_Allreduce(MPI_IN_PLACE, owner, (int) gauss->progress->split, MPI_INT, MPI_MAX,
                         MPI_COMM_WORLD);
}

double *gauss_balance_row(const struct gauss *gauss, int64_t row)
{
    int64_t i = 0;

    while (gauss->finished.numbers[i] != row)
        i++;
    return gauss->finished.rows + i * (gauss->n + 1);
}
