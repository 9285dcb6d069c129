/*
 * A window in one call (adapt_data.h): opened, everything that is registered moved in one order,
 * closed, and the program's function called in the new world.
 */

#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include "exchange.h"
#include "failure.h"

static const char FUNCTION[] = "MPIX_Adapt_window";

/* ---- functions of the program: a failure on one process is one on all ------------------- */

struct registered {
    struct adapt_part part;
    MPIX_Adapt_call *call;
    void *state;
};

static int call_registered(struct adapt_part *part, const epop_window_t *window)
{
    const struct registered *it = (struct registered *) part;
    const bool is_before = part->kind == ADAPT_PART_BEFORE;
    struct adapt_proposal mine = {.kind = ADAPT_CALL_FUNCTION,.function = FUNCTION,
                                  .object = part->name,
        .error_class = MPI_ERR_OTHER,.moved = is_before ? NULL
            : "what is registered earlier has moved"
    };
    const unsigned failures = adapt_failures();
    struct adapt_channel *channel;
    struct adapt_agreed agreed;
    char text[AGREEMENT_TEXT];

    const int value = it->call(window, it->state);
    if (value) {
        mine.error = text;
        snprintf(text, sizeof(text), "function '%s' has returned %d%s%.200s", part->name, value,
                 adapt_failures() != failures ? ": " : "",
                 adapt_failures() != failures ? MPIX_Adapt_data_message() : "");
    }
    int code = adapt_channel_open(window, &channel);
    if (!code)
        code = adapt_agree_on_call(channel, &mine, &agreed);
    return value ? value : code;
}

static void release_registered(struct adapt_part *part)
{
    free(part);
}

static int register_call(MPIX_Adapt_data data, const char *name, MPIX_Adapt_call *call, void *state,
                         enum adapt_part_kind kind, const char *function)
{
    if (!call)
        return adapt_fail(MPI_ERR_ARG, "%s: call is NULL", function);
    struct registered *made = calloc(1, sizeof(*made));
    if (made)
        *made = (struct registered) {.part = {.kind = kind,.move = call_registered,.release =
                release_registered},.call = call,.state = state
        };
    return adapt_data_take(data, made ? &made->part : NULL, name, function);
}

int MPIX_Adapt_data_call(MPIX_Adapt_data data, const char *name, MPIX_Adapt_call *call, void *state)
{
    return register_call(data, name, call, state, ADAPT_PART_CALL, "MPIX_Adapt_data_call");
}

int MPIX_Adapt_data_before(MPIX_Adapt_data data, const char *name, MPIX_Adapt_call *call,
                           void *state)
{
    return register_call(data, name, call, state, ADAPT_PART_BEFORE, "MPIX_Adapt_data_before");
}

/* ---- the window ------------------------------------------------------------------------------ */

int64_t adapt_parts_terms(const struct MPIX_Adapt_data_s *data)
{
    int64_t terms = 0;

    for (const struct adapt_part * part = data->parts; part; part = part->next)
        terms = adapt_mix_text(adapt_mix(terms, part->kind), part->name);
    return terms;
}

void adapt_parts_describe(const struct MPIX_Adapt_data_s *data, char text[AGREEMENT_TEXT])
{
    int counts[ADAPT_PART_KINDS] = { 0 };

    for (const struct adapt_part * part = data->parts; part; part = part->next)
        counts[part->kind]++;
    snprintf(text, AGREEMENT_TEXT,
             "%d of boxes (MPIX_Adapt_data_boxes), %d of items, %d functions, the first"
             " is '%.80s',", counts[ADAPT_PART_BOXES], counts[ADAPT_PART_ITEMS],
             counts[ADAPT_PART_CALL] + counts[ADAPT_PART_BEFORE],
             data->parts ? data->parts->name : "");
}

/* begins: old and joining processes also agree on the objects that are registered beside arrays. */
static int move_arrays(MPIX_Adapt_data data, const epop_window_t *window, enum adapt_meant meant,
                       bool begins)
{
    data->meant = meant;
    data->begins_window = begins;
    int code = adapt_arrays_move(data, window);
    data->meant = ADAPT_MEANT_ALL;
    data->begins_window = false;
    return code;
}

static int move_parts(MPIX_Adapt_data data, const epop_window_t *window, enum adapt_part_kind kind)
{
    int code = MPI_SUCCESS;

    for (struct adapt_part * part = data->parts; !code && part; part = part->next)
        if (part->kind == kind)
            code = part->move(part, window);
    return code;
}

static bool has_before(MPIX_Adapt_data data)
{
    for (const struct adapt_part * part = data->parts; part; part = part->next)
        if (part->kind == ADAPT_PART_BEFORE)
            return true;
    return false;
}

/* Whether functions of the program, for layouts and memory, are called before the agreement: they
 * may read shared variables. */
static bool calls_program(MPIX_Adapt_data data)
{
    for (int k = 0; k < data->count; k++) {
        const struct adapt_array *array = data->arrays[k];
        const int kind = array->layout.kind;
        if (kind == ADAPT_LAYOUT_USER || kind == ADAPT_LAYOUT_IRREGULAR ||
            (array->memory.grow && kind != ADAPT_LAYOUT_SHARED))
            return true;
    }
    return false;
}

/* One agreement for all arrays, unless functions of the program must be called in between.  The
 * decision is the same on all processes: the first agreement detects different registrations. */
static int move_registered_arrays(MPIX_Adapt_data data, const epop_window_t *window)
{
    int code = MPI_SUCCESS;

    if (has_before(data)) {
        code = adapt_agree(data, window, 0, 0, ADAPT_CALL_WINDOW, NULL, FUNCTION);
        if (!code)
            code = move_parts(data, window, ADAPT_PART_BEFORE);
        if (!code && !calls_program(data))
            return move_arrays(data, window, ADAPT_MEANT_ALL, false);
    } else if (!calls_program(data)) {
        return move_arrays(data, window, ADAPT_MEANT_ALL, true);
    }
    if (!code)
        code = move_arrays(data, window, ADAPT_MEANT_SHARED, !has_before(data));
    return code ? code : move_arrays(data, window, ADAPT_MEANT_OTHERS, false);
}

static int move_all(MPIX_Adapt_data data, const epop_window_t *window)
{
    int code = move_registered_arrays(data, window);

    for (int kind = ADAPT_PART_BEFORE + 1; !code && kind < ADAPT_PART_KINDS; kind++)
        code = move_parts(data, window, (enum adapt_part_kind) kind);
    return code;
}

/* For a window that the program opens and closes itself. */
int adapt_parts_move(MPIX_Adapt_data data, const epop_window_t *window)
{
    static const char function[] = "MPIX_Adapt_data_move";
    char text[200];

    for (const struct adapt_part * part = data->parts; part; part = part->next)
        if (part->renew || part->put) {
            snprintf(text, sizeof(text),
                     "'%.80s' needs the new world, too: only MPIX_Adapt_window and MPIX_Adapt"
                     " move it", part->name);
            return adapt_agree(data, window, 0, 0, ADAPT_CALL_WINDOW, text, function);
        }
    const char *former = adapt_call_as(adapt_called(function));
    int code = move_all(data, window);
    (void) adapt_call_as(former);
    return code;
}

/* All processes are in the same call, and each of its steps has succeeded on all of them.  So the
 * close needs no agreement of its own. */
static int close_window(epop_window_t *window)
{
    struct adapt_channel *channel;

    int code = adapt_channel_open(window, &channel);
    if (!code)
        channel->is_closing = true;
    return code ? code : MPIX_Adapt_window_close(window, NULL);
}

static int open_and_move(MPIX_Adapt_data data, int status, epop_window_t *window)
{
    int code = MPIX_Adapt_window_open(status, window, NULL);

    if (!code)
        code = move_all(data, window);
    if (!code && status == MPI_ADAPT_STATUS_LEAVING) {
        adapt_data_free_types(data);
        adapt_free_bytes_types();
    }
    return code ? code : close_window(window);
}

/* In the new world: the remaining work for the parts, before and after the program's function. */
static int set_up(MPIX_Adapt_data data, const epop_window_t *window, MPIX_Adapt_after *after,
                  void *state)
{
    const bool is_here = window->new_rank >= 0;
    int code = MPI_SUCCESS;

    for (struct adapt_part * part = data->parts; is_here && !code && part; part = part->next)
        if (part->renew)
            code = part->renew(part);
    if (!code && after)
        code = after(window->new_rank, window->new_size, state);
    for (struct adapt_part * part = data->parts; is_here && !code && part; part = part->next)
        if (part->put)
            code = part->put(part);
    return code;
}

int MPIX_Adapt_window(MPIX_Adapt_data data, int status, MPIX_Adapt_after *after, void *state)
{
    epop_window_t window;

    if (!data)
        return adapt_fail(MPI_ERR_ARG, "%s: data is NULL", FUNCTION);
    const char *former = adapt_call_as(adapt_called(FUNCTION));
    int code = open_and_move(data, status, &window);
    if (!code)
        code = set_up(data, &window, after, state);
    (void) adapt_call_as(former);
    return code;
}

int MPIX_Adapt_enter(MPIX_Adapt_data data, int status, MPIX_Adapt_after *after, void *state)
{
    int rank, size;

    if (status == MPI_ADAPT_STATUS_JOINING)
        return MPIX_Adapt_window(data, status, after, state) ? -1 : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return after && after(rank, size, state) ? -1 : 0;
}

int MPIX_Adapt(MPIX_Adapt_data data, MPIX_Adapt_after *after, void *state)
{
    int status;

    if (!MPIX_Adapt_window_probe(&status))
        return 0;
    return MPIX_Adapt_window(data, status, after, state) ? -1 : 1;
}

/* ---- with the default set -------------------------------------------------------------------- */

static MPIX_Adapt_set_up *set_up_of_program;

static int call_set_up(int rank, int size, void *state)
{
    (void) state;
    if (set_up_of_program)
        set_up_of_program(rank, size);
    return 0;
}

int MPIX_Adapt_start(int status, MPIX_Adapt_set_up *set_up)
{
    set_up_of_program = set_up;
    return MPIX_Adapt_enter(MPIX_ADAPT_DEFAULT, status, call_set_up, NULL);
}

int MPIX_Adapt_step(void)
{
    return MPIX_Adapt(MPIX_ADAPT_DEFAULT, call_set_up, NULL);
}
