/*
 * Cannon's algorithm as phases:
 *     mpiexec -n 4 --adapt-schedule 9,1 epop ./cannon --adaptations 2
 */

#include <epop.h>
#include "cannon.h"

static struct cannon state;

static int init(int *argc, char ***argv, void **data)
{
    int status;

    MPI_Init_adapt(argc, argv, &status);
    *data = &state;
    return cannon_setup(&state, *argc, *argv, status == MPI_ADAPT_STATUS_JOINING);
}

static int move(void *data, const epop_window_t *window)
{
    return cannon_move(data, window);
}

static int multiply(void *data)
{
    return cannon_multiply(data);
}

static int goes_on(void *data)
{
    return cannon_goes_on(data);
}

static int64_t total(void *data)
{
    return ((struct cannon *) data)->multiplications;
}

static int report(void *data)
{
    int failed = cannon_report(data);

    cannon_free(data);
    return failed;
}

program_t *get_program(void)
{
    static program_element_t elements[] = {
        {.type = INIT,.init = init},
        {.type = EP,.name = "multiply",.phase_redistribute = move,.phase_exec = multiply,
         .loop_condition = goes_on,.loop_total = total},
        {.type = RP,.name = "report",.phase_exec = report}
    };
    static program_t program = {.size = 3,.elements = elements,.name = "cannon" };

    return &program;
}
