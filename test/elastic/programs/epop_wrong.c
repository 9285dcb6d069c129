/*
 * A program of the driver epop that does what it must not: --what states which.  SPEC-epop P1, P3
 * to P7, W2, W4.  The rank that is wrong is 1, or all.  Without a window in it, it is wrong after
 * one adaptation.
 */

#include "elastic_test.h"
#include <epop.h>
#include <unistd.h>

static const char *what;
static program_element_t elements[5];

static int is(const char *name)
{
    return strcmp(what, name) == 0;
}

static int init(int *argn, char ***argc, void **data)
{
    (void) data;
    what = et_argument(*argn, *argc, "what", "nothing");
    if (is("init"))
        return 7;
    if (is("no_mpi") || is("no_mpi_fails"))
        return 0;
    if (is("rigid"))
        MPI_Init(argn, argc);
    else
        et_init(argn, argc);
    MPI_Comm_rank(MPI_COMM_WORLD, &et.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &et.size);
    if (is("structure") && et.rank == 0 && et.status == MPI_ADAPT_STATUS_NEW)
        et_log("READY");
    return 0;
}

/* Begins although no window is open. */
static void begin(void)
{
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining;

    MPI_Comm_adapt_begin(&intercomm, &new_world, &staying, &leaving, &joining);
}

/* Phases are wrong from here on. */
static int is_time(void)
{
    return et.epoch > 0;
}

static int work(void *data)
{
    (void) data;
    et.step++;
    if (is_time())
        et_world_changed();
    if (is("no_mpi") || is("rigid"))
        return 0;
    if (is("no_mpi_fails"))
        return 512;     /* would be taken for success */
    et_idle();
    if (is("exec") && is_time() && et.rank == 1 && et.step == 3)
        return 9;
    if (is("changes") && is_time() && et.step == 2)
        elements[2].name = "changed";
    if (is("outside") && is_time() && et.step == 2)
        begin();
    ET_CHECK(et.step < 60000, "nothing has happened");
    return 0;
}

static int goes_on(void *data)
{
    (void) data;
    if (is("no_mpi") || is("rigid"))
        return et.step < 5;
    if (is("loop") && is_time() && et.rank == 1 && et.step == 3)
        return 0;
    return !is_time() || et.step < 5;
}

static int64_t total(void *data)
{
    (void) data;
    return is("total") && is_time() && et.rank == 1 ? 6 : 5;
}

static int redistribute(void *data, const epop_window_t *window)
{
    (void) data, (void) window;
    et.epoch = 1;
    et.step = 0;
    return is("window") ? 11 : 0;
}

static int after(void *data, int new_rank, int new_size)
{
    (void) data, (void) new_rank, (void) new_size;
    return is("after") ? 12 : 0;
}

static int adapt(void *data)
{
    (void) data;
    if (is("no_begin"))
        return 0;
    if (is("commit_alone"))
        return MPI_Comm_adapt_commit();
    begin();
    if (is("twice"))
        begin();
    return 0;   /* no commit */
}

static int branch(int pc, void *data)
{
    (void) data;
    if (is("branch") && et.rank == 1)
        return pc + 2;
    return is("back_to_init") ? 0 : is("beyond") ? 6 : pc + 1;
}

static int last(void *data)
{
    (void) data;
    if (et.rank == 0)
        et_log("PASS %s %ld", what, et.step);
    return 0;
}

program_t *get_program(void)
{
    static program_t program = {.size = 5,.elements = elements,.after = after };
    const int seeds_style = access("seeds_style", F_OK) == 0;

    elements[0] = (program_element_t) {.type = INIT,.init = init };
    elements[1] = (program_element_t) {.type = EP,.name = "work",.phase_exec = work,
        .loop_condition = access("no_condition", F_OK) == 0 ? NULL : goes_on,.loop_total = total,
        .phase_adapt = seeds_style ? adapt : NULL,
        .phase_redistribute = seeds_style ? NULL : redistribute
    };
    elements[2] = (program_element_t) {.type = BRANCH,.branch_condition = branch };
    elements[3] = (program_element_t) {.type = RP,.phase_exec = last,
        .name = access("other", F_OK) == 0 ? "another" : "last"
    };
    elements[4] = (program_element_t) {.type = RP,.phase_exec = last };
    program.size = 4 + (access("five", F_OK) == 0);
    return &program;
}
