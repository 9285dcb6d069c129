/* See world.h. */

#define EPOP_NO_COMPAT
#include "world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "compat.h"
#include "progress.h"

#define DIFFERENT 2             /* exit code of --check */

static epop_world_t *the_world; /* for epop_world_stop, which the program calls */

static bool mpi_is_up(void)
{
    int initialized = 0, finalized = 0;

    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized && !finalized;
}

void epop_world_prepare(epop_world_t * world, const program_t * program, const char *name)
{
    *world = (epop_world_t) {.program = program,.name = name };
    the_world = world;
    epop_progress_begin(program);
}

void epop_world_exit(void)
{
    if (mpi_is_up())
        MPI_Finalize();
}

/* ---- the end of the job --------------------------------------------------------------------- */

void epop_world_abort(const epop_world_t * world, const epop_fault_t * fault)
{
    char buffer[32], rank_text[48] = "";
    const bool up = mpi_is_up();
    int rank = 0;

    if (up) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        snprintf(rank_text, sizeof(rank_text), " (rank %d, epoch %d)", rank, world->epoch);
    }
    fflush(stdout);
    fprintf(stderr, "epop: %s: element %d (%s): %s%s\n", world->name, fault->pc,
            epop_element_name(world->program, fault->pc, buffer, sizeof(buffer)), fault->what,
            rank_text);
    if (up)
        MPI_Abort(MPI_COMM_WORLD, fault->code);
    exit(fault->code);
}

void epop_world_stop(const char *what)
{
    epop_fault_t fault = {.pc = the_world->where.pc,.code = 1 };

    snprintf(fault.what, sizeof(fault.what), "%s", what);
    epop_world_abort(the_world, &fault);
}

/* ---- --check -------------------------------------------------------------------------------- */

/* The numbers that are compared between processes. */
enum { VALUE, ELEMENT, AFTER, FUNCTION, FIELDS };

/* The ranks whose value differs from that of rank 0, as text: "rank 2: 7 in element 1, rank 3:
 * ...". */
static void list_others(const int64_t * values, int size, char *text, size_t buffer)
{
    size_t at = 0;

    text[0] = '\0';
    for (int rank = 1; rank < size && at + 60 < buffer; rank++) {
        const int64_t *other = values + FIELDS * rank;
        if (memcmp(other, values, FIELDS * sizeof(*values)) != 0)
            at += (size_t) snprintf(text + at, buffer - at, "%srank %d: %" PRId64 " in element %"
                                    PRId64, at ? ", " : "", rank, other[VALUE], other[ELEMENT]);
    }
}

/* All processes exchange their values, and the meaning of these. */
static bool agree(void *state, epop_position_t where, const char *function, int64_t value,
                  epop_fault_t * fault)
{
    int64_t mine[FIELDS] = { value, where.pc, where.iteration, 0 };
    char others[200];
    int size;

    (void) state;
    memcpy(&mine[FUNCTION], function, sizeof(mine[FUNCTION]));  /* its first letters identify it */
    if (!mpi_is_up())
        return true;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int64_t *values = malloc((size_t) size * sizeof(mine));
    if (!values)
        epop_world_stop("no memory to compare values");
    MPI_Allgather(mine, FIELDS, MPI_INT64_T, values, FIELDS, MPI_INT64_T, MPI_COMM_WORLD);
    list_others(values, size, others, sizeof(others));
    if (others[0]) {
        fault->pc = where.pc;
        fault->code = DIFFERENT;
        snprintf(fault->what, sizeof(fault->what), "%s, after %" PRId64 " iterations, is not the"
                 " same on all ranks: rank 0: %" PRId64 " in element %" PRId64 ", %s", function,
                 where.iteration, values[VALUE], values[ELEMENT], others);
    }
    free(values);
    return !others[0];
}

/* ---- probes --------------------------------------------------------------------------------- */

static void mark(void *state, epop_position_t where)
{
    ((epop_world_t *) state)->where = where;
    epop_progress_mark(where);
}

#if defined(MPI_ADAPT_TRUE) && !defined(ADAPT_IS_STUB)

/* The number of the adaptation that the probe has announced. */
static int epoch_of(MPI_Info info)
{
    char text[16] = "0";
    int found = 0;

    if (info != MPI_INFO_NULL)
        MPI_Info_get(info, "epoch", sizeof(text) - 1, text, &found);
    return atoi(text);
}

static bool probe(void *state)
{
    epop_world_t *world = state;
    MPI_Info info = MPI_INFO_NULL;
    int pending = MPI_ADAPT_FALSE;

    if (!world->is_elastic || !mpi_is_up())
        return false;
    if (MPI_Probe_adapt(&pending, &world->status, &info) != MPI_SUCCESS ||
        pending != MPI_ADAPT_TRUE)
        return false;
    world->epoch = epoch_of(info);
    MPI_Info_free(&info);
    return true;
}

/* In a program that has called MPI_Init a probe is an error, which must have no effect. */
static bool first_probe(epop_world_t * world, bool *pending)
{
    MPI_Errhandler handler;
    MPI_Info info = MPI_INFO_NULL;
    int answer = MPI_ADAPT_FALSE;

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Probe_adapt(&answer, &world->status, &info);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    if (code != MPI_SUCCESS)
        return false;
    *pending = answer == MPI_ADAPT_TRUE;
    if (*pending) {
        if (world->status == MPI_ADAPT_STATUS_JOINING)
            world->epoch = epoch_of(info);
        MPI_Info_free(&info);
    }
    return true;
}

/* ---- the window ----------------------------------------------------------------------------- */

enum { MAGIC, STRUCTURE, PC, ITERATION, HEADER };
#define HEADER_MAGIC 0x45504f5057000001 /* changes with the header's form */

/* W1: rank 0 of the old world sends the program's position to the joining processes. */
static bool exchange_header(const epop_world_t * world, epop_window_t * window,
                            epop_fault_t * fault)
{
    const int64_t structure = (int64_t) epop_structure_hash(world->program);
    int64_t header[HEADER] = { HEADER_MAGIC, structure, window->pc, window->iteration };
    const bool joins = window->status == MPI_ADAPT_STATUS_JOINING;
    const int root = joins ? 0 : window->old_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;

    if (window->joining == 0)
        return true;
    MPI_Bcast(header, HEADER, MPI_INT64_T, root, window->intercomm);
    window->pc = (int) header[PC];
    window->iteration = header[ITERATION];
    if (header[MAGIC] == HEADER_MAGIC && header[STRUCTURE] == structure)
        return true;
    fault->pc = 0;
    fault->code = 1;
    snprintf(fault->what, sizeof(fault->what), "this process joins a program of another structure:"
             " it has %016" PRIx64 ", the others have %016" PRIx64, (uint64_t) structure,
             (uint64_t) header[STRUCTURE]);
    return false;
}

static epop_outcome_t fail_window(epop_fault_t * fault, int pc, const char *what)
{
    fault->pc = pc;
    fault->code = 1;
    snprintf(fault->what, sizeof(fault->what), "%s", what);
    return EPOP_FAILED;
}

/* Called in the new world. */
static epop_outcome_t call_after(epop_world_t * world, const epop_window_t * window,
                                 epop_fault_t * fault)
{
    const program_t *program = world->program;
    int value =
        program->after ? program->after(program->data, window->new_rank, window->new_size) : 0;

    return value ? epop_function_failed(fault, window->pc, "after", value) : EPOP_GOES_ON;
}

/* The program's part, and commit.  The window's memory is freed before, because leaving processes
 * end in commit (W5). */
static epop_outcome_t move_and_commit(epop_world_t * world, epop_window_t * window,
                                      epop_fault_t * fault)
{
    const program_element_t *element = &world->program->elements[window->pc];
    const bool driver_commits = element->phase_redistribute;
    const char *wrong = NULL;
    int value;

    if (driver_commits) {
        value = element->phase_redistribute(world->program->data, window);
        MPIX_Adapt_window_clear(window);
        if (value)
            return epop_function_failed(fault, window->pc, "phase_redistribute", value);
        if (MPI_Comm_adapt_commit() != MPI_SUCCESS)
            wrong = "the window cannot be closed: MPI_Comm_adapt_commit has failed";
    } else {
        MPIX_Adapt_window_clear(window);
        epop_compat_open(window);
        value = element->phase_adapt(world->program->data);
        wrong = epop_compat_close();
        if (value)
            return epop_function_failed(fault, window->pc, "phase_adapt", value);
    }
    return wrong ? fail_window(fault, window->pc, wrong) :
        window->status == MPI_ADAPT_STATUS_LEAVING ? EPOP_LEFT : call_after(world, window, fault);
}

static epop_outcome_t window_at(epop_world_t * world, epop_position_t * where, epop_fault_t * fault)
{
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining;
    epop_window_t window;

    if (MPI_Comm_adapt_begin(&intercomm, &new_world, &staying, &leaving, &joining) != MPI_SUCCESS ||
        MPIX_Adapt_window_fill(MPI_COMM_WORLD, intercomm, new_world, world->status, &window) !=
        MPI_SUCCESS)
        return fail_window(fault, where->pc, "the window cannot be opened");
    window.pc = where->pc;
    window.iteration = where->iteration;
    if (!exchange_header(world, &window, fault))
        return EPOP_FAILED;
    *where = world->where = (epop_position_t) {window.pc, window.iteration};
    return move_and_commit(world, &window, fault);
}

static epop_outcome_t window(void *state, epop_position_t where, epop_fault_t * fault)
{
    return window_at(state, &where, fault);
}

epop_outcome_t epop_world_enter(epop_world_t * world, epop_loop_t * loop)
{
    bool pending = false;

    world->is_elastic = mpi_is_up() && first_probe(world, &pending);
    if (!pending || world->status != MPI_ADAPT_STATUS_JOINING)
        return EPOP_GOES_ON;
    loop->fresh = true;
    return window_at(world, &loop->where, &loop->fault);
}

#else

static bool probe(void *state)
{
    (void) state;
    return false;
}

static epop_outcome_t window(void *state, epop_position_t where, epop_fault_t * fault)
{
    (void) state, (void) where, (void) fault;
    return EPOP_GOES_ON;
}

epop_outcome_t epop_world_enter(epop_world_t * world, epop_loop_t * loop)
{
    (void) world, (void) loop;
    return EPOP_GOES_ON;
}

#endif

const epop_surroundings_t *epop_world_surroundings(bool check)
{
    static const epop_surroundings_t plain = { mark, probe, window, NULL };
    static const epop_surroundings_t checked = { mark, probe, window, agree };

    return check ? &checked : &plain;
}
