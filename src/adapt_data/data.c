/* Moving the registered arrays of adapt_data.h, and queries about them.  Errors: SPEC-epop F3. */

#include "data.h"

#include "failure.h"

static int wrong(const char *function, const char *what)
{
    return adapt_fail(MPI_ERR_ARG, "%s: %s", function, what);
}

/* On a joining process a shared variable exists, but has no value yet. */
static void set_shared(MPIX_Adapt_data data, const epop_window_t *window)
{
    for (int k = 0; k < data->count; k++) {
        struct adapt_array *array = data->arrays[k];
        if (array->layout.kind == ADAPT_LAYOUT_SHARED && !array->is_started)
            array->shared_base = window->status == MPI_ADAPT_STATUS_JOINING ? NULL : array->address;
    }
}

static struct adapt_array *find(MPIX_Adapt_data data, int array)
{
    return data && array >= 0 && array < data->count ? data->arrays[array] : NULL;
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Sets the range of arrays of a call: [*first, *end); empty after an error.  The error is for all
 * processes. */
static const char *find_range(MPIX_Adapt_data data, const epop_window_t *window, int array,
                              int *first, int *end)
{
    *first = *end = 0;
    if (!data)
        return "data is NULL";
    if (!window || !window->new_rank_of)
        return "the window is NULL or not open (MPIX_Adapt_window_open)";
    if (array != MPIX_ALL_ARRAYS && (array < 0 || array >= data->count))
        return "there is no such array";
    set_shared(data, window);
    if (array != MPIX_ALL_ARRAYS && data->arrays[array]->is_started)
        return "the array has been started already";
    *first = array == MPIX_ALL_ARRAYS ? 0 : array;
    *end = array == MPIX_ALL_ARRAYS ? data->count : array + 1;
    return NULL;
}

/* After an MPI error: the array keeps its old part, the new one is freed. */
static void give_up(MPIX_Adapt_data data, struct adapt_array *array, int k)
{
    array->is_started = false;
    data->started--;
    adapt_undo_agree(data, k, k + 1);
    (void) adapt_channel_finish(data->channel, &array->debt);
}

static int begin(MPIX_Adapt_data data, int k, bool owe)
{
    struct adapt_array *array = data->arrays[k];

    array->is_started = true;
    data->started++;
    array->transfer.element = array->element;
    int code = adapt_transfer_begin(&array->transfer, data->channel, &array->schedule, *array->base,
                                    array->new_part);
    if (!code && owe)
        code = adapt_channel_owe(data->channel, &array->debt, "array", array->name);
    if (code) {
        adapt_exchange_abandon(&array->transfer.exchange, code);
        give_up(data, array, k);
    }
    return code;
}

/* owe: commit must refuse the window until the arrays are waited for. */
static int start(MPIX_Adapt_data data, const epop_window_t *window, int array, bool owe,
                 const char *function)
{
    int first, end;

    const char *why = find_range(data, window, array, &first, &end);
    const enum adapt_call_kind kind = data &&
        data->begins_window ? ADAPT_CALL_WINDOW : ADAPT_CALL_ARRAYS;
    int code = adapt_agree(data, window, first, end, kind, why, function);
    for (int k = first; k < end; k++) {
        if (!adapt_array_is_meant(data, k))
            continue;
        if (!code)
            code = begin(data, k, owe);
        else
            adapt_undo_agree(data, k, k + 1);
    }
    return code;
}

int MPIX_Adapt_data_start(MPIX_Adapt_data data, const epop_window_t *window, int array)
{
    return start(data, window, array, true, "MPIX_Adapt_data_start");
}

/* The new part becomes the array's part. */
static int finish(MPIX_Adapt_data data, struct adapt_array *array)
{
    if (*array->base != array->new_part)
        adapt_array_release(array, *array->base);
    else if (array->schedule.new_part < array->schedule.old_part)
        array->new_part = adapt_array_shorten(array, array->new_part, array->schedule.new_part);
    *array->base = array->new_part;
    array->new_part = NULL;
    array->layout.mine = array->schedule.new_part;
    adapt_distribution_clear(&array->now);
    array->now = array->coming;
    array->coming = (struct adapt_distribution) {.size = 0 };
    array->rank = array->new_rank;
    array->moved_in = adapt_channel_window();
    adapt_schedule_clear(&array->schedule);
    array->is_started = false;
    data->started--;
    return adapt_channel_finish(data->channel, &array->debt);
}

int MPIX_Adapt_data_test(MPIX_Adapt_data data, int array, int *done)
{
    struct adapt_array *found = find(data, array);
    bool is_through = true;

    if (!found || !done || !found->is_started)
        return wrong("MPIX_Adapt_data_test", "the array has not been started, or done is NULL");
    int code = adapt_exchange_test(&found->transfer.exchange, &is_through);
    *done = is_through;
    return code;
}

int MPIX_Adapt_data_wait(MPIX_Adapt_data data, int array)
{
    static const char function[] = "MPIX_Adapt_data_wait";
    int code = MPI_SUCCESS;

    if (!data ||
        (array != MPIX_ALL_ARRAYS && (!find(data, array) || !data->arrays[array]->is_started)))
        return wrong(function, "the array has not been started");
    for (int k = 0; !code && k < data->count; k++) {
        if (!data->arrays[k]->is_started || (array != MPIX_ALL_ARRAYS && array != k))
            continue;
        code = adapt_exchange_wait(&data->arrays[k]->transfer.exchange);
        if (code)
            give_up(data, data->arrays[k], k);
        else
            code = finish(data, data->arrays[k]);
    }
    return code;
}

int MPIX_Adapt_data_move(MPIX_Adapt_data data, const epop_window_t *window)
{
    return data && data->parts ? adapt_parts_move(data, window) : adapt_arrays_move(data, window);
}

int adapt_arrays_move(MPIX_Adapt_data data, const epop_window_t *window)
{
    int code = start(data, window, MPIX_ALL_ARRAYS, false, "MPIX_Adapt_data_move");

    return code ? code : MPIX_Adapt_data_wait(data, MPIX_ALL_ARRAYS);
}

int MPIX_Adapt_data_volume(MPIX_Adapt_data data, int array, const epop_window_t *window,
                           int64_t *stay, int64_t *sent, int64_t *received)
{
    static const char function[] = "MPIX_Adapt_data_volume";
    int first, end;

    const char *why = find_range(data, window, array, &first, &end);
    if (!why && (array == MPIX_ALL_ARRAYS || !stay || !sent || !received))
        why = "give one array, and stay, sent and received that are not NULL";
    int code = adapt_agree(data, window, first, end, ADAPT_CALL_VOLUME, why, function);
    if (code)
        return code;
    *stay = data->arrays[array]->schedule.stay;
    *sent = data->arrays[array]->schedule.sent;
    *received = data->arrays[array]->schedule.received;
    adapt_undo_agree(data, first, end);
    return MPI_SUCCESS;
}

/* ---- queries --------------------------------------------------------------------------------- */

/* Computes the distribution of the present world, if this process has the data for it. */
static const char *know(struct adapt_array *array)
{
    int size;

    if (array->now.size > 0)
        return NULL;
    if (array->layout.kind == ADAPT_LAYOUT_IRREGULAR)
        return "of an irregular array that is known after its first window";
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &array->rank);
    return adapt_distribution_make(&array->now, &array->layout, size, NULL, NULL);
}

int MPIX_Adapt_data_count(MPIX_Adapt_data data, int array, int64_t *count)
{
    struct adapt_array *found = find(data, array);

    if (!found || !count || found->is_started)
        return wrong("MPIX_Adapt_data_count", "no such array, or it is being moved");
    if (found->layout.kind == ADAPT_LAYOUT_IRREGULAR) {
        *count = found->layout.mine;
        return MPI_SUCCESS;
    }
    const char *why = know(found);
    if (why)
        return wrong("MPIX_Adapt_data_count", why);
    *count = found->rank < 0 ? 0 : adapt_distribution_part(&found->now, found->rank);
    return MPI_SUCCESS;
}

int MPIX_Adapt_data_set_count(MPIX_Adapt_data data, int array, int64_t count)
{
    struct adapt_array *found = find(data, array);

    if (!found || found->is_started || count < 0 || found->layout.kind != ADAPT_LAYOUT_IRREGULAR)
        return wrong("MPIX_Adapt_data_set_count",
                     "no such irregular array, it is being moved, or count is negative");
    found->layout.mine = count;
    return MPI_SUCCESS;
}

static int query_position(const char *function, MPIX_Adapt_data data, int array, int index,
                     bool of_rank, int *answer)
{
    struct adapt_array *found = find(data, array);

    if (!found || !answer || found->is_started)
        return wrong(function, "no such array, or it is being moved");
    const char *why = know(found);
    if (!why && (index < 0 || index >= found->now.size))
        why = "there is no such rank or position";
    if (why)
        return wrong(function, why);
    const int *table = of_rank ? found->now.position_of_rank : found->now.rank_of_position;
    *answer = table ? table[index] : index;
    return MPI_SUCCESS;
}

int MPIX_Adapt_data_position(MPIX_Adapt_data data, int array, int rank, int *position)
{
    return query_position("MPIX_Adapt_data_position", data, array, rank, true, position);
}

int MPIX_Adapt_data_rank(MPIX_Adapt_data data, int array, int position, int *rank)
{
    return query_position("MPIX_Adapt_data_rank", data, array, position, false, rank);
}
