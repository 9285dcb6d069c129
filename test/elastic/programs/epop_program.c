/*
 * A program of the driver epop: two elastic phases, the first with phase_redistribute, the second
 * with phase_adapt, a branch back, and a rigid phase.  Windows come at any iteration of both.  Its
 * data is an array in blocks and what all processes share, both registered with adapt_data.h.  In
 * each iteration every element is compared with what it must be, and all processes with each other:
 * what they have executed, and how often (E3).  `after` comes once with each window.  SPEC-epop P2,
 * P3, E2, E3, W1, W3 to W6.
 */

#include "elastic_test.h"
#include <epop.h>
#include <adapt_data.h>

enum { SOLVE = 1, SMOOTH, BACK, OUTPUT, ELEMENTS };
enum { SOLVE_TIMES = 7, SMOOTH_TIMES = 5, OUTPUT_TIMES = 3, CELLS = 101 };

/* The same in all processes. */
enum { EPOCH, STEP, STEPS_SOLVED, EXECUTED, SHARED = EXECUTED + ELEMENTS };

struct state {
    MPIX_Adapt_data data;
    uint64_t *cells;
    int64_t *shared;
    double last;                /* when this process has seen an adaptation */
    int64_t after_epoch;        /* the epoch for which `after` was called last */
};

static MPIX_Adapt_layout cells_layout, shared_layout;
static MPI_Datatype shared_type;

/* ---- what must be --------------------------------------------------------------------------- */

static uint64_t expected(const int64_t *shared, int64_t i)
{
    uint64_t number = (uint64_t) i + 1;

    return number * (uint64_t) shared[STEPS_SOLVED] +
        number * number * (uint64_t) shared[EXECUTED + SMOOTH];
}

static void check_cells(const struct state *state)
{
    int64_t first = 0, count = MPIX_Layout_range(&cells_layout, et.rank, et.size, &first);

    for (int64_t at = 0; at < count; at++)
        ET_CHECK(state->cells[at] == expected(state->shared, first + at), "cell %lld at step %lld",
                 (long long) (first + at), (long long) state->shared[STEP]);
}

static void check_others(const struct state *state)
{
    int64_t lowest[SHARED], highest[SHARED];

    ET_MPI(MPI_Allreduce(state->shared, lowest, SHARED, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    ET_MPI(MPI_Allreduce(state->shared, highest, SHARED, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
    for (int k = 0; k < SHARED; k++)
        ET_CHECK(lowest[k] == highest[k], "value %d is %lld to %lld", k, (long long) lowest[k],
                 (long long) highest[k]);
}

/* ---- phases --------------------------------------------------------------------------------- */

static int init(int *argn, char ***argc, void **data)
{
    struct state *state = calloc(1, sizeof(*state));

    et_init(argn, argc);
    ET_MPI(MPI_Type_contiguous(SHARED, MPI_INT64_T, &shared_type));
    ET_MPI(MPI_Type_commit(&shared_type));
    cells_layout = MPIX_Layout_block(CELLS);
    shared_layout = MPIX_Layout_same(1);
    ET_MPI(MPIX_Adapt_data_create(&state->data));
    ET_MPI(MPIX_Adapt_data_add(state->data, "cells", (void **) &state->cells, MPI_UINT64_T,
                               &cells_layout, NULL, NULL));
    ET_MPI(MPIX_Adapt_data_add(state->data, "shared", (void **) &state->shared, shared_type,
                               &shared_layout, NULL, NULL));
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        int64_t first;
        state->cells =
            calloc(1 + (size_t) MPIX_Layout_range(&cells_layout, et.rank, et.size, &first),
                   sizeof(uint64_t));
        state->shared = calloc(SHARED, sizeof(int64_t));
    }
    state->last = et_seconds();
    *data = state;
    return 0;
}

/* Each execution of a phase begins with it. */
static void begin_phase(struct state *state, int pc)
{
    et_world_changed();
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        et_log("JOINED epoch=%d rank=%d", et.epoch, et.rank);
    et.status = MPI_ADAPT_STATUS_STAYING;
    ET_CHECK(et_seconds() < state->last + et.patience_s, "no adaptation %d", et.epoch + 1);
    ET_CHECK(state->after_epoch == state->shared[EPOCH], "after was called for epoch %lld of %lld",
             (long long) state->after_epoch, (long long) state->shared[EPOCH]);
    check_cells(state);
    state->shared[STEP]++;
    state->shared[EXECUTED + pc]++;
    check_others(state);
    et_idle();
}

static int solve(void *data)
{
    struct state *state = data;
    int64_t first, count;

    begin_phase(state, SOLVE);
    count = MPIX_Layout_range(&cells_layout, et.rank, et.size, &first);
    state->shared[STEPS_SOLVED] += state->shared[STEP];
    for (int64_t at = 0; at < count; at++)
        state->cells[at] += (uint64_t) (first + at + 1) * (uint64_t) state->shared[STEP];
    return 0;
}

static int smooth(void *data)
{
    struct state *state = data;
    int64_t first, count;

    begin_phase(state, SMOOTH);
    count = MPIX_Layout_range(&cells_layout, et.rank, et.size, &first);
    for (int64_t at = 0; at < count; at++)
        state->cells[at] += (uint64_t) ((first + at + 1) * (first + at + 1));
    return 0;
}

static int output(void *data)
{
    struct state *state = data;

    begin_phase(state, OUTPUT);
    if (state->shared[EXECUTED + OUTPUT] < OUTPUT_TIMES)
        return 0;
    if (et.rank == 0)
        et_log("PASS epoch=%d size=%d", (int) state->shared[EPOCH], et.size);
    ET_MPI(MPIX_Adapt_data_free(&state->data));
    free(state->cells);
    MPI_Type_free(&shared_type);
    return 0;
}

static int more_solve(void *data)
{
    return ((struct state *) data)->shared[EXECUTED + SOLVE] % SOLVE_TIMES != 0;
}

static int more_smooth(void *data)
{
    return ((struct state *) data)->shared[EXECUTED + SMOOTH] % SMOOTH_TIMES != 0;
}

static int more_output(void *data)
{
    return ((struct state *) data)->shared[EXECUTED + OUTPUT] < OUTPUT_TIMES;
}

static int64_t solve_total(void *data)
{
    (void) data;
    return SOLVE_TIMES;
}

static int back(int pc, void *data)
{
    return ((struct state *) data)->shared[EPOCH] < et.epochs ? pc - 2 : pc + 1;
}

/* ---- the window ----------------------------------------------------------------------------- */

static int move(struct state *state, const epop_window_t *window)
{
    et.status = window->status;
    if (window->status != MPI_ADAPT_STATUS_JOINING)
        et.epoch = (int) state->shared[EPOCH];
    ET_MPI(MPIX_Adapt_data_move(state->data, window));
    state->last = et_seconds();
    if (window->status != MPI_ADAPT_STATUS_LEAVING)
        et.epoch = (int) ++state->shared[EPOCH];
    return 0;
}

static int redistribute(void *data, const epop_window_t *window)
{
    struct state *state = data;
    int size;

    ET_CHECK(window->pc == SOLVE, "element %d", window->pc);
    move(state, window);
    if (window->status == MPI_ADAPT_STATUS_LEAVING)
        return 0;
    ET_CHECK(window->iteration == state->shared[EXECUTED + SOLVE] % SOLVE_TIMES, "iteration %lld",
             (long long) window->iteration);
    ET_MPI(MPI_Comm_size(window->new_world, &size));
    ET_CHECK(size == window->new_size &&
             size == window->staying + window->joining, "size %d", size);
    return 0;
}

static int adapt(void *data)
{
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining;
    epop_window_t window;

    ET_MPI(MPI_Comm_adapt_begin(&intercomm, &new_world, &staying, &leaving, &joining));
    if (et.status != MPI_ADAPT_STATUS_JOINING)
        et.status = new_world == MPI_COMM_NULL ? MPI_ADAPT_STATUS_LEAVING
            : MPI_ADAPT_STATUS_STAYING;
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, intercomm, new_world, et.status, &window));
    ET_CHECK(window.staying == staying && window.leaving == leaving && window.joining == joining,
             "counts %d %d %d", staying, leaving, joining);
    move(data, &window);
    MPIX_Adapt_window_clear(&window);
    ET_MPI(MPI_Comm_adapt_commit());
    return 0;
}

/* Once after each window, in the new world, before any phase. */
static int after(void *data, int new_rank, int new_size)
{
    struct state *state = data;
    int64_t lowest;
    int rank, size;

    ET_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    ET_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    ET_CHECK(rank == new_rank &&
             size == new_size, "after is called with rank %d of %d", new_rank, new_size);
    ET_CHECK(state->after_epoch < state->shared[EPOCH], "after is called twice");
    state->after_epoch = state->shared[EPOCH];
    ET_MPI(MPI_Allreduce(&state->after_epoch, &lowest, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD));
    ET_CHECK(lowest == state->after_epoch, "after is called in epochs %lld and %lld",
             (long long) lowest, (long long) state->after_epoch);
    return 0;
}

static int leave(void *data)
{
    struct state *state = data;

    ET_CHECK(!state->cells && !state->shared, "a leaving process has data");
    et_log("GOODBYE");
    return 0;
}

program_t *get_program(void)
{
    static program_element_t elements[] = {
        {.type = INIT,.name = "init",.init = init},
        {.type = EP,.name = "solve",.phase_redistribute = redistribute,.phase_exec = solve,
         .loop_condition = more_solve,.loop_total = solve_total},
        {.type = EP,.name = "smooth",.phase_adapt = adapt,.phase_exec = smooth,
         .loop_condition = more_smooth},
        {.type = BRANCH,.name = "back",.branch_condition = back},
        {.type = RP,.name = "output",.phase_exec = output,.loop_condition = more_output}
    };
    static program_t program = {.size = ELEMENTS,.elements = elements,.name = "phases",
                                .leave = leave,
        .after = after
    };

    return &program;
}
