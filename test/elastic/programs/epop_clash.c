/*
 * An archive with a global variable that has the name of a function of libc: the driver refuses it
 * and names both, instead of a program that ends by a signal.  SPEC-epop E1.
 */

#include <epop.h>

int error = 0;

static int init(int *argn, char ***argc, void **data)
{
    int status;

    *data = &error;
    return MPI_Init_adapt(argn, argc, &status);
}

static int work(void *data)
{
    (void) data;
    error++;
    return 0;
}

program_t *get_program(void)
{
    static program_t *program;

    epop_alloc_phases(&program, 2);
    program->elements[0] = (program_element_t) {.type = INIT,.init = init };
    program->elements[1] = (program_element_t) {.type = RP,.phase_exec = work };
    return program;
}
