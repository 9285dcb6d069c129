/*
 * Gaussian elimination as phases:
 *     mpiexec -n 2 --adapt-schedule 4,1 epop ./gauss --adaptations 2
 */

#include <epop.h>
#include "gauss.h"

static struct gauss state;

static int init(int *argc, char ***argv, void **data)
{
    int status;

    MPI_Init_adapt(argc, argv, &status);
    *data = &state;
    return gauss_setup(&state, *argc, *argv, status == MPI_ADAPT_STATUS_JOINING);
}

static int refill(void *data)
{
    return gauss_refill(data);
}

static int move(void *data, const epop_window_t *window)
{
    return gauss_move(data, window);
}

static int eliminate(void *data)
{
    return gauss_eliminate(data);
}

static int has_columns(void *data)
{
    return gauss_has_columns(data);
}

static int64_t columns(void *data)
{
    return ((struct gauss *) data)->n;
}

static int substitute(void *data)
{
    return gauss_substitute(data);
}

static int has_rows(void *data)
{
    return gauss_has_rows(data);
}

enum { REFILL = 1, END = 6 };

static int next_system(int pc, void *data)
{
    return gauss_goes_on(data) ? REFILL : pc + 1;
}

static int end(void *data)
{
    gauss_free(data);
    return 0;
}

program_t *get_program(void)
{
    static program_element_t elements[END] = {
        {.type = INIT,.init = init},
        {.type = RP,.name = "refill",.phase_exec = refill},
        {.type = EP,.name = "eliminate",.phase_redistribute = move,.phase_exec = eliminate,
         .loop_condition = has_columns,.loop_total = columns},
        {.type = RP,.name = "substitute",.phase_exec = substitute,.loop_condition = has_rows,
         .loop_total = columns},
        {.type = BRANCH,.name = "next system",.branch_condition = next_system},
        {.type = RP,.name = "end",.phase_exec = end}
    };
    static program_t program = {.size = END,.elements = elements,.name = "gauss" };

    return &program;
}
