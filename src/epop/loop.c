/* See loop.h. */

#include "loop.h"

#include <inttypes.h>

#define WRONG_PROGRAM 2         /* exit code */

epop_outcome_t epop_function_failed(epop_fault_t * fault, int pc, const char *function, int value)
{
    fault->pc = pc;
    fault->code = (value & 255) ? value : 1;    /* a shell sees the lowest byte */
    snprintf(fault->what, sizeof(fault->what), "%s returned %d", function, value);
    return EPOP_FAILED;
}

static const program_element_t *element_of(const epop_loop_t * loop)
{
    return &loop->program->elements[loop->where.pc];
}

static bool agree(epop_loop_t * loop, const char *function, int64_t value)
{
    return !loop->around->agree ||
        loop->around->agree(loop->state, loop->where, function, value, &loop->fault);
}

/* P3: the program must not change its elements. */
static bool is_unchanged(epop_loop_t * loop)
{
    if (!loop->check || epop_elements_sum(loop->program) == loop->elements_sum)
        return true;
    loop->fault.pc = loop->where.pc;
    loop->fault.code = WRONG_PROGRAM;
    snprintf(loop->fault.what, sizeof(loop->fault.what),
             "the array of elements has changed while the program runs");
    return false;
}

/* ---- phases --------------------------------------------------------------------------------- */

/* Executes the adaptations before this iteration.  A joining process comes from the window, and the
 * others continue as it does, without another probe (E3). */
static epop_outcome_t adapt(epop_loop_t * loop)
{
    epop_outcome_t outcome = EPOP_GOES_ON;

    if (!loop->fresh && loop->around->probe(loop->state))
        outcome = loop->around->window(loop->state, loop->where, &loop->fault);
    loop->fresh = false;
    return outcome;
}

static epop_outcome_t execute(epop_loop_t * loop)
{
    const program_element_t *element = element_of(loop);
    epop_outcome_t outcome = EPOP_GOES_ON;

    if (loop->around->mark)
        loop->around->mark(loop->state, loop->where);
    if (element->type == EPOP_EP)
        outcome = adapt(loop);
    if (outcome != EPOP_GOES_ON)
        return outcome;
    /* here, because joining processes also execute this */
    if (element->loop_total && loop->around->agree &&
        !agree(loop, "loop_total", element->loop_total(loop->program->data)))
        return EPOP_FAILED;
    int value = element->phase_exec(loop->program->data);
    if (value)
        return epop_function_failed(&loop->fault, loop->where.pc, "phase_exec", value);
    return is_unchanged(loop) ? EPOP_GOES_ON : EPOP_FAILED;
}

static epop_outcome_t run_phase(epop_loop_t * loop)
{
    const program_element_t *element = element_of(loop);
    bool again = true;

    while (again) {
        epop_outcome_t outcome = execute(loop);
        if (outcome != EPOP_GOES_ON)
            return outcome;
        loop->where.iteration++;
        again = element->loop_condition && element->loop_condition(loop->program->data);
        if (element->loop_condition && !agree(loop, "loop_condition", again))
            return EPOP_FAILED;
    }
    loop->where = (epop_position_t) {loop->where.pc + 1, 0};
    return EPOP_GOES_ON;
}

/* ---- branches ------------------------------------------------------------------------------- */

static epop_outcome_t run_branch(epop_loop_t * loop)
{
    int pc = element_of(loop)->branch_condition(loop->where.pc, loop->program->data);

    if (!agree(loop, "branch_condition", pc) || !is_unchanged(loop))
        return EPOP_FAILED;
    if (pc < 1 || pc > loop->program->size) {
        loop->fault.pc = loop->where.pc;
        loop->fault.code = WRONG_PROGRAM;
        snprintf(loop->fault.what, sizeof(loop->fault.what),
                 "branch_condition has returned element %d; valid are 1 to %d, where %d ends the "
                 "program", pc, loop->program->size, loop->program->size);
        return EPOP_FAILED;
    }
    loop->where = (epop_position_t) {pc, 0};
    return EPOP_GOES_ON;
}

epop_outcome_t epop_loop_run(epop_loop_t * loop)
{
    loop->elements_sum = loop->check ? epop_elements_sum(loop->program) : 0;
    while (loop->where.pc < loop->program->size) {
        epop_outcome_t outcome = element_of(loop)->type == EPOP_BRANCH ?
            run_branch(loop) : run_phase(loop);
        if (outcome != EPOP_GOES_ON)
            return outcome;
    }
    return EPOP_ENDED;
}
