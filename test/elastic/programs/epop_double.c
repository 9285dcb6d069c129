/*
 * Two elastic phases, in the form that was published for EPOP: elements filled one by one, the
 * initial function in phase_exec, phase_adapt that begins and commits, a last rigid phase that
 * finalises (SPEC-epop H1, A1 to A3).  plain_double.c is the same program without EPOP; what both
 * print is the same for the same schedule.
 */

#include <epop.h>
#include <stdlib.h>
#include "double_phases.h"

typedef struct {
    int status, rank, size;
    struct double_phases phases;
} appdata_t;

static int init(int *argn, char ***argc, void **data)
{
    appdata_t *appdata = calloc(1, sizeof(appdata_t));

    double_options(&appdata->phases, *argn, *argc);
    MPI_Init_adapt(NULL, NULL, &((*appdata).status));
    MPI_Comm_rank(MPI_COMM_WORLD, &((*appdata).rank));
    MPI_Comm_size(MPI_COMM_WORLD, &((*appdata).size));
    *data = (void *) appdata;
    return 0;
}

static int adapt(void *data)
{
    appdata_t *appdata = data;
    MPI_Comm intercomm, new;
    int staying_count, leaving_count, joining_count;

    MPI_Comm_adapt_begin(&intercomm, &new, &staying_count, &leaving_count, &joining_count);
    MPI_Comm_adapt_commit();
    double_share(&appdata->phases);
    return 0;
}

static int phase0(void *data)
{
    return double_pass(&((appdata_t *) data)->phases, 0);
}

static int phase0_condition(void *data)
{
    return double_goes_on(&((appdata_t *) data)->phases);
}

static int phase1(void *data)
{
    return double_pass(&((appdata_t *) data)->phases, 1);
}

static int phase1_condition(void *data)
{
    return double_goes_on(&((appdata_t *) data)->phases);
}

static int fini(void *data)
{
    double_end(&((appdata_t *) data)->phases);
    MPI_Finalize();
    free(data);
    return 0;
}

program_t *get_program(void)
{
    program_t *program = malloc(sizeof(program_t));
    int (*first) (int *, char ***, void **) = init;

    epop_alloc_phases(&program, 4);
    program->elements[0].type = INIT;
    /* what `phase_exec = init` does, which compilers warn of */
    *(int (**)(int *, char ***, void **)) &program->elements[0].phase_exec = first;
    program->elements[1].type = EP;
    program->elements[1].phase_adapt = adapt;
    program->elements[1].phase_exec = phase0;
    program->elements[1].loop_condition = phase0_condition;
    program->elements[2].type = EP;
    program->elements[2].phase_adapt = adapt;
    program->elements[2].phase_exec = phase1;
    program->elements[2].loop_condition = phase1_condition;
    program->elements[3].type = RP;
    program->elements[3].phase_exec = fini;
    program->elements[3].loop_condition = NULL;
    return program;
}
