/*
 * A program of the driver epop for any MPI: where there are no adaptations it is never interrupted
 * (SPEC-epop E4).
 */

#include <epop.h>
#include <stdio.h>

static int steps;

static int init(int *argn, char ***argc, void **data)
{
    *data = &steps;
#ifdef MPI_ADAPT_TRUE
    int status;
    return MPI_Init_adapt(argn, argc, &status);
#else
    return MPI_Init(argn, argc);
#endif
}

static int work(void *data)
{
    ++*(int *) data;
    return MPI_Barrier(MPI_COMM_WORLD);
}

static int goes_on(void *data)
{
    return *(int *) data < 10;
}

static int redistribute(void *data, const epop_window_t * window)
{
    return MPI_Bcast(data, 1, MPI_INT, 0, window->new_world);
}

static int last(void *data)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        printf("PASS %d %d\n", size, *(int *) data);
    return 0;
}

program_t *get_program(void)
{
    static program_element_t elements[] = {
        {.type = INIT,.init = init},
        {.type = EP,.phase_exec = work,.loop_condition = goes_on,
         .phase_redistribute = redistribute},
        {.type = RP,.phase_exec = last}
    };
    static program_t program = {.size = 3,.elements = elements };

    return &program;
}
