/*
 * A program of phases is measured by its phases: the performance variables agree with its own
 * clock, in each world anew.  In an iteration of "solve" rank 0 computes longest, and the others
 * wait for it in MPI; MPI is called from sites of which loops would be found otherwise.  With
 * --watched 1 it stays in "setup", "solve" and "between" until the file of that name exists, for
 * those who observe it from outside.  SPEC-epop M1 to M4, L1.
 */

#include "elastic_test.h"
#include <epop.h>
#include <mpi_epop.h>
#include <unistd.h>

enum { ROUNDS = 25, INNER = 3, LOOPS = 4, MANY = 1000000 };     /* loops: all but the branch */

static struct state {
    int epoch, watched, stop, outputs;
    int rounds;                 /* since the world is as it is */
    /* when that was; seconds in "solve" and in MPI since then */
    double began, executed, mpi;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle loops, loop_time, mpi_time, every;
} state;

static unsigned number(MPI_T_pvar_handle handle)
{
    unsigned value;
    ET_CHECK(MPI_T_pvar_read(state.session, handle, &value) == MPI_SUCCESS,
             "a variable cannot be read");
    return value;
}

static double seconds(MPI_T_pvar_handle handle)
{
    double value;
    ET_CHECK(MPI_T_pvar_read(state.session, handle, &value) == MPI_SUCCESS,
             "a variable cannot be read");
    return value;
}

static void new_world(void)
{
    state.rounds = 0;
    state.executed = state.mpi = 0;
    state.began = et_seconds();
    et_world_changed();
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void check_refused(void)
{
    MPIX_T_EPOP_loop loop = {.id = 1,.kind = MPIX_T_EPOP_ELASTIC,.name = "late" };

    ET_CHECK(MPI_T_enable_EPOP_mode() == MPI_T_ERR_INVALID,
             "the mode changes after initialisation");
    ET_CHECK(MPIX_T_EPOP_loops(1, &loop) == MPI_T_ERR_INVALID, "loops are handed out twice");
    ET_CHECK(MPIX_T_EPOP_iteration(LOOPS, 0, -1) == MPI_T_ERR_INVALID, "there is a loop too many");
    ET_CHECK(MPIX_T_EPOP_iteration(-2, 0, -1) == MPI_T_ERR_INVALID, "there is a loop before all");
}

/* ---- phases --------------------------------------------------------------------------------- */

static int init(int *argn, char ***argc, void **data)
{
    int provided;

    ET_CHECK(MPI_T_enable_EPOP_mode() == MPI_SUCCESS, "the mode is refused before initialisation");
    et_init(argn, argc);
    state.watched = atoi(et_argument(*argn, *argc, "watched", "0"));
    check_refused();
    ET_CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS, "no MPI_T");
    ET_CHECK(MPI_T_pvar_session_create(&state.session) == MPI_SUCCESS, "no session");
    state.loops = et_open_variable(state.session, "adapt_graph_loops");
    state.loop_time = et_open_variable(state.session, "adapt_loop_time");
    state.mpi_time = et_open_variable(state.session, "adapt_mpi_time");
    state.every = et_open_variable(state.session, "adapt_measure_every");
    state.began = et_seconds();
    if (state.watched && et.rank == 0)
        et_log("READY");
    *data = &state;
    return 0;
}

/* M1, M3: from the first iteration on, or after a window from the second, which is the first that
 * lies in this world. */
static void check_first(void)
{
    double loop = seconds(state.loop_time), mpi = seconds(state.mpi_time);
    const int unmeasured = state.epoch > 0;

    if (state.rounds <= unmeasured)
        ET_CHECK(loop == 0 && mpi == 0, "round %d of epoch %d: %g s already, %g s of it in MPI",
                 state.rounds, state.epoch, loop, mpi);
    else if (state.rounds == unmeasured + 1)
        ET_CHECK(loop > 0, "round %d of epoch %d: nothing is measured", state.rounds, state.epoch);
}

static void check_times(void)
{
    double loop = seconds(state.loop_time), mpi = seconds(state.mpi_time);

    ET_CHECK(number(state.loops) == LOOPS, "%u loops", number(state.loops));
    ET_CHECK(loop <= et_seconds() - state.began, "%g s in the phase, of %g", loop,
             et_seconds() - state.began);
    ET_CHECK(mpi <= state.mpi, "%g s in MPI, of %g", mpi, state.mpi);
    if (number(state.every) > 1)
        return;                 /* reading the clock takes long here */
    ET_CHECK(loop > 0.5 * state.executed, "%g s in the phase, only, of %g", loop, state.executed);
    ET_CHECK(et.rank == 0 || mpi > 0.5 * state.mpi, "%g s in MPI, only, of %g", mpi, state.mpi);
}

/* Rank 0 sees the file, and notifies the others. */
static int is_over(const char *phase)
{
    int over = et.rank == 0 && access(phase, F_OK) == 0;

    ET_MPI(MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return over;
}

static void stay_in(const char *phase)
{
    while (state.watched && !is_over(phase))
        et_sleep_ms(20);
}

/* Rigid phases without condition: M4, their time is nobody's. */
static int set_up(void *data)
{
    (void) data;
    stay_in("setup");
    return 0;
}

static int solve(void *data)
{
    double start = et_seconds(), entered;

    (void) data;
    if (!state.watched)
        check_first();
    if (!state.watched && state.rounds == ROUNDS - 1)
        check_times();
    et_sleep_ms(et.rank == 0 ? 6 : 1);
    entered = et_seconds();
    for (int i = 0; i < INNER; i++)
        ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    state.stop = state.watched && is_over("solve");
    state.mpi += et_seconds() - entered;
    state.executed += et_seconds() - start;
    state.rounds++;
    return 0;
}

static int more_solve(void *data)
{
    (void) data;
    return state.watched ? !state.stop : state.rounds % ROUNDS != 0;
}

static int64_t solve_total(void *data)
{
    (void) data;
    return MANY;
}

static int between(void *data)
{
    (void) data;
    stay_in("between");
    et_sleep_ms(5);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    return 0;
}

static int back(int pc, void *data)
{
    (void) data;
    return state.epoch < et.epochs ? pc - 2 : pc + 1;
}

static int output(void *data)
{
    (void) data;
    state.outputs++;
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (et.rank == 0 && state.outputs == 2)
        et_log("PASS epoch=%d size=%d", state.epoch, et.size);
    return 0;
}

static int more_output(void *data)
{
    (void) data;
    return state.outputs < 2;
}

static int redistribute(void *data, const epop_window_t *window)
{
    const int joins = window->status == MPI_ADAPT_STATUS_JOINING;
    const int root = joins ? 0 : window->old_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;

    (void) data;
    if (window->joining > 0)
        ET_MPI(MPI_Bcast(&state.epoch, 1, MPI_INT, root, window->intercomm));
    state.epoch++;
    return 0;
}

/* The first execution in a world derives everything from it again. */
static int solve_anew(void *data)
{
    static int known;

    if (known != state.epoch) {
        known = state.epoch;
        new_world();
    }
    return solve(data);
}

program_t *get_program(void)
{
    static program_element_t elements[] = {
        {.type = INIT,.init = init},
        {.type = RP,.name = "setup",.phase_exec = set_up},
        {.type = EP,.name = "solve",.phase_redistribute = redistribute,.phase_exec = solve_anew,
         .loop_condition = more_solve,.loop_total = solve_total},
        {.type = RP,.name = "between",.phase_exec = between},
        {.type = BRANCH,.name = "back",.branch_condition = back},
        {.type = RP,.name = "output",.phase_exec = output,.loop_condition = more_output}
    };
    static program_t program = {.size = 6,.elements = elements,.name = "measured" };

    return &program;
}
