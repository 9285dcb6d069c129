/* See driver.h. */

#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include "world.h"

#define NO_PROGRAM 2            /* exit code */

/* For a leaving process that has returned from commit (MPIR_CVAR_ADAPT_LEAVERS_RETURN): W5. */
static int take_leave(program_t * program)
{
    int value = program->leave ? program->leave(program->data) : 0;

    epop_world_exit();
    return value;
}

int epop_drive(program_t * program, int argc, char **argv, bool check)
{
    const char *name = argc > 0 ? argv[0] : "program";
    epop_world_t world;
    epop_loop_t loop = {.program = program,.around = epop_world_surroundings(check),
        .state = &world,.check = check,.where = {1, 0}
    };

    epop_world_prepare(&world, program, name);
    int value = epop_program_init(program, &argc, &argv, &program->data);
    epop_outcome_t outcome = value ? epop_function_failed(&loop.fault, 0, "init", value) :
        epop_world_enter(&world, &loop);
    if (outcome == EPOP_GOES_ON)
        outcome = epop_loop_run(&loop);
    if (outcome == EPOP_FAILED)
        epop_world_abort(&world, &loop.fault);
    if (outcome == EPOP_LEFT)
        return take_leave(program);
    epop_world_exit();
    return 0;
}

/* A linked program has its own options: EPOP_CHECK=1 in its environment replaces the command's
 * --check. */
static bool is_check_requested(void)
{
    const char *word = getenv("EPOP_CHECK");

    return word && strcmp(word, "1") == 0;
}

int epop_main(int argc, char **argv, program_t * (*get) (void))
{
    char why[300];
    program_t *program = get();

    if (!epop_program_is_whole(program, why, sizeof(why))) {
        fprintf(stderr, "epop: %s: %s\n", argc > 0 ? argv[0] : "program", why);
        return NO_PROGRAM;
    }
    return epop_drive(program, argc, argv, is_check_requested());
}
