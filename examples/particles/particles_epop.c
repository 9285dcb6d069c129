/*
 * Particles as phases:
 *     mpiexec -n 2 --adapt-schedule 4,1 epop ./particles --adaptations 2
 */

#include <epop.h>
#include "particles.h"

static struct simulation state;

static int init(int *argc, char ***argv, void **data)
{
    int status;

    MPI_Init_adapt(argc, argv, &status);
    *data = &state;
    return particles_setup(&state, *argc, *argv, status == MPI_ADAPT_STATUS_JOINING);
}

static int move(void *data, const epop_window_t *window)
{
    return particles_move(data, window);
}

static int step(void *data)
{
    return particles_step(data);
}

static int goes_on(void *data)
{
    return particles_goes_on(data);
}

static int end(void *data)
{
    const int failed = particles_result(data);

    particles_free(data);
    return failed;
}

program_t *get_program(void)
{
    static program_element_t elements[] = {
        {.type = INIT,.init = init},
        {.type = EP,.name = "steps",.phase_redistribute = move,.phase_exec = step,
         .loop_condition = goes_on},
        {.type = RP,.name = "end",.phase_exec = end}
    };
    static program_t program = {.size = 3,.elements = elements,.name = "particles" };

    return &program;
}
