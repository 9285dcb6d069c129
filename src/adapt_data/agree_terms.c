/* See agree_terms.h. */

#include "agree_terms.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "distribution.h"
#include "failure.h"

/* ---- registrations --------------------------------------------------------------------------- */

static const char *name_of_kind(int kind)
{
    static const char *const names[] =
        { "?", "block", "block_free", "block_cyclic", "grid", "irregular",
        "user", "same", "a shared variable"
    };

    return kind > 0 && kind <= ADAPT_LAYOUT_SHARED ? names[kind] : names[0];
}

/* The terms that must be the same on all processes. */
static int64_t signature_of(const struct adapt_array *array)
{
    const int64_t numbers[] = { array->layout.kind, array->layout.n, array->layout.block,
        array->layout.rows, array->layout.columns, array->element.size, array->details,
        array->memory.grow != NULL
    };

    return adapt_mix_all(adapt_mix_text(0, array->name), numbers,
                         sizeof(numbers) / sizeof(*numbers));
}

static void describe(const struct adapt_array *array, bool is_moved, char text[AGREEMENT_TEXT])
{
    const MPIX_Adapt_layout *layout = &array->layout;
    char numbers[80] = "";

    if (layout->kind == ADAPT_LAYOUT_GRID)
        snprintf(numbers, sizeof(numbers), "(%" PRId64 ", %" PRId64 ")", layout->rows,
                 layout->columns);
    else if (layout->kind == ADAPT_LAYOUT_BLOCK_CYCLIC)
        snprintf(numbers, sizeof(numbers), "(%" PRId64 ", %" PRId64 ")", layout->n, layout->block);
    else if (layout->n >= 0)
        snprintf(numbers, sizeof(numbers), "(%" PRId64 ")", layout->n);
    if (layout->kind == ADAPT_LAYOUT_SHARED)
        snprintf(text, AGREEMENT_TEXT, "'%.100s' is a shared variable of %" PRId64 " bytes",
                 array->name, layout->n * array->element.size);
    else
        snprintf(text, AGREEMENT_TEXT, "'%.100s' is %s%s of %d bytes each%s%s", array->name,
                 name_of_kind(layout->kind), numbers, array->element.size,
                 array->memory.grow ? " in memory of the program" : "",
                 is_moved ? "" : " and is not moved, or is started already");
}

/* Whether functions of the program have listed its pieces, for this window. */
static bool is_listed(const struct adapt_agree_call *call, const struct adapt_array *array)
{
    return array->layout.kind == ADAPT_LAYOUT_USER ||
        (array->layout.kind == ADAPT_LAYOUT_IRREGULAR && call->has_reported);
}

#define PIECE_NUMBERS 3

/* *count numbers, in memory of adapt_reserve; NULL: out of memory. */
static int64_t *list_pieces(const struct adapt_distribution *distribution, int64_t *count)
{
    int64_t *list = adapt_reserve(PIECE_NUMBERS * distribution->count, sizeof(int64_t));

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

int64_t adapt_arrays_terms(const struct adapt_agree_call *call)
{
    int64_t hash = adapt_mix(adapt_mix(call->data ? call->data->count : 0, call->first), call->end);

    if (call->data && call->kind == ADAPT_CALL_WINDOW)
        hash = adapt_mix(hash, adapt_parts_terms(call->data));
    for (int k = 0; call->data && k < call->data->count; k++) {
        const struct adapt_array *array = call->data->arrays[k];
        hash = adapt_mix(adapt_mix(hash, signature_of(array)), adapt_is_concerned(call, k));
        if (adapt_is_concerned(call, k) && is_listed(call, array))
            hash = mix_pieces(mix_pieces(hash, &array->now), &array->coming);
    }
    return hash;
}

/* ---- differences ----------------------------------------------------------------------------- */

/* Fails if registrations differ; *found: whether they differ. */
static int refuse_registrations(const struct adapt_agree_call *call, bool *found)
{
    enum { COUNT, FIRST, END, HEAD, EACH = 2 };
    const MPIX_Adapt_data data = call->data;
    int64_t numbers[HEAD + EACH * ADAPT_ARRAYS_MAX] =
        { data->count, call->first, call->end }, index;
    char text[AGREEMENT_TEXT], what[40];

    for (int k = 0; k < data->count; k++) {
        numbers[HEAD + EACH * k] = signature_of(data->arrays[k]);
        numbers[HEAD + EACH * k + 1] = adapt_is_concerned(call, k);
    }
    int code = adapt_find_difference(call->channel, numbers, HEAD, &index);
    *found = true;
    if (!code && index >= 0) {
        if (call->end - call->first == 1 && data->count > 1)
            snprintf(text, sizeof(text), "one of %d, '%.100s',", data->count,
                     data->arrays[call->first]->name);
        else
            snprintf(text, sizeof(text), "%d", call->end - call->first);
        return adapt_refuse_difference(call->channel, call->function, "which arrays are moved",
                                       text);
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

/* Fails if the pieces of one world differ; *found: whether they differ. */
static int refuse_pieces(const struct adapt_agree_call *call, const struct adapt_array *array,
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
                 distribution->pieces[k].low, distribution->pieces[k].high,
                 distribution->pieces[k].rank);
    else
        snprintf(text, sizeof(text), "there are %" PRId64 " elements", distribution->n);
    snprintf(what, sizeof(what), "the layout of array '%.100s' for %d processes", array->name,
             distribution->size);
    return adapt_refuse_difference(call->channel, call->function, what, text);
}

/* Fails if objects that are registered beside arrays differ; *found: whether they differ. */
static int refuse_parts(const struct adapt_agree_call *call, bool *found)
{
    const int64_t terms = adapt_parts_terms(call->data);
    char text[AGREEMENT_TEXT];
    int64_t index;

    int code = adapt_find_difference(call->channel, &terms, 1, &index);
    *found = !code && index >= 0;
    if (!*found)
        return code;
    adapt_parts_describe(call->data, text);
    return adapt_refuse_difference(call->channel, call->function,
                                   "what is registered beside arrays", text);
}

int adapt_arrays_refuse(const struct adapt_agree_call *call)
{
    bool found = false;
    int code = call->kind == ADAPT_CALL_WINDOW ? refuse_parts(call, &found) : MPI_SUCCESS;

    if (!code && !found)
        code = refuse_registrations(call, &found);

    for (int k = call->first; !code && !found && k < call->end; k++) {
        const struct adapt_array *array = call->data->arrays[k];
        if (!adapt_is_concerned(call, k) || !is_listed(call, array))
            continue;
        code = refuse_pieces(call, array, &array->now, &found);
        if (!code && !found)
            code = refuse_pieces(call, array, &array->coming, &found);
    }
    return code || found ? code : adapt_fail(MPI_ERR_ARG,
                                  "%s: processes differ in their arrays; nothing" " has moved",
                                  call->function);
}
