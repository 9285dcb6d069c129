/*
 * Before anything moves all processes of the window compare what they have registered, compute their
 * schedules and take the memory for the new parts.  Then they tell each other how that went: it
 * works for all of them or for none.  SPEC-epop D2, D3, F1.
 *
 * Old rank 0 tells everybody what it has registered (the header), and joining processes what only
 * the old ones can know: places and lengths (the facts).
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
    int64_t **facts;            /* by array; NULL: it has none */
    bool are_facts;             /* old rank 0 has some to tell */
    int64_t chunk_bytes;
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

/* ---- communicators ---------------------------------------------------------------------------- */

static int open_communicators(struct call *call)
{
    MPIX_Adapt_data data = call->data;
    int code = MPI_SUCCESS;

    if (data->old_world != MPI_COMM_NULL)
        return code;
    code = MPI_Comm_dup(call->window->old_world, &data->old_world);
    if (!code && call->window->intercomm != MPI_COMM_NULL)
        code = MPI_Comm_dup(call->window->intercomm, &data->intercomm);
    return code;
}

static void close_communicators(MPIX_Adapt_data data)
{
    if (data->old_world != MPI_COMM_NULL)
        MPI_Comm_free(&data->old_world);
    if (data->intercomm != MPI_COMM_NULL)
        MPI_Comm_free(&data->intercomm);
}

/* From old rank 0 to all old processes (if `old`) and to the joining ones. */
static int tell(const struct call *call, bool old, void *words, int64_t count)
{
    const MPIX_Adapt_data data = call->data;
    const bool is_root = call->roles.old_rank == 0;
    int code = MPI_SUCCESS;

    if (old && !is_joining(call))
        code = MPI_Bcast_c(words, count, MPI_INT64_T, 0, data->old_world);
    if (!code && data->intercomm != MPI_COMM_NULL)
        code = MPI_Bcast_c(words, count, MPI_INT64_T,
                           is_joining(call) ? 0 : is_root ? MPI_ROOT : MPI_PROC_NULL,
                           data->intercomm);
    return code;
}

/* The greatest of all processes' values, for each of them. */
static int greatest_of_all(const struct call *call, int64_t *values, int count)
{
    int64_t theirs[4];
    int code = MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MAX,
                             call->data->old_world);

    if (code || call->data->intercomm == MPI_COMM_NULL)
        return code;
    code = MPI_Allreduce(values, theirs, count, MPI_INT64_T, MPI_MAX, call->data->intercomm);
    for (int k = 0; k < count; k++)
        values[k] = values[k] > theirs[k] ? values[k] : theirs[k];
    return code;
}

/* ---- header ----------------------------------------------------------------------------------- */

static int64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t k = 0; k < count; k++)
        hash = (hash ^ ((const unsigned char *) bytes)[k]) * UINT64_C(1099511628211);       /* FNV-1a */
    return (int64_t) (hash >> 1);
}

static int64_t signature(const struct adapt_array *array)
{
    const int64_t words[] = { array->layout.kind, array->layout.n, array->layout.block,
        array->layout.rows, array->layout.columns, array->element_size
    };

    return hash_bytes((uint64_t) hash_bytes(UINT64_C(14695981039346656037), array->name,
                                            strlen(array->name)), words, sizeof(words));
}

/* Head and signatures, in one message as long as there are not very many. */
enum { HEAD = 4, SIGNED_AT_ONCE = 60 };

/* Of old rank 0, to all. */
static int tell_header(const struct call *call, int64_t *header)
{
    int code = tell(call, true, header, HEAD + SIGNED_AT_ONCE);

    if (!code && header[0] > SIGNED_AT_ONCE)
        code = tell(call, true, header + HEAD + SIGNED_AT_ONCE, header[0] - SIGNED_AT_ONCE);
    return code;
}

/* Compares with what old rank 0 has: which arrays are moved, how many there are, what each is. */
static int compare(struct call *call, struct verdict *verdict)
{
    const MPIX_Adapt_data data = call->data;
    int64_t header[HEAD + ADAPT_ARRAYS_MAX] = { data->count, call->first, call->end, 0 };
    int64_t *head = header, *signatures = header + HEAD;

    for (int k = 0; k < data->count; k++)
        signatures[k] = signature(data->arrays[k]);
    for (int k = call->first; call->facts && k < call->end; k++)
        head[3] |= call->facts[k] != NULL;
    head[3] |= !call->facts;    /* no memory: the others may have some */
    int code = tell_header(call, header);
    if (code)
        return code;
    call->are_facts = head[3];
    if (head[0] != data->count)
        *verdict = verdict_of("another process has registered fewer or more arrays", call->first);
    else if (head[1] != call->first || head[2] != call->end)
        *verdict = verdict_of("another process moves other arrays", call->first);
    for (int k = 0; k < data->count && k < head[0]; k++) {
        if (signatures[k] != signature(data->arrays[k])) {
            *verdict = verdict_of("it is registered differently on another process", k);
            break;
        }
    }
    return code;
}

/* ---- facts ------------------------------------------------------------------------------------ */

/* Memory for them, by array. */
static const char *make_room_for_facts(struct call *call)
{
    call->facts = adapt_room(call->data->count, sizeof(*call->facts));
    if (!call->facts)
        return ADAPT_NO_MEMORY;
    for (int k = call->first; k < call->end; k++) {
        const struct adapt_array *array = call->data->arrays[k];
        if (!is_concerned(call, k) ||
            (!has_places(array) && array->layout.kind != ADAPT_LAYOUT_IRREGULAR))
            continue;
        call->facts[k] = adapt_room(call->roles.old_size, sizeof(int64_t));
        if (!call->facts[k])
            return ADAPT_NO_MEMORY;
    }
    return NULL;
}

/* Of an array: the lengths of the old parts, or the ranks of the old places. */
static int exchange_facts(const struct call *call, int k)
{
    const struct adapt_array *array = call->data->arrays[k];
    int64_t *facts = call->facts[k], mine = array->layout.mine;

    if (!facts)
        return MPI_SUCCESS;
    if (!is_joining(call) && array->layout.kind == ADAPT_LAYOUT_IRREGULAR) {
        int code = MPI_Allgather(&mine, 1, MPI_INT64_T, facts, 1, MPI_INT64_T,
                                 call->data->old_world);
        if (code)
            return code;
    }
    for (int place = 0; !is_joining(call) && has_places(array) && place < call->roles.old_size;
         place++)
        facts[place] = array->now.rank_of_place ? array->now.rank_of_place[place] : place;
    return tell(call, false, facts, call->roles.old_size);
}

/* ---- schedules -------------------------------------------------------------------------------- */

static const char *make_old(const struct call *call, int k)
{
    struct adapt_array *array = call->data->arrays[k];
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
            places[place] = (int) call->facts[k][place];
    }
    adapt_distribution_clear(&array->now);
    error = adapt_distribution_make(&array->now, &array->layout, size, places, call->facts[k]);
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

/* The worst verdict of all processes: wrong use before lack of memory, lowest array first. */
static int agree(const struct call *call, const struct verdict *mine, const char *caller)
{
    const struct adapt_roles *roles = &call->roles;
    const int64_t process = roles->old_rank >= 0 ? roles->old_rank :
        roles->process_of_new ? roles->process_of_new[roles->new_rank] : roles->old_size;
    int64_t severity = mine->error_class == MPI_ERR_ARG ? 2 : mine->error_class == MPI_ERR_NO_MEM;
    int64_t worst[2] = { severity == 0 ? 0 : severity << 48 |
            (int64_t) (ADAPT_ARRAYS_MAX - mine->array) << 32 | process, -call->chunk_bytes
    };

    int code = greatest_of_all(call, worst, 2);
    if (code)
        return code;
    if (worst[0] == 0) {
        for (int k = call->first; k < call->end; k++) {
            struct adapt_array *array = call->data->arrays[k];
            int64_t chunk = array->element_size > 0 ? -worst[1] / array->element_size : INT32_MAX;
            array->transfer.chunk = chunk < 1 ? 1 : chunk < INT32_MAX ? chunk : INT32_MAX;
        }
        return MPI_SUCCESS;
    }
    const int number = ADAPT_ARRAYS_MAX - (int) (worst[0] >> 32 & 0xffff);
    const int who = (int) (worst[0] & INT32_MAX);
    const bool is_old = who < roles->old_size;
    const char *name = number < call->data->count ? call->data->arrays[number]->name : "?";
    return adapt_fail(worst[0] >> 48 == 2 ? MPI_ERR_ARG : MPI_ERR_NO_MEM,
                      "%s: array '%s' cannot be moved: %s (%s %d); nothing has moved", caller, name,
                      mine->text && mine->array == number ? mine->text :
                      worst[0] >> 48 == 2 ? "it was refused" : "there is no memory for it",
                      is_old ? "old rank" : "joining process",
                      is_old ? who : who - roles->old_size);
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

static int agree_in_two_steps(struct call *call, bool room, const char *caller)
{
    struct verdict verdict = verdict_of(adapt_roles_of(call->window, &call->roles,
                                                       &call->process_of_new), call->first);
    int code = open_communicators(call);

    if (code)
        return code;
    if (!verdict.text)
        verdict = verdict_of(make_room_for_facts(call), call->first);
    struct verdict compared = verdict_of(NULL, 0);
    code = compare(call, &compared);
    if (compared.text)
        verdict = compared;
    /* facts are exchanged by those who have registered the same; without any, one agreement will do */
    if (!code && call->are_facts)
        code = agree(call, &verdict, caller);
    for (int k = call->first; !code && call->are_facts && k < call->end; k++)
        code = exchange_facts(call, k);
    if (code)
        return code;
    for (int k = call->first; !verdict.text && k < call->end; k++)
        if (is_concerned(call, k))
            verdict = verdict_of(prepare(call, k, room), k);
    return agree(call, &verdict, caller);
}

int adapt_agree(MPIX_Adapt_data data, const epop_window_t *window, int first, int end, bool room,
                const char *caller)
{
    struct call call = {.data = data,.window = window,.first = first,.end = end,
        .chunk_bytes = adapt_exchange_chunk()
    };

    int code = agree_in_two_steps(&call, room, caller);
    free(call.process_of_new);
    for (int k = 0; call.facts && k < data->count; k++)
        free(call.facts[k]);
    free(call.facts);
    if (code)
        adapt_undo_agree(data, first, end);
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
    if (data->started == 0)
        close_communicators(data);
}
