/* See progress.h. */

#include "progress.h"

#include <mpi.h>
#ifdef MPI_ADAPT_TRUE

#include <mpi_epop.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ROOM 32            /* of an element without a name */

static struct {
    const program_t *program;
    int *loop_of;               /* of each element; NULL: nothing is told */
} progress;

static bool is_loop(const program_element_t * element)
{
    return element->type == EPOP_EP || (element->type == EPOP_RP && element->loop_condition);
}

/* Never 0; its pc is part of it, so that it is of this loop alone. */
static uint64_t loop_id(const program_t * program, int pc)
{
    uint64_t id = (epop_structure_hash(program) ^ (uint64_t) pc) * UINT64_C(0x9e3779b97f4a7c15);

    return id ? id : 1;
}

/* The first loops of the program; those behind are not told apart from what is no loop. */
static int find_loops(const program_t * program, MPIX_T_EPOP_loop * loops,
                      char (*rooms)[NAME_ROOM])
{
    int count = 0;

    for (int pc = 0; pc < program->size; pc++) {
        const program_element_t *element = &program->elements[pc];
        progress.loop_of[pc] = MPIX_T_EPOP_NO_LOOP;
        if (!is_loop(element) || count == MPIX_T_EPOP_LOOPS_MAX)
            continue;
        loops[count] = (MPIX_T_EPOP_loop) {
            .id = loop_id(program, pc),.element = (uint32_t) pc,
            .kind = element->type == EPOP_EP ? MPIX_T_EPOP_ELASTIC : MPIX_T_EPOP_RIGID,
            .name = epop_element_name(program, pc, rooms[count], NAME_ROOM)
        };
        progress.loop_of[pc] = count++;
    }
    return count;
}

void epop_progress_begin(const program_t * program)
{
    MPIX_T_EPOP_loop loops[MPIX_T_EPOP_LOOPS_MAX];
    char rooms[MPIX_T_EPOP_LOOPS_MAX][NAME_ROOM];

    progress.program = program;
    progress.loop_of = malloc((size_t) program->size * sizeof(int));
    if (!progress.loop_of || MPI_T_enable_EPOP_mode() != MPI_SUCCESS ||
        MPIX_T_EPOP_loops(find_loops(program, loops, rooms), loops) != MPI_SUCCESS) {
        free(progress.loop_of);
        progress.loop_of = NULL;
    }
}

void epop_progress_mark(epop_place_t where)
{
    const program_element_t *element = &progress.program->elements[where.pc];

    if (progress.loop_of)
        MPIX_T_EPOP_iteration(progress.loop_of[where.pc], where.iteration,
                              element->loop_total ? element->loop_total(progress.program->data) : -1);
}

#else

void epop_progress_begin(const program_t * program)
{
    (void) program;
}

void epop_progress_mark(epop_place_t where)
{
    (void) where;
}

#endif
