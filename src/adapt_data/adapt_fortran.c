/*
 * The part of the Fortran module adapt_data (adapt_data.F90) that is in C: windows whose
 * communicators are Fortran handles, and arrays of which Fortran owns the memory.
 *
 * An array is a set of its own (MPIX_Adapt_data) with one array, whose elements are the slices of
 * the Fortran array along its last dimension.  A joining process receives extents and lower bounds
 * from the processes that have the array allocated.  Ghost slices lie before and after the part;
 * after a move they exist, with undefined values.
 */

#include "data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "exchange.h"
#include "failure.h"
#include "fortran_array.h"

/* ---- windows --------------------------------------------------------------------------------- */

/* adapt_window of the module, with its numbers in the same order. */
struct fortran_window {
    int status, staying, leaving, joining, old_size, new_size, old_rank, new_rank;
    MPI_Fint old_world, intercomm, new_world, all;
};

int adapt_fortran_open(int status, struct fortran_window *shown, epop_window_t **window)
{
    MPI_Comm all;

    *window = calloc(1, sizeof(**window));
    if (!*window)
        return adapt_fail(MPI_ERR_NO_MEM, "adapt_window_open: there is no memory");
    const char *former = adapt_call_as(adapt_called("adapt_window_open"));
    int code = MPIX_Adapt_window_open(status, *window, &all);
    (void) adapt_call_as(former);
    if (code) {
        free(*window);
        *window = NULL;
        return code;
    }
    *shown = (struct fortran_window) {
        status, (*window)->staying, (*window)->leaving, (*window)->joining, (*window)->old_size,
        (*window)->new_size, (*window)->old_rank, (*window)->new_rank,
        MPI_Comm_c2f((*window)->old_world), MPI_Comm_c2f((*window)->intercomm),
        MPI_Comm_c2f((*window)->new_world), MPI_Comm_c2f(all)
    };
    return MPI_SUCCESS;
}

void adapt_fortran_new_ranks(const epop_window_t *window, int new_rank_of[])
{
    memcpy(new_rank_of, window->new_rank_of, (size_t) window->old_size * sizeof(int));
}

int adapt_fortran_close(struct fortran_window *shown, epop_window_t **window)
{
    MPI_Comm all = MPI_Comm_f2c(shown->all);

    int code = MPIX_Adapt_window_close(*window, &all);
    if (!code) {
        shown->all = MPI_Comm_c2f(MPI_COMM_NULL);
        free(*window);
        *window = NULL;
    }
    return code;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

struct fortran_array *adapt_fortran_create(const char *name, const MPIX_Adapt_layout *layout,
                                           int ghost, int is_global)
{
    struct fortran_array *made = calloc(1, sizeof(*made));
    char *copy = strdup(name);

    if (!made || !copy || ghost < 0) {
        (void) adapt_fail(ghost < 0 ? MPI_ERR_ARG : MPI_ERR_NO_MEM, "adapt_create: %s",
                          ghost < 0 ? "ghost is negative" : "there is no memory");
        free(made);
        free(copy);
        return NULL;
    }
    made->layout = *layout;
    made->name = copy;
    made->ghost = ghost;
    made->is_global = is_global;
    adapt_announce(&made->announced, made->name);
    return made;
}

int adapt_fortran_free(struct fortran_array *array)
{
    int code = array->data ? MPIX_Adapt_data_free(&array->data) : MPI_SUCCESS;

    if (!code) {
        adapt_announce_end(&array->announced);
        free(array->name);
        free(array);
    }
    return code;
}

MPI_Datatype adapt_fortran_type(int kind)
{
    switch ((enum kind) kind) {
        case REAL4:
            return MPI_FLOAT;
        case REAL8:
            return MPI_DOUBLE;
        case INTEGER4:
            return MPI_INT32_T;
        case INTEGER8:
            return MPI_INT64_T;
        case COMPLEX4:
            return MPI_C_FLOAT_COMPLEX;
        case COMPLEX8:
            return MPI_C_DOUBLE_COMPLEX;
    }
    return MPI_DATATYPE_NULL;
}

/* The misfit on this process; NULL: none. */
static const char *check(const struct fortran_array *array, const struct fortran_part *part)
{
    const int last = part->rank - 1;

    if (array->slot)
        return "it has been started and not waited for";
    if (array->layout.kind == ADAPT_LAYOUT_GRID && part->rank != 1)
        return "a grid is for arrays of one dimension";
    if (array->is_global && array->layout.kind != ADAPT_LAYOUT_BLOCK &&
        array->layout.kind != ADAPT_LAYOUT_BLOCK_FREE &&
        array->layout.kind != ADAPT_LAYOUT_IRREGULAR)
        return "only consecutive parts have global bounds";
    if (array->rank && (array->rank != part->rank || array->kind != part->kind))
        return "its type or its number of dimensions has changed";
    if (!part->is_allocated)
        return NULL;
    if (part->extent[last] < 2 * array->ghost)
        return "it has fewer slices than ghost slices";
    for (int k = 0; array->rank && k < last; k++)
        if (part->extent[k] != array->extent[k])
            return "the extents of its slices have changed";
    return NULL;
}

/* A slice, on the processes that have it: extents and lower bounds. */
struct agreement {
    int64_t kind, rank, extent[RANK_MAX], lower[RANK_MAX];
};

#define AGREED ((int) (sizeof(struct agreement) / sizeof(int64_t)))
#define NOBODY (-INT64_MAX)     /* no process has it */

static const char *name_of_kind(int kind)
{
    static const char *const names[] =
        { "?", "real(4)", "real(8)", "integer(4)", "integer(8)", "complex(4)", "complex(8)"
    };

    return kind >= REAL4 && kind <= COMPLEX8 ? names[kind] : names[0];
}

/* real(8) a(0:11, *) */
static void describe(const struct fortran_array *array, const struct fortran_part *part,
                     char text[AGREEMENT_TEXT])
{
    snprintf(text, AGREEMENT_TEXT, "%s %.60s(", name_of_kind(part->kind), array->name);
    for (int k = 0; k < part->rank; k++) {
        const size_t length = strlen(text);
        const char *end = k == part->rank - 1 ? ")" : ", ";
        if (!part->is_allocated || (k == part->rank - 1 && array->is_global))
            snprintf(text + length, AGREEMENT_TEXT - length, ":%s", end);
        else if (k == part->rank - 1)
            snprintf(text + length, AGREEMENT_TEXT - length, "%" PRId64 ":%s", part->lower[k], end);
        else
            snprintf(text + length, AGREEMENT_TEXT - length, "%" PRId64 ":%" PRId64 "%s",
                     part->lower[k], part->lower[k] + part->extent[k] - 1, end);
    }
}

static int agree_on_call(struct fortran_array *array, const epop_window_t *window,
                         enum adapt_call_kind kind, const char *function, const char *why,
                         struct adapt_channel **channel)
{
    const int64_t details[] = { array->ghost, array->is_global };
    char text[AGREEMENT_TEXT];
    const struct adapt_proposal mine = {.kind = kind,.function = function,.object = array->name,
                                        .error =
            why ? text : NULL,.error_class = MPI_ERR_ARG,.chunk = adapt_exchange_chunk(),.terms =
            adapt_mix_all(adapt_mix_text(0, array->name), details, 2)
    };
    struct adapt_agreed agreed;

    snprintf(text, sizeof(text), "array '%.100s': %.190s", array->name, why ? why : "");
    int code = adapt_channel_open(window, channel);
    if (code)
        return adapt_channel_failed(code, function, why);
    code = adapt_agree_on_call(*channel, &mine, &agreed);
    if (code || !agreed.terms_differ)
        return code;
    snprintf(text, sizeof(text), "'%.100s' with ghost=%d, global=%s", array->name, array->ghost,
             array->is_global ? ".true." : ".false.");
    return adapt_refuse_difference(*channel, function, "the array", text);
}

/* The max and the negated min of all processes: they show whether all have the same value. */
int adapt_fortran_agree(struct fortran_array *array, const epop_window_t *window,
                        const struct fortran_part *part, enum adapt_call_kind kind,
                        const char *function, const char *why)
{
    const int last = part->rank - 1;
    struct agreement both[2], *most = &both[0], *least = &both[1];
    struct adapt_channel *channel;
    char text[AGREEMENT_TEXT];

    why = why ? why : check(array, part);
    int code = agree_on_call(array, window, kind, function, why, &channel);
    if (code)
        return code;
    for (int k = 0; k < AGREED; k++)
        ((int64_t *) most)[k] = ((int64_t *) least)[k] = NOBODY;
    most->kind = part->kind;
    most->rank = part->rank;
    for (int k = 0; part->is_allocated && k < part->rank; k++) {
        most->extent[k] = k < last ? part->extent[k] : 0;
        if (k == last && array->is_global)
            most->lower[k] = 0;
        else if (k < last || part->extent[k] > 0)       /* 1 in Fortran without slices */
            most->lower[k] = part->lower[k];
    }
    for (int k = 0; k < AGREED; k++)
        if (((int64_t *) most)[k] != NOBODY)
            ((int64_t *) least)[k] = -((int64_t *) most)[k];
    code = MPI_Allreduce(MPI_IN_PLACE, both, 2 * AGREED, MPI_INT64_T, MPI_MAX, channel->all);
    if (code)
        return code;
    for (int k = 0; k < AGREED; k++) {
        if (((int64_t *) most)[k] == NOBODY || ((int64_t *) most)[k] == -((int64_t *) least)[k])
            continue;
        describe(array, part, text);
        return adapt_refuse_difference(channel, function,
                                       "its type, dimensions, or the bounds of its slices", text);
    }
    array->kind = part->kind;
    array->rank = part->rank;
    for (int k = 0; k < part->rank; k++) {
        /* no process has this extent: there are no elements */
        array->extent[k] = most->extent[k] < 0 ? 0 : most->extent[k];
        array->lower[k] = most->lower[k] == NOBODY ? 1 : most->lower[k];
    }
    return MPI_SUCCESS;
}

int adapt_fortran_slice_type(const struct fortran_array *array, MPI_Datatype * type)
{
    int64_t slice = 1;

    for (int k = 0; k < array->rank - 1; k++)
        slice *= array->extent[k];
    return MPI_Type_contiguous_c(slice, adapt_fortran_type(array->kind), type);
}

static int add(struct fortran_array *array, const MPIX_Adapt_memory *memory)
{
    MPI_Datatype type;

    int code = adapt_fortran_slice_type(array, &type);
    if (!code)
        code = MPIX_Adapt_data_create(&array->data);
    if (!code)
        code = MPIX_Adapt_data_add(array->data, array->name, &array->base, type, &array->layout,
                                   memory, NULL);
    int free_code = MPI_Type_free(&type);
    return code ? code : free_code;
}

/* The number of slices by the layout; -1 if the layout does not define it. */
static int64_t expected_slices(struct fortran_array *array)
{
    int64_t count;

    if (array->layout.kind == ADAPT_LAYOUT_IRREGULAR ||
        MPIX_Adapt_data_count(array->data, 0, &count))
        return -1;
    return count;
}

/* Writes into `misfit` how the part differs from the layout; false: it does not, or that is not
 * known. */
static bool has_misfit(struct fortran_array *array, const struct fortran_part *part, int old_rank,
                       int64_t slices, char misfit[AGREEMENT_TEXT])
{
    const int64_t expected = old_rank >= 0 ? expected_slices(array) : -1, begins =
        part->lower[part->rank - 1];
    int64_t low, high;

    if (expected < 0)
        return false;
    if (expected != slices)
        snprintf(misfit, AGREEMENT_TEXT,
                 "it has %" PRId64 " slices without ghosts, its layout %" PRId64
                 " for this process", slices, expected);
    else if (slices > 0 && array->is_global &&
             adapt_distribution_next(&array->data->arrays[0]->now, old_rank, 0, &low, &high) &&
             begins != low + 1 - array->ghost)
        snprintf(misfit, AGREEMENT_TEXT,
                 "its last dimension begins at %" PRId64 ", but with global=.true. at %" PRId64,
                 begins, low + 1 - array->ghost);
    else
        return false;
    return true;
}

/* As adapt_fortran_start; errors have the name adapt_move or adapt_start. */
static int start(struct fortran_array *array, const epop_window_t *window,
                 const struct fortran_part *part, const MPIX_Adapt_memory *memory, void *slot)
{
    char misfit[AGREEMENT_TEXT];

    int code =
        adapt_fortran_agree(array, window, part, ADAPT_CALL_FORTRAN_ARRAY, "adapt_move", NULL);
    if (!code && !array->data)
        code = add(array, memory);
    if (code)
        return code;
    const int64_t slices = part->is_allocated ? part->extent[part->rank - 1] - 2 * array->ghost : 0;
    if (array->layout.kind == ADAPT_LAYOUT_IRREGULAR)
        code = MPIX_Adapt_data_set_count(array->data, 0, slices);
    array->former = array->base = slices > 0 ? part->first : NULL;
    /* all processes refuse a wrong length or beginning, like a missing part */
    if (has_misfit(array, part, window->old_rank, slices, misfit)) {
        array->former = array->base = NULL;
        adapt_set_misfit(misfit);
    }
    array->new_rank = window->new_rank;
    array->slot = slot;
    if (!code)
        code = MPIX_Adapt_data_start(array->data, window, 0);
    adapt_set_misfit(NULL);
    if (code)
        array->slot = NULL;
    return code;
}

int adapt_fortran_start(struct fortran_array *array, const epop_window_t *window,
                        const struct fortran_part *part, void *(*grow) (int64_t, void *),
                        void (*release) (void *, void *), void *slot)
{
    const MPIX_Adapt_memory memory = {.grow = grow,.release = release,.state = array };
    const char *former = adapt_call_as("adapt_move");

    int code = start(array, window, part, &memory, slot);
    (void) adapt_call_as(former);
    return code;
}

void *adapt_fortran_slot(const struct fortran_array *array)
{
    return array->slot;
}

/* The bounds of a part of `count` slices, for the module's grow. */
void adapt_fortran_bounds(const struct fortran_array *array, int64_t count, int64_t lower[],
                           int64_t upper[])
{
    const int last = array->rank - 1;
    int64_t low = 0, high;

    for (int k = 0; k < last; k++) {
        lower[k] = array->lower[k];
        upper[k] = array->lower[k] + array->extent[k] - 1;
    }
    lower[last] = array->lower[last];
    if (array->is_global) {
        const struct adapt_array *known = array->data->arrays[0];
        if (!adapt_distribution_next(known->is_started || known->coming.size > 0 ?
                                     &known->coming : &known->now, array->new_rank, 0, &low, &high))
            low = 0;
        lower[last] = low + 1 - array->ghost;
    }
    upper[last] = lower[last] + count + 2 * array->ghost - 1;
}

int adapt_fortran_ghost(const struct fortran_array *array)
{
    return array->ghost;
}

int adapt_fortran_test(struct fortran_array *array, int *done)
{
    *done = 0;
    return MPIX_Adapt_data_test(array->data, 0, done);
}

/* *outcome: what the module does with the allocatable; *slot: the module's. */
int adapt_fortran_wait(struct fortran_array *array, int kind, int rank, int *outcome, void **slot)
{
    if (!array->slot || kind != array->kind || rank != array->rank)
        return adapt_fail(MPI_ERR_ARG, "adapt_wait: array '%s' %s", array->name, array->slot ?
                          "is of another type" : "has not been started");
    const char *former = adapt_call_as("adapt_wait");
    int code = MPIX_Adapt_data_wait(array->data, 0);
    (void) adapt_call_as(former);
    if (code)
        return code;
    array->announced.name = NULL;
    *slot = array->slot;
    *outcome = array->new_rank < 0 ? OUTCOME_LEAVE : !array->base ? OUTCOME_EMPTY :
        array->base == array->former ? OUTCOME_KEEP : OUTCOME_REPLACE;
    return MPI_SUCCESS;
}

void adapt_fortran_done(struct fortran_array *array)
{
    array->slot = NULL;
}

int adapt_fortran_position(const struct fortran_array *array, int index, int of_rank, int *answer)
{
    *answer = index;
    if (!array->data)
        return MPI_SUCCESS;
    return of_rank ? MPIX_Adapt_data_position(array->data, 0, index, answer) :
        MPIX_Adapt_data_rank(array->data, 0, index, answer);
}
