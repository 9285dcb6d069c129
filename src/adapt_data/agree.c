/*
 * Before anything moves, all processes of the window compute their schedules and allocate the new
 * parts.  Then they exchange the results, and whether they have registered the same data: the call
 * succeeds on all of them or on none.  SPEC-epop D2, D3, F1.
 *
 * That is one reduction (agreement.h).  The schedule of some arrays needs facts that only some
 * processes know (positions and lengths): these are sent after it, and a second reduction follows.
 * If something differs, the differing part is searched for: registrations, and results of the
 * functions of `user` and `irregular` layouts.
 */

#include "agree_terms.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "allocated.h"
#include "device_memory.h"
#include "exchange.h"
#include "failure.h"

/* An error of this process; all processes return the worst error of all. */
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

static bool is_joining(const struct adapt_agree_call *call)
{
    return call->window->status == MPI_ADAPT_STATUS_JOINING;
}

static bool has_positions(const struct adapt_array *array)
{
    return array->layout.kind == ADAPT_LAYOUT_BLOCK_FREE || array->layout.kind == ADAPT_LAYOUT_GRID;
}

static bool has_facts(const struct adapt_array *array)
{
    return has_positions(array) || array->layout.kind == ADAPT_LAYOUT_IRREGULAR;
}

static int processes(const struct adapt_agree_call *call)
{
    return call->window->old_size + call->window->joining;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static bool are_facts(const struct adapt_agree_call *call)
{
    for (int k = call->first; k < call->end; k++)
        if (adapt_is_concerned(call, k) && has_facts(call->data->arrays[k]))
            return true;
    return false;
}

/* Memory for the facts, by array: one number for each process. */
static const char *make_space_for_facts(struct adapt_agree_call *call)
{
    if (!are_facts(call))
        return NULL;
    call->facts = adapt_reserve(call->data->count, sizeof(*call->facts));
    if (!call->facts)
        return ADAPT_NO_MEMORY;
    for (int k = call->first; k < call->end; k++) {
        if (!adapt_is_concerned(call, k) || !has_facts(call->data->arrays[k]))
            continue;
        call->facts[k] = adapt_reserve(processes(call), sizeof(int64_t));
        if (!call->facts[k])
            return ADAPT_NO_MEMORY;
    }
    return NULL;
}

/* The facts of an array: the lengths of the old parts, or the ranks of the old positions. */
static int report_facts(const struct adapt_agree_call *call, int k)
{
    const struct adapt_array *array = call->data->arrays[k];
    const int64_t mine = array->layout.mine;
    const MPI_Comm all = call->channel->all;
    int64_t *facts = call->facts[k];

    if (!has_positions(array))
        return MPI_Allgather(&mine, 1, MPI_INT64_T, facts, 1, MPI_INT64_T, all);
    for (int position = 0; !is_joining(call) && position < call->roles.old_size; position++)
        facts[position] =
            array->now.rank_of_position ? array->now.rank_of_position[position] : position;
    return MPI_Bcast(facts, call->roles.old_size, MPI_INT64_T, 0, all);
}

/* ---- schedules ------------------------------------------------------------------------------- */

static const char *make_old(const struct adapt_agree_call *call, int k)
{
    struct adapt_array *array = call->data->arrays[k];
    const int64_t *facts = call->facts ? call->facts[k] : NULL;
    const int size = call->roles.old_size;
    const char *error = NULL;
    int *positions = NULL;

    if (!is_joining(call) && array->now.size > 0 && array->now.size != size)
        return "it was not moved in an earlier window";
    if (has_positions(array)) {
        positions = adapt_reserve(size, sizeof(int));
        if (!positions)
            return ADAPT_NO_MEMORY;
        for (int position = 0; position < size; position++)
            positions[position] = (int) facts[position];
    }
    adapt_distribution_clear(&array->now);
    error = adapt_distribution_make(&array->now, &array->layout, size, positions, facts);
    array->rank = call->roles.old_rank;
    free(positions);
    return error;
}

static const char *split(const struct adapt_agree_call *call, const struct adapt_array *array,
                         const int64_t *old_lengths, int64_t *lengths)
{
    const struct adapt_roles *roles = &call->roles;

    if (array->layout.split(roles->old_size, old_lengths, roles->new_size, lengths,
                            array->layout.state))
        return "its split function has returned an error";
    return NULL;
}

static const char *make_coming(const struct adapt_agree_call *call, int k)
{
    struct adapt_array *array = call->data->arrays[k];
    const int size = call->roles.new_size;
    int *positions = has_positions(array) ? adapt_reserve(size, sizeof(int)) : NULL;
    int64_t *lengths = array->layout.kind == ADAPT_LAYOUT_IRREGULAR ?
        adapt_reserve(size, sizeof(int64_t)) : NULL;
    const char *error = NULL;

    if ((has_positions(array) && !positions) ||
        (array->layout.kind == ADAPT_LAYOUT_IRREGULAR && !lengths))
        error = ADAPT_NO_MEMORY;
    if (!error && positions)
        error = adapt_distribution_positions(&array->now, call->roles.new_rank_of, size, positions);
    if (!error && lengths)
        error = split(call, array, array->now.lengths, lengths);
    if (!error)
        error = adapt_distribution_make(&array->coming, &array->layout, size, positions, lengths);
    if (!error && array->coming.n != array->now.n)
        error = "its new parts have a different number of elements than its old parts";
    free(positions);
    free(lengths);
    return error;
}

/* A part that is the beginning of the old one needs no new memory: it is unchanged, or becomes
 * shorter, which is possible with memory of malloc. */
static bool stays_where_it_is(const struct adapt_array *array)
{
    const struct adapt_schedule *schedule = &array->schedule;

    return schedule->stay == schedule->new_part && schedule->stay > 0 &&
        (schedule->stay == schedule->old_part || !array->memory.grow) &&
        schedule->retained_from_runs == 1 && schedule->retained_to_runs == 1 &&
        schedule->retained_from[0].first == schedule->retained_to[0].first;
}

static const char *make_part(struct adapt_array *array)
{
    const struct adapt_schedule *schedule = &array->schedule;

    if (stays_where_it_is(array)) {
        array->new_part = *array->base;
    } else if (schedule->new_part > 0) {
        array->new_part = adapt_array_grow(array, schedule->new_part);
        if (!array->new_part)
            return ADAPT_NO_MEMORY;
    }
    return NULL;
}

/* check: checks its memory, too. */
static const char *prepare(const struct adapt_agree_call *call, int k, bool capacity, bool check)
{
    struct adapt_array *array = call->data->arrays[k];
    const char *error = array->moved_in == adapt_channel_window()
        ? "it has moved in this window already" :
        make_old(call, k);

    if (!error)
        error = make_coming(call, k);
    if (!error)
        error = adapt_schedule_make(&array->schedule, &array->now, &array->coming, &call->roles);
    if (!error && array->schedule.old_part > 0 && !*array->base)
        error = adapt_misfit("this process owns elements of it, but *base is NULL");
    if (!error)
        error = adapt_device_memory(*array->base);
    if (!error && check && !array->memory.grow)
        error = adapt_allocated(*array->base, array->schedule.old_part, array->element.type);
    if (!error && capacity)
        error = make_part(array);
    if (!error && capacity)
        error = adapt_device_memory(array->new_part);
    array->new_rank = call->roles.new_rank;
    return error;
}

/* ---- agreement ------------------------------------------------------------------------------- */

/* The worst verdict of all processes, and whether they have the same terms. */
static int agree(struct adapt_agree_call *call, const struct verdict *verdict)
{
    const MPIX_Adapt_data data = call->data;
    const bool names_array = data && call->first < data->count && call->kind != ADAPT_CALL_WINDOW;
    char text[AGREEMENT_TEXT];
    struct adapt_agreed agreed;

    if (verdict->text && data && verdict->array >= 0 && verdict->array < data->count)
        snprintf(text, sizeof(text), "array '%.100s' cannot be moved: %s",
                 data->arrays[verdict->array]->name, verdict->text);
    else
        snprintf(text, sizeof(text), "%s", verdict->text ? verdict->text : "");
    const struct adapt_proposal mine = {.kind = call->kind,.function = call->function,
        .object = names_array ? data->arrays[call->first]->name : NULL,
        .error = verdict->text ? text : NULL,.error_class = verdict->error_class,
        .is_weak = adapt_allocated_is_reason(verdict->text),.order = verdict->array + 1,
        .terms = adapt_arrays_terms(call),.chunk = call->chunk_bytes
    };
    int code = adapt_agree_on_call(call->channel, &mine, &agreed);
    if (code)
        return code;
    call->chunk_bytes = agreed.chunk;
    return agreed.terms_differ ? adapt_arrays_refuse(call) : MPI_SUCCESS;
}

/* ---- all of it ------------------------------------------------------------------------------- */

const char *adapt_roles_of(const epop_window_t *window, struct adapt_roles *roles,
                           int **process_of_new)
{
    int joining = 0;

    *roles = (struct adapt_roles) {.old_size = window->old_size,.new_size = window->new_size,
        .old_rank = window->old_rank,.new_rank = window->new_rank,.new_rank_of =
            window->new_rank_of
    };
    *process_of_new = adapt_reserve(window->new_size, sizeof(int));
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

/* Prepares the arrays with or without facts, until an error occurs.  Memory that is too short may
 * result from different terms, so the terms of all arrays are computed nevertheless. */
static void prepare_all(const struct adapt_agree_call *call, bool with_facts, bool capacity,
                        struct verdict *verdict)
{
    for (int k = call->first; call->data && k < call->end; k++) {
        if (verdict->text && !adapt_allocated_is_reason(verdict->text))
            return;
        if (!adapt_is_concerned(call, k) || has_facts(call->data->arrays[k]) != with_facts)
            continue;
        const char *error = prepare(call, k, capacity, !verdict->text);
        if (error)
            *verdict = verdict_of(error, k);
    }
}

/* error: an error of the call itself. */
static int agree_on_all(struct adapt_agree_call *call, const char *error)
{
    const bool capacity = call->kind != ADAPT_CALL_VOLUME;
    struct verdict verdict = verdict_of(error, -1);

    if (!verdict.text)
        verdict = verdict_of(adapt_roles_of(call->window, &call->roles, &call->process_of_new),
                             call->first);
    if (!verdict.text)
        verdict = verdict_of(make_space_for_facts(call), call->first);
    prepare_all(call, false, capacity, &verdict);
    int code = agree(call, &verdict);
    if (code || !call->facts)
        return code;
    for (int k = call->first; !code && k < call->end; k++)
        if (call->facts[k])
            code = report_facts(call, k);
    if (code)
        return code;
    call->has_reported = true;
    prepare_all(call, true, capacity, &verdict);
    return agree(call, &verdict);
}

static void set_chunks(const struct adapt_agree_call *call)
{
    for (int k = call->first; k < call->end; k++) {
        struct adapt_array *array = call->data->arrays[k];
        int64_t chunk =
            array->element.size > 0 ? call->chunk_bytes / array->element.size : INT32_MAX;
        if (!array->is_started)
            array->transfer.chunk = chunk < 1 ? 1 : chunk < INT32_MAX ? chunk : INT32_MAX;
    }
}

int adapt_agree(MPIX_Adapt_data data, const epop_window_t *window, int first, int end,
                enum adapt_call_kind kind, const char *error, const char *caller)
{
    struct adapt_agree_call call = {.data = data,.window = window,.kind = kind,.function = caller,
                                    .first = first,
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
