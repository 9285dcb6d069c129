/*
 * Before anything moves all processes of the window compute their schedules and take the memory for the
 * new parts.  Then they tell each other how that went, and whether they have registered the same: it
 * works for all of them or for none.  SPEC-epop D2, D3, F1.
 *
 * That is one reduction (agreement.h).  Of arrays whose schedule needs what only some processes know (the
 * facts: places and lengths) these are told after it, and there is a second one.  What differs is looked
 * for when it is known that something does: registrations, and what the functions of `user` and `irregular`
 * layouts have returned.
 */

#include "data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device_memory.h"
#include "exchange.h"
#include "failure.h"

/* One call of adapt_agree. */
struct call {
    MPIX_Adapt_data data;       /* NULL: only with an error */
    const epop_window_t *window;
    struct adapt_channel *channel;
    enum adapt_call_kind kind;
    const char *function;
    int first, end;
    struct adapt_roles roles;
    int *process_of_new;
    int64_t **facts;            /* by array; NULL: none has any; of an array NULL: it has none */
    bool has_told;              /* the facts */
    int64_t chunk_bytes;        /* at first this process', then the smallest */
};

/* An error of this process; all get the worst of all processes. */
struct verdict {
    int error_class;            /* MPI_SUCCESS, MPI_ERR_ARG, MPI_ERR_NO_MEM */
    int array;
    const char *text;
};

static struct verdict verdict_of(const char *text, int array)
{
    return (struct verdict) {.error_class = !text ? MPI_SUCCESS : text ==
            ADAPT_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_ARG,.array = array,.text = text
    };
}

static bool is_joining(const struct call *call)
{
    return call->window->status == MPI_ADAPT_STATUS_JOINING;
}

static bool is_concerned(const struct call *call, int array)
{
    return array >= call->first && array < call->end && adapt_array_is_meant(call->data, array);
}

static bool has_places(const struct adapt_array *array)
{
    return array->layout.kind == ADAPT_LAYOUT_BLOCK_FREE || array->layout.kind == ADAPT_LAYOUT_GRID;
}

static bool has_facts(const struct adapt_array *array)
{
    return has_places(array) || array->layout.kind == ADAPT_LAYOUT_IRREGULAR;
}

static int processes(const struct call *call)
{
    return call->window->old_size + call->window->joining;
}

/* ---- what is registered ------------------------------------------------------------------------ */

static const char *name_of_kind(int kind)
{
    static const char *const names[] = { "?", "block", "block_free", "block_cyclic", "grid", "irregular",
        "user", "same", "a shared variable"
    };

    return kind > 0 && kind <= ADAPT_LAYOUT_SHARED ? names[kind] : names[0];
}

/* Terms that are the same on all processes. */
static int64_t signature_of(const struct adapt_array *array)
{
    const int64_t numbers[] = { array->layout.kind, array->layout.n, array->layout.block,
        array->layout.rows, array->layout.columns, array->element.size, array->details
    };

    return adapt_mix_all(adapt_mix_text(0, array->name), numbers, sizeof(numbers) / sizeof(*numbers));
}

static void describe(const struct adapt_array *array, bool is_moved, char text[AGREEMENT_TEXT])
{
    const MPIX_Adapt_layout *layout = &array->layout;
    char numbers[80] = "";

    if (layout->kind == ADAPT_LAYOUT_GRID)
        snprintf(numbers, sizeof(numbers), "(%" PRId64 ", %" PRId64 ")", layout->rows, layout->columns);
    else if (layout->kind == ADAPT_LAYOUT_BLOCK_CYCLIC)
        snprintf(numbers, sizeof(numbers), "(%" PRId64 ", %" PRId64 ")", layout->n, layout->block);
    else if (layout->n >= 0)
        snprintf(numbers, sizeof(numbers), "(%" PRId64 ")", layout->n);
    snprintf(text, AGREEMENT_TEXT, "'%.100s' is %s%s of %d bytes each%s", array->name,
             name_of_kind(layout->kind), numbers, array->element.size,
             is_moved ? "" : " and is not moved, or is started already");
}

/* Functions of the program have listed its pieces, for this window. */
static bool is_listed(const struct call *call, const struct adapt_array *array)
{
    return array->layout.kind == ADAPT_LAYOUT_USER ||
        (array->layout.kind == ADAPT_LAYOUT_IRREGULAR && call->has_told);
}

#define PIECE_NUMBERS 3

/* In adapt_room, *count numbers; NULL: no memory. */
static int64_t *list_pieces(const struct adapt_distribution *distribution, int64_t *count)
{
    int64_t *list = adapt_room(PIECE_NUMBERS * distribution->count, sizeof(int64_t));

    *count = list ? PIECE_NUMBERS * distribution->count : 0;
    for (int64_t k = 0; list && k < distribution->count; k++) {
        list[PIECE_NUMBERS * k] = distribution->pieces[k].rank;
        list[PIECE_NUMBERS * k + 1] = distribution->pieces[k].low;
        list[PIECE_NUMBERS * k + 2] = distribution->pieces[k].high;
    }
    return list;
}

static int64_t mix_pieces(int64_t hash, const struct adapt_distribution *distribution)
{
    hash = adapt_mix(hash, distribution->count);
    for (int64_t k = 0; k < distribution->count; k++) {
        const struct adapt_piece *piece = &distribution->pieces[k];
        hash = adapt_mix(adapt_mix(adapt_mix(hash, piece->rank), piece->low), piece->high);
    }
    return hash;
}

/* A hash of the arrays to move: their number, range and kinds.  It is the same on all processes if these are. */
static int64_t terms_of(const struct call *call)
{
    int64_t hash = adapt_mix(adapt_mix(call->data ? call->data->count : 0, call->first), call->end);

    for (int k = 0; call->data && k < call->data->count; k++) {
        const struct adapt_array *array = call->data->arrays[k];
        hash = adapt_mix(adapt_mix(hash, signature_of(array)), is_concerned(call, k));
        if (is_concerned(call, k) && is_listed(call, array))
            hash = mix_pieces(mix_pieces(hash, &array->now), &array->coming);
    }
    return hash;
}

/* ---- differences ------------------------------------------------------------------------------ */

/* Fails if registrations differ; *found: they do. */
static int refuse_registrations(const struct call *call, bool *found)
{
    enum { COUNT, FIRST, END, HEAD, EACH = 2 };
    const MPIX_Adapt_data data = call->data;
    int64_t numbers[HEAD + EACH * ADAPT_ARRAYS_MAX] = { data->count, call->first, call->end }, index;
    char text[AGREEMENT_TEXT], what[40];

    for (int k = 0; k < data->count; k++) {
        numbers[HEAD + EACH * k] = signature_of(data->arrays[k]);
        numbers[HEAD + EACH * k + 1] = is_concerned(call, k);
    }
    int code = adapt_find_difference(call->channel, numbers, HEAD, &index);
    *found = true;
    if (!code && index >= 0) {
        if (call->end - call->first == 1 && data->count > 1)
            snprintf(text, sizeof(text), "one of %d, '%.100s',", data->count,
                     data->arrays[call->first]->name);
        else
            snprintf(text, sizeof(text), "%d", call->end - call->first);
        return adapt_refuse_difference(call->channel, call->function, "which arrays are moved", text);
    }
    if (!code)
        code = adapt_find_difference(call->channel, numbers + HEAD, EACH * data->count, &index);
    *found = !code && index >= 0;
    if (!*found)
        return code;
    describe(data->arrays[index / EACH], numbers[HEAD + index / EACH * EACH + 1], text);
    snprintf(what, sizeof(what), "array %d", (int) (index / EACH));
    return adapt_refuse_difference(call->channel, call->function, what, text);
}

/* Fails if the pieces of one world differ; *found: they do. */
static int refuse_pieces(const struct call *call, const struct adapt_array *array,
                         const struct adapt_distribution *distribution, bool *found)
{
    char text[AGREEMENT_TEXT], what[AGREEMENT_TEXT];
    int64_t count, index;

    int64_t *list = list_pieces(distribution, &count);
    int code = adapt_find_difference(call->channel, list, count, &index);
    free(list);
    *found = !code && index >= 0;
    if (!*found)
        return code;
    const int64_t k = index / PIECE_NUMBERS;
    if (k < distribution->count)
        snprintf(text, sizeof(text), "elements [%" PRId64 ", %" PRId64 ") belong to rank %d",
                 distribution->pieces[k].low, distribution->pieces[k].high, distribution->pieces[k].rank);
    else
        snprintf(text, sizeof(text), "there are %" PRId64 " elements", distribution->n);
    snprintf(what, sizeof(what), "the layout of array '%.100s' for %d processes", array->name,
             distribution->size);
    return adapt_refuse_difference(call->channel, call->function, what, text);
}

static int refuse_terms(const struct call *call)
{
    bool found;
    int code = refuse_registrations(call, &found);

    for (int k = call->first; !code && !found && k < call->end; k++) {
        const struct adapt_array *array = call->data->arrays[k];
        if (!is_concerned(call, k) || !is_listed(call, array))
            continue;
        code = refuse_pieces(call, array, &array->now, &found);
        if (!code && !found)
            code = refuse_pieces(call, array, &array->coming, &found);
    }
    return code || found ? code : adapt_fail(MPI_ERR_ARG, "%s: processes differ in their arrays; nothing"
                                             " has moved", call->function);
}

/* ---- facts ------------------------------------------------------------------------------------ */

static bool are_facts(const struct call *call)
{
    for (int k = call->first; k < call->end; k++)
        if (is_concerned(call, k) && has_facts(call->data->arrays[k]))
            return true;
    return false;
}

/* Memory for them, by array: a number of each process. */
static const char *make_room_for_facts(struct call *call)
{
    if (!are_facts(call))
        return NULL;
    call->facts = adapt_room(call->data->count, sizeof(*call->facts));
    if (!call->facts)
        return ADAPT_NO_MEMORY;
    for (int k = call->first; k < call->end; k++) {
        if (!is_concerned(call, k) || !has_facts(call->data->arrays[k]))
            continue;
        call->facts[k] = adapt_room(processes(call), sizeof(int64_t));
        if (!call->facts[k])
            return ADAPT_NO_MEMORY;
    }
    return NULL;
}

/* Of an array: the lengths of the old parts, or the ranks of the old places. */
static int tell_facts(const struct call *call, int k)
{
    const struct adapt_array *array = call->data->arrays[k];
    const int64_t mine = array->layout.mine;
    const MPI_Comm all = call->channel->all;
    int64_t *facts = call->facts[k];

    if (!has_places(array))
        return MPI_Allgather(&mine, 1, MPI_INT64_T, facts, 1, MPI_INT64_T, all);
    for (int place = 0; !is_joining(call) && place < call->roles.old_size; place++)
        facts[place] = array->now.rank_of_place ? array->now.rank_of_place[place] : place;
    return MPI_Bcast(facts, call->roles.old_size, MPI_INT64_T, 0, all);
}

/* ---- schedules -------------------------------------------------------------------------------- */

static const char *make_old(const struct call *call, int k)
{
    struct adapt_array *array = call->data->arrays[k];
    const int64_t *facts = call->facts ? call->facts[k] : NULL;
    const int size = call->roles.old_size;
    const char *error = NULL;
    int *places = NULL;

    if (!is_joining(call) && array->now.size > 0 && array->now.size != size)
        return "it was not moved in an earlier window";
    if (has_places(array)) {
        places = adapt_room(size, sizeof(int));
        if (!places)
            return ADAPT_NO_MEMORY;
        for (int place = 0; place < size; place++)
            places[place] = (int) facts[place];
    }
    adapt_distribution_clear(&array->now);
    error = adapt_distribution_make(&array->now, &array->layout, size, places, facts);
    array->rank = call->roles.old_rank;
    free(places);
    return error;
}

static const char *split(const struct call *call, const struct adapt_array *array,
                         const int64_t *old_lengths, int64_t *lengths)
{
    const struct adapt_roles *roles = &call->roles;

    if (array->layout.split(roles->old_size, old_lengths, roles->new_size, lengths,
                            array->layout.state))
        return "its function that splits says that it cannot";
    return NULL;
}

static const char *make_coming(const struct call *call, int k)
{
    struct adapt_array *array = call->data->arrays[k];
    const int size = call->roles.new_size;
    int *places = has_places(array) ? adapt_room(size, sizeof(int)) : NULL;
    int64_t *lengths = array->layout.kind == ADAPT_LAYOUT_IRREGULAR ?
        adapt_room(size, sizeof(int64_t)) : NULL;
    const char *error = NULL;

    if ((has_places(array) && !places) ||
        (array->layout.kind == ADAPT_LAYOUT_IRREGULAR && !lengths))
        error = ADAPT_NO_MEMORY;
    if (!error && places)
        error = adapt_distribution_places(&array->now, call->roles.new_rank_of, size, places);
    if (!error && lengths)
        error = split(call, array, array->now.lengths, lengths);
    if (!error)
        error = adapt_distribution_make(&array->coming, &array->layout, size, places, lengths);
    if (!error && array->coming.n != array->now.n)
        error = "its new parts do not have as many elements as its old ones";
    free(places);
    free(lengths);
    return error;
}

/* A part that stays as it is needs no other memory. */
static bool stays_as_it_is(const struct adapt_schedule *schedule)
{
    return schedule->stay == schedule->old_part && schedule->stay == schedule->new_part &&
        schedule->kept_from_runs == 1 && schedule->kept_to_runs == 1;
}

static const char *make_part(struct adapt_array *array)
{
    const struct adapt_schedule *schedule = &array->schedule;

    if (stays_as_it_is(schedule)) {
        array->new_part = *array->base;
    } else if (schedule->new_part > 0) {
        array->new_part = adapt_array_grow(array, schedule->new_part);
        if (!array->new_part)
            return ADAPT_NO_MEMORY;
    }
    return NULL;
}

static const char *prepare(const struct call *call, int k, bool room)
{
    struct adapt_array *array = call->data->arrays[k];
    const char *error = make_old(call, k);

    if (!error)
        error = make_coming(call, k);
    if (!error)
        error = adapt_schedule_make(&array->schedule, &array->now, &array->coming, &call->roles);
    if (!error && array->schedule.old_part > 0 && !*array->base)
        error = adapt_misfit("this process owns elements of it, but *base is NULL");
    if (!error)
        error = adapt_device_memory(*array->base);
    if (!error && room)
        error = make_part(array);
    if (!error && room)
        error = adapt_device_memory(array->new_part);
    array->new_rank = call->roles.new_rank;
    return error;
}

/* ---- agreement -------------------------------------------------------------------------------- */

/* The worst verdict of all processes, and whether they mean the same. */
static int agree(struct call *call, const struct verdict *verdict)
{
    const MPIX_Adapt_data data = call->data;
    const char *object = data && call->first < data->count ? data->arrays[call->first]->name : NULL;
    char text[AGREEMENT_TEXT];
    struct adapt_agreed agreed;

    if (verdict->text && data && verdict->array >= 0 && verdict->array < data->count)
        snprintf(text, sizeof(text), "array '%.100s' cannot be moved: %s",
                 data->arrays[verdict->array]->name, verdict->text);
    else
        snprintf(text, sizeof(text), "%s", verdict->text ? verdict->text : "");
    const struct adapt_proposal mine = {.kind = call->kind,.function = call->function,
        .object = object,.error = verdict->text ? text : NULL,.error_class = verdict->error_class,
        .order = verdict->array + 1,.terms = terms_of(call),.chunk = call->chunk_bytes
    };
    int code = adapt_agree_on_call(call->channel, &mine, &agreed);
    if (code)
        return code;
    call->chunk_bytes = agreed.chunk;
    return agreed.terms_differ ? refuse_terms(call) : MPI_SUCCESS;
}

/* ---- all of it -------------------------------------------------------------------------------- */

const char *adapt_roles_of(const epop_window_t *window, struct adapt_roles *roles,
                           int **process_of_new)
{
    int joining = 0;

    *roles = (struct adapt_roles) {.old_size = window->old_size,.new_size = window->new_size,
        .old_rank = window->old_rank,.new_rank = window->new_rank,.new_rank_of =
            window->new_rank_of
    };
    *process_of_new = adapt_room(window->new_size, sizeof(int));
    if (!*process_of_new)
        return ADAPT_NO_MEMORY;
    roles->process_of_new = *process_of_new;
    for (int rank = 0; rank < window->new_size; rank++)
        (*process_of_new)[rank] = -1;
    for (int rank = 0; rank < window->old_size; rank++)
        if (window->new_rank_of[rank] >= 0)
            (*process_of_new)[window->new_rank_of[rank]] = rank;
    for (int rank = 0; rank < window->new_size; rank++)
        if ((*process_of_new)[rank] < 0)
            (*process_of_new)[rank] = window->old_size + joining++;
    return NULL;
}

/* Those with or without facts, as long as nothing is wrong. */
static void prepare_all(const struct call *call, bool with_facts, bool room, struct verdict *verdict)
{
    for (int k = call->first; call->data && !verdict->text && k < call->end; k++)
        if (is_concerned(call, k) && has_facts(call->data->arrays[k]) == with_facts)
            *verdict = verdict_of(prepare(call, k, room), k);
}

/* error: what is wrong with the call itself. */
static int agree_on_all(struct call *call, const char *error)
{
    const bool room = call->kind == ADAPT_CALL_ARRAYS;
    struct verdict verdict = verdict_of(error, -1);

    if (!verdict.text)
        verdict = verdict_of(adapt_roles_of(call->window, &call->roles, &call->process_of_new),
                             call->first);
    if (!verdict.text)
        verdict = verdict_of(make_room_for_facts(call), call->first);
    prepare_all(call, false, room, &verdict);
    int code = agree(call, &verdict);
    if (code || !call->facts)
        return code;
    for (int k = call->first; !code && k < call->end; k++)
        if (call->facts[k])
            code = tell_facts(call, k);
    if (code)
        return code;
    call->has_told = true;
    prepare_all(call, true, room, &verdict);
    return agree(call, &verdict);
}

static void set_chunks(const struct call *call)
{
    for (int k = call->first; k < call->end; k++) {
        struct adapt_array *array = call->data->arrays[k];
        int64_t chunk = array->element.size > 0 ? call->chunk_bytes / array->element.size : INT32_MAX;
        if (!array->is_started)
            array->transfer.chunk = chunk < 1 ? 1 : chunk < INT32_MAX ? chunk : INT32_MAX;
    }
}

int adapt_agree(MPIX_Adapt_data data, const epop_window_t *window, int first, int end,
                enum adapt_call_kind kind, const char *error, const char *caller)
{
    struct call call = {.data = data,.window = window,.kind = kind,.function = caller,.first = first,
        .end = end,.chunk_bytes = adapt_exchange_chunk()
    };

    int code = adapt_channel_open(window, &call.channel);
    if (code)
        return adapt_channel_failed(code, caller, error);
    code = agree_on_all(&call, error);
    free(call.process_of_new);
    for (int k = 0; call.facts && k < data->count; k++)
        free(call.facts[k]);
    free(call.facts);
    if (!code) {
        data->channel = call.channel;
        set_chunks(&call);
    } else if (data) {
        adapt_undo_agree(data, first, end);
    }
    return code;
}

void adapt_undo_agree(MPIX_Adapt_data data, int first, int end)
{
    for (int k = first; k < end; k++) {
        struct adapt_array *array = data->arrays[k];
        if (array->is_started)
            continue;
        if (array->new_part != *array->base)
            adapt_array_release(array, array->new_part);
        array->new_part = NULL;
        adapt_schedule_clear(&array->schedule);
        adapt_distribution_clear(&array->coming);
    }
}
