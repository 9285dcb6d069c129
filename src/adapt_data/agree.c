/*
 * Before anything moves all processes of the window compute their schedules and take the memory for the
 * new parts.  Then they tell each other how that went, and whether they have registered the same: it
 * works for all of them or for none.  SPEC-epop D2, D3, F1.
 *
 * That is one reduction.  Of arrays whose schedule needs what only some processes know (the facts: places
 * and lengths) these are told after it, and there is a second one.  What differs in registrations is
 * looked for when it is known that something does.
 */

#include "data.h"

#include <stdlib.h>
#include <string.h>
#include "exchange.h"
#include "failure.h"

/* One call of adapt_agree. */
struct call {
    MPIX_Adapt_data data;
    const epop_window_t *window;
    int first, end;
    struct adapt_roles roles;
    int *process_of_new;
    int64_t **facts;            /* by array; NULL: none has any; of an array NULL: it has none */
    int64_t chunk_bytes;        /* at first this process', then the smallest */
};

/* What went wrong here; the worst of all processes is told to all. */
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
    return array >= call->first && array < call->end && !call->data->arrays[array]->is_started;
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

static int64_t mix(int64_t hash, int64_t word)
{
    const uint64_t mixed = ((uint64_t) hash ^ (uint64_t) word) * UINT64_C(0x9e3779b97f4a7c15);

    return (int64_t) ((mixed ^ mixed >> 29) >> 1);
}

static int64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t k = 0; k < count; k++)
        hash = (hash ^ ((const unsigned char *) bytes)[k]) * UINT64_C(1099511628211);       /* FNV-1a */
    return (int64_t) (hash >> 1);
}

int64_t adapt_array_signature(const struct adapt_array *array)
{
    const int64_t words[] = { array->layout.kind, array->layout.n, array->layout.block,
        array->layout.rows, array->layout.columns, array->element_size
    };

    return hash_bytes((uint64_t) hash_bytes(UINT64_C(14695981039346656037), array->name,
                                            strlen(array->name)), words, sizeof(words));
}

/* Which arrays are moved, how many there are, and what each is: the same everywhere if that is. */
static int64_t signature_of_all(const struct call *call)
{
    int64_t hash = mix(mix(call->data->count, call->first), call->end);

    for (int k = 0; k < call->data->count; k++)
        hash = mix(mix(hash, call->data->arrays[k]->signature), is_concerned(call, k));
    return hash;
}

/* Compares with what old rank 0 has. */
static int find_difference(const struct call *call, struct verdict *verdict)
{
    enum { COUNT, FIRST, END, HEAD };
    const MPIX_Adapt_data data = call->data;
    int64_t header[HEAD + ADAPT_ARRAYS_MAX] = { data->count, call->first, call->end };
    int64_t *signatures = header + HEAD;

    for (int k = 0; k < data->count; k++)
        signatures[k] = data->arrays[k]->signature;
    int code = MPI_Bcast(header, HEAD + ADAPT_ARRAYS_MAX, MPI_INT64_T, 0, data->channel->all);
    if (header[COUNT] != data->count)
        *verdict = verdict_of("another process has registered fewer or more arrays", call->first);
    else if (header[FIRST] != call->first || header[END] != call->end)
        *verdict = verdict_of("another process moves other arrays", call->first);
    for (int k = 0; k < data->count && k < header[COUNT]; k++) {
        if (signatures[k] != data->arrays[k]->signature) {
            *verdict = verdict_of("it is registered differently on another process", k);
            break;
        }
    }
    return code;
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
    const MPI_Comm all = call->data->channel->all;
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
        error = "this process owns elements of it, but *base is NULL";
    if (!error && room)
        error = make_part(array);
    array->new_rank = call->roles.new_rank;
    return error;
}

/* ---- agreement -------------------------------------------------------------------------------- */

/* Greater is worse: wrong use before lack of memory, lowest array first.  0: nothing is wrong. */
static int64_t severity(const struct call *call, const struct verdict *verdict)
{
    const int64_t weight = verdict->error_class == MPI_ERR_ARG ? 2 :
        verdict->error_class == MPI_ERR_NO_MEM;
    int process;

    if (weight == 0)
        return 0;
    MPI_Comm_rank(call->data->channel->all, &process);
    return weight << 48 | (int64_t) (ADAPT_ARRAYS_MAX - verdict->array) << 32 | process;
}

static int refuse(const struct call *call, const struct verdict *mine, int64_t worst,
                  const char *caller)
{
    const int number = ADAPT_ARRAYS_MAX - (int) (worst >> 32 & 0xffff);
    const int who = (int) (worst & INT32_MAX), old_size = call->window->old_size;
    const bool is_wrong = worst >> 48 == 2;
    const char *name = number < call->data->count ? call->data->arrays[number]->name : "?";

    return adapt_fail(is_wrong ? MPI_ERR_ARG : MPI_ERR_NO_MEM,
                      "%s: array '%s' cannot be moved: %s (%s %d); nothing has moved", caller, name,
                      mine->text && mine->array == number ? mine->text :
                      is_wrong ? "it was refused" : "there is no memory for it",
                      who < old_size ? "old rank" : "joining process",
                      who < old_size ? who : who - old_size);
}

/* The worst verdict of all processes, and whether they mean the same. */
static int agree(struct call *call, struct verdict *verdict, const char *caller)
{
    enum { WORST, CHUNK, GREATEST, SMALLEST, WORDS };
    const int64_t same = signature_of_all(call);
    int64_t words[WORDS] = { severity(call, verdict), -call->chunk_bytes, same, -same };
    const MPI_Comm all = call->data->channel->all;

    int code = MPI_Allreduce(MPI_IN_PLACE, words, WORDS, MPI_INT64_T, MPI_MAX, all);
    if (!code && words[GREATEST] != -words[SMALLEST]) {
        *verdict = verdict_of(NULL, 0);
        code = find_difference(call, verdict);
        words[WORST] = severity(call, verdict);
        if (!code)
            code = MPI_Allreduce(MPI_IN_PLACE, words, 1, MPI_INT64_T, MPI_MAX, all);
        if (words[WORST] == 0) {
            *verdict = verdict_of("another process has started other arrays", call->first);
            words[WORST] = severity(call, verdict);
        }
    }
    call->chunk_bytes = -words[CHUNK];
    return code || words[WORST] == 0 ? code : refuse(call, verdict, words[WORST], caller);
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
    for (int k = call->first; !verdict->text && k < call->end; k++)
        if (is_concerned(call, k) && has_facts(call->data->arrays[k]) == with_facts)
            *verdict = verdict_of(prepare(call, k, room), k);
}

static int agree_on_all(struct call *call, bool room, const char *caller)
{
    int code = adapt_channel_open(call->window, &call->data->channel);
    if (code)
        return code;
    struct verdict verdict = verdict_of(adapt_roles_of(call->window, &call->roles,
                                                       &call->process_of_new), call->first);
    if (!verdict.text)
        verdict = verdict_of(make_room_for_facts(call), call->first);
    prepare_all(call, false, room, &verdict);
    code = agree(call, &verdict, caller);
    if (code || !call->facts)
        return code;
    for (int k = call->first; !code && k < call->end; k++)
        if (call->facts[k])
            code = tell_facts(call, k);
    if (code)
        return code;
    prepare_all(call, true, room, &verdict);
    return agree(call, &verdict, caller);
}

static void set_chunks(const struct call *call)
{
    for (int k = call->first; k < call->end; k++) {
        struct adapt_array *array = call->data->arrays[k];
        int64_t chunk = array->element_size > 0 ? call->chunk_bytes / array->element_size : INT32_MAX;
        if (!array->is_started)
            array->transfer.chunk = chunk < 1 ? 1 : chunk < INT32_MAX ? chunk : INT32_MAX;
    }
}

int adapt_agree(MPIX_Adapt_data data, const epop_window_t *window, int first, int end, bool room,
                const char *caller)
{
    struct call call = {.data = data,.window = window,.first = first,.end = end,
        .chunk_bytes = adapt_exchange_chunk()
    };

    int code = agree_on_all(&call, room, caller);
    free(call.process_of_new);
    for (int k = 0; call.facts && k < data->count; k++)
        free(call.facts[k]);
    free(call.facts);
    if (code)
        adapt_undo_agree(data, first, end);
    else
        set_chunks(&call);
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
