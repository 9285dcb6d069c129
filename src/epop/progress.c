/* See progress.h. */

#include "progress.h"

#include <mpi.h>
#if defined(MPI_ADAPT_TRUE) && !defined(ADAPT_IS_STUB)

#include <mpi_epop.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ROOM 32            /* of an element without a name */

static struct {
    const program_t *program;
    int *loop_of;               /* loop of each element; NULL: nothing is reported */
} progress;

static bool is_loop(const program_element_t * element)
{
    return element->type == EPOP_EP || (element->type == EPOP_RP && element->loop_condition);
}

static bool is_once(const program_element_t * element)
{
    return element->type == EPOP_RP && !element->loop_condition;
}

static uint32_t kind_of(const program_element_t * element)
{
    return element->type == EPOP_EP ? MPIX_T_EPOP_ELASTIC :
        is_once(element) ? MPIX_T_EPOP_ONCE : MPIX_T_EPOP_RIGID;
}

/* Never 0; the pc is part of it, so that it is unique. */
static uint64_t loop_id(const program_t * program, int pc)
{
    uint64_t id = (epop_structure_hash(program) ^ (uint64_t) pc) * UINT64_C(0x9e3779b97f4a7c15);

    return id ? id : 1;
}

struct found {
    MPIX_T_EPOP_loop loop[MPIX_T_EPOP_LOOPS_MAX];
    char buffer[MPIX_T_EPOP_LOOPS_MAX][NAME_ROOM];
    int count;
};

/* Adds fitting elements in their order, as long as there is space. */
static void add_those(const program_t * program, bool(*fits) (const program_element_t * element),
                      struct found *found)
{
    for (int pc = 1; pc < program->size; pc++) {
        const program_element_t *element = &program->elements[pc];
        if (!fits(element) || found->count == MPIX_T_EPOP_LOOPS_MAX)
            continue;
        found->loop[found->count] = (MPIX_T_EPOP_loop) {
            .id = loop_id(program, pc),.element = (uint32_t) pc,.kind = kind_of(element),
            .name = epop_element_name(program, pc, found->buffer[found->count], NAME_ROOM)
        };
        progress.loop_of[pc] = found->count++;
    }
}

/* Lists the first loops of the program, then, if there is space, the rigid phases without
 * condition, which are not measured; further ones are not reported. */
static void find_loops(const program_t * program, struct found *found)
{
    found->count = 0;
    for (int pc = 0; pc < program->size; pc++)
        progress.loop_of[pc] = MPIX_T_EPOP_NO_LOOP;
    add_those(program, is_loop, found);
    add_those(program, is_once, found);
}

void epop_progress_begin(const program_t * program)
{
    struct found found;

    progress.program = program;
    progress.loop_of = malloc((size_t) program->size * sizeof(int));
    if (!progress.loop_of)
        return;
    find_loops(program, &found);
    if (MPI_T_enable_EPOP_mode() != MPI_SUCCESS ||
        MPIX_T_EPOP_loops(found.count, found.loop) != MPI_SUCCESS) {
        free(progress.loop_of);
        progress.loop_of = NULL;
    }
}

/* The number of iterations to come; -1: not known. */
static int64_t total_of(const program_element_t * element)
{
    if (is_once(element))
        return 1;
    return element->loop_total ? element->loop_total(progress.program->data) : -1;
}

void epop_progress_mark(epop_position_t where)
{
    const program_element_t *element = &progress.program->elements[where.pc];

    if (progress.loop_of)
        MPIX_T_EPOP_iteration(progress.loop_of[where.pc], where.iteration, total_of(element));
}

#else

void epop_progress_begin(const program_t * program)
{
    (void) program;
}

void epop_progress_mark(epop_position_t where)
{
    (void) where;
}

#endif
