/* The registered arrays of adapt_data.h, and moving them.  Errors: SPEC-epop F3. */

#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "failure.h"

/* ---- memory ----------------------------------------------------------------------------------- */

void *adapt_array_grow(const struct adapt_array *array, int64_t count)
{
    const MPI_Aint extent = array->element.extent;

    if (array->memory.grow)
        return array->memory.grow(count, array->memory.state);
    if (extent > 0 && count > (INT64_MAX - array->element.true_extent) / extent)
        return NULL;
    /* the last element may reach beyond its extent */
    int64_t bytes = (count - 1) * extent + array->element.true_lb + array->element.true_extent;
    bytes = bytes < count * extent ? count * extent : bytes;
    return malloc(bytes > 0 ? (size_t) bytes : 1);
}

void adapt_array_release(const struct adapt_array *array, void *part)
{
    if (!part)
        return;
    if (array->memory.release)
        array->memory.release(part, array->memory.state);
    else
        free(part);
}

/* ---- registration ----------------------------------------------------------------------------- */

static int wrong(const char *function, const char *what)
{
    return adapt_fail(MPI_ERR_ARG, "%s: %s", function, what);
}

/* ---- sets ------------------------------------------------------------------------------------- */

static struct MPIX_Adapt_data_s *all_sets;

static void release_parts(MPIX_Adapt_data data)
{
    for (struct adapt_part * part = data->parts, *next; part; part = next) {
        next = part->next;
        part->release(part);
    }
    data->parts = NULL;
}

/* Called in MPI_Finalize: datatypes of sets that the program does not free are not left behind.  Also called in
 * the commit of a leaving process, even in one that is refused: the sets are needed then. */
static int free_at_end(MPI_Comm comm, int key, void *value, void *state)
{
    (void) comm;
    (void) key;
    (void) value;
    (void) state;
    for (struct MPIX_Adapt_data_s * data = all_sets; data && !adapt_channel_in_window(); data = data->next) {
        adapt_data_free_types(data);
        release_parts(data);
    }
    return MPI_SUCCESS;
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first. */
static void watch_end(void)
{
    static int key = MPI_KEYVAL_INVALID;
    int is_up = 0, has_ended = 0;

    MPI_Initialized(&is_up);
    MPI_Finalized(&has_ended);
    if (key == MPI_KEYVAL_INVALID && is_up && !has_ended &&
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_at_end, &key, NULL) == MPI_SUCCESS)
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

static void insert_set(MPIX_Adapt_data data)
{
    watch_end();
    data->next = all_sets;
    all_sets = data;
}

static void remove_set(const struct MPIX_Adapt_data_s *data)
{
    struct MPIX_Adapt_data_s **link = &all_sets;

    while (*link && *link != data)
        link = &(*link)->next;
    if (*link)
        *link = data->next;
}

int MPIX_Adapt_data_create(MPIX_Adapt_data *data)
{
    if (!data)
        return wrong("MPIX_Adapt_data_create", "data is NULL");
    *data = calloc(1, sizeof(**data));
    if (!*data)
        return adapt_fail(MPI_ERR_NO_MEM, "MPIX_Adapt_data_create: there is no memory");
    insert_set(*data);
    return MPI_SUCCESS;
}

static void forget(struct adapt_array *array)
{
    adapt_distribution_clear(&array->now);
    if (array->element.type != MPI_DATATYPE_NULL)
        MPI_Type_free(&array->element.type);
    free(array->name);
    free(array);
}

int MPIX_Adapt_data_free(MPIX_Adapt_data *data)
{
    if (!data || !*data)
        return wrong("MPIX_Adapt_data_free", "data is NULL");
    if ((*data)->started > 0)
        return wrong("MPIX_Adapt_data_free", "an array has been started and not waited for");
    for (int k = 0; k < (*data)->count; k++)
        forget((*data)->arrays[k]);
    release_parts(*data);
    remove_set(*data);
    free((*data)->arrays);
    free(*data);
    *data = NULL;
    return MPI_SUCCESS;
}

int adapt_data_take(MPIX_Adapt_data data, struct adapt_part *part, const char *name,
                    const char *function)
{
    struct adapt_part **end = data ? &data->parts : NULL;

    if (part && data && name && data->started == 0) {
        snprintf(part->name, sizeof(part->name), "%s", name);
        part->next = NULL;
        while (*end)
            end = &(*end)->next;
        *end = part;
        return MPI_SUCCESS;
    }
    const bool has_memory = part;
    if (part)
        part->release(part);
    return !data || !name ? wrong(function, "data or name is NULL") : !has_memory ?
        adapt_fail(MPI_ERR_NO_MEM, "%s: there is no memory", function) :
        wrong(function, "not while arrays are moved");
}

void adapt_data_free_types(MPIX_Adapt_data data)
{
    for (int k = 0; k < data->count; k++)
        if (data->arrays[k]->element.type != MPI_DATATYPE_NULL)
            MPI_Type_free(&data->arrays[k]->element.type);
}

static const char *is_layout(const MPIX_Adapt_layout *layout)
{
    struct adapt_distribution alone;

    if (layout->kind == ADAPT_LAYOUT_IRREGULAR)
        return layout->split && layout->mine >= 0 ? NULL :
            "the layout's length is negative, or its split is NULL";
    if (layout->kind == ADAPT_LAYOUT_USER)
        return layout->pieces ? NULL : "the layout's function of pieces is NULL";
    const char *error = adapt_distribution_make(&alone, layout, 1, NULL, NULL);
    adapt_distribution_clear(&alone);
    return error ? "the layout has no sense: a negative number, or none of MPIX_Layout_..." : NULL;
}

/* Its own datatype, for the caller's may be freed. */
static int set_element(struct adapt_array *array, MPI_Datatype element)
{
    MPI_Aint lb;
    int code = MPI_Type_dup(element, &array->element.type);

    if (!code)
        code = MPI_Type_commit(&array->element.type);
    if (!code)
        code = MPI_Type_size(element, &array->element.size);
    if (!code)
        code = MPI_Type_get_extent(element, &lb, &array->element.extent);
    if (!code)
        code = MPI_Type_get_true_extent(element, &array->element.true_lb,
                                        &array->element.true_extent);
    return code;
}

/* The address from malloc is that of the first element. */
static const char *check_element(const struct adapt_array *array)
{
    if (!array->memory.grow && (array->element.true_lb < 0 || array->element.extent < 0))
        return "an element has data before its address, or a negative extent: that needs memory of the"
            " program's own (MPIX_Adapt_memory), or a datatype that is resized";
    return NULL;
}

static int append(MPIX_Adapt_data data, struct adapt_array *array)
{
    void *more = realloc(data->arrays, ((size_t) data->count + 1) * sizeof(*data->arrays));

    if (!more || !array->name)
        return MPI_ERR_NO_MEM;
    data->arrays = more;
    data->arrays[data->count++] = array;
    return MPI_SUCCESS;
}

int MPIX_Adapt_data_add(MPIX_Adapt_data data, const char *name, void **base, MPI_Datatype element,
                        const MPIX_Adapt_layout *layout, const MPIX_Adapt_memory *memory,
                        int *array)
{
    static const char function[] = "MPIX_Adapt_data_add";

    if (!data || !name || !base || !layout || element == MPI_DATATYPE_NULL)
        return wrong(function, "data, name, base, layout or element is NULL");
    if (memory && (!memory->grow || !memory->release))
        return wrong(function, "memory needs both grow and release");
    if (data->started > 0)
        return wrong(function, "not while arrays are moved");
    if (data->count == ADAPT_ARRAYS_MAX)
        return wrong(function, "there are 1024 arrays already");
    const char *why = is_layout(layout);
    if (why)
        return adapt_fail(MPI_ERR_ARG, "%s: array '%s': %s", function, name, why);
    struct adapt_array *made = calloc(1, sizeof(*made));
    if (!made)
        return adapt_fail(MPI_ERR_NO_MEM, "%s: there is no memory", function);
    made->element.type = MPI_DATATYPE_NULL;
    made->name = strdup(name);
    made->base = base;
    made->layout = *layout;
    if (memory)
        made->memory = *memory;
    int code = set_element(made, element);
    why = code ? NULL : check_element(made);
    if (why) {
        forget(made);
        return adapt_fail(MPI_ERR_ARG, "%s: array '%s': %s", function, name, why);
    }
    if (!code && append(data, made))
        code = adapt_fail(MPI_ERR_NO_MEM, "%s: there is no memory", function);
    if (code) {
        forget(made);
        return code;
    }
    if (array)
        *array = data->count - 1;
    return MPI_SUCCESS;
}

static void *take_address(int64_t count, void *address)
{
    (void) count;
    return address;
}

static void leave_address(void *part, void *address)
{
    (void) part;
    (void) address;
}

int MPIX_Adapt_data_share(MPIX_Adapt_data data, const char *name, void *address, int64_t count,
                          MPI_Datatype element, int *array)
{
    const MPIX_Adapt_layout layout = {.kind = ADAPT_LAYOUT_SHARED,.n = count };
    const MPIX_Adapt_memory memory = {.grow = take_address,.release = leave_address,.state = address };

    if (!address)
        return wrong("MPIX_Adapt_data_share", "address is NULL");
    int code = MPIX_Adapt_data_add(data, name, &address, element, &layout, &memory, array);
    if (!code) {
        struct adapt_array *made = data->arrays[data->count - 1];
        made->address = address;
        made->base = &made->shared_base;
    }
    return code;
}

/* On a joining process a shared variable is there, but not its value. */
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

/* ---- moving ----------------------------------------------------------------------------------- */

/* Which arrays are meant: [*first, *end); with an error none.  The error is for all processes. */
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

/* After an MPI error: the old part is the array's, nothing of the new one is left. */
static void give_up(MPIX_Adapt_data data, struct adapt_array *array, int k)
{
    array->is_started = false;
    data->started--;
    adapt_undo_agree(data, k, k + 1);
    (void) adapt_channel_settle(data->channel, &array->debt);
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

/* owe: commit shall refuse the window until they are waited for. */
static int start(MPIX_Adapt_data data, const epop_window_t *window, int array, bool owe,
                 const char *function)
{
    int first, end;

    const char *why = find_range(data, window, array, &first, &end);
    int code = adapt_agree(data, window, first, end, ADAPT_CALL_ARRAYS, why, function);
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

/* Its new part is the array's from now on. */
static int finish(MPIX_Adapt_data data, struct adapt_array *array)
{
    if (*array->base != array->new_part)
        adapt_array_release(array, *array->base);
    *array->base = array->new_part;
    array->new_part = NULL;
    array->layout.mine = array->schedule.new_part;
    adapt_distribution_clear(&array->now);
    array->now = array->coming;
    array->coming = (struct adapt_distribution) {.size = 0 };
    array->rank = array->new_rank;
    adapt_schedule_clear(&array->schedule);
    array->is_started = false;
    data->started--;
    return adapt_channel_settle(data->channel, &array->debt);
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

    if (!data || (array != MPIX_ALL_ARRAYS && (!find(data, array) || !data->arrays[array]->is_started)))
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
        why = "one array at a time, and stay, sent and received are not NULL";
    int code = adapt_agree(data, window, first, end, ADAPT_CALL_VOLUME, why, function);
    if (code)
        return code;
    *stay = data->arrays[array]->schedule.stay;
    *sent = data->arrays[array]->schedule.sent;
    *received = data->arrays[array]->schedule.received;
    adapt_undo_agree(data, first, end);
    return MPI_SUCCESS;
}

/* ---- questions -------------------------------------------------------------------------------- */

/* The distribution of the present world, if it follows from what is known here. */
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

static int ask_place(const char *function, MPIX_Adapt_data data, int array, int asked,
                     bool of_rank, int *answer)
{
    struct adapt_array *found = find(data, array);

    if (!found || !answer || found->is_started)
        return wrong(function, "no such array, or it is being moved");
    const char *why = know(found);
    if (!why && (asked < 0 || asked >= found->now.size))
        why = "there is no such rank or place";
    if (why)
        return wrong(function, why);
    const int *table = of_rank ? found->now.place_of_rank : found->now.rank_of_place;
    *answer = table ? table[asked] : asked;
    return MPI_SUCCESS;
}

int MPIX_Adapt_data_place(MPIX_Adapt_data data, int array, int rank, int *place)
{
    return ask_place("MPIX_Adapt_data_place", data, array, rank, true, place);
}

int MPIX_Adapt_data_rank(MPIX_Adapt_data data, int array, int place, int *rank)
{
    return ask_place("MPIX_Adapt_data_rank", data, array, place, false, rank);
}
