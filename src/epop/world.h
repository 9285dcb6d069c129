/*
 * The driver's view of MPI: probes, windows, and the end of the job.  SPEC-epop W1 to W6, P6, P7,
 * and P5's --check.  With an MPI that has no adaptations (stock MPICH) there is no probe and no
 * window.
 *
 * State: one epop_world_t for the process, owned by the driver; one thread.
 */

#ifndef EPOP_WORLD_H_INCLUDED
#define EPOP_WORLD_H_INCLUDED

#include "loop.h"

typedef struct {
    const program_t *program;
    const char *name;           /* of the program, for messages */
    bool is_elastic;            /* probes may be made */
    int status;                 /* of this process, as the last probe returned */
    int epoch;                  /* of the last adaptation that this process has seen; 0: none */
    epop_position_t where;         /* present position */
} epop_world_t;

/* Before INIT. */
void epop_world_prepare(epop_world_t * world, const program_t * program, const char *name);

/* After INIT: determines whether the program is elastic.  On a joining process this is its window;
 * afterwards loop->where is the position to continue at, and loop->fresh is set. */
epop_outcome_t epop_world_enter(epop_world_t * world, epop_loop_t * loop);

/* `state` is an epop_world_t.  With `check`, values are compared. */
const epop_surroundings_t *epop_world_surroundings(bool check);

/* P7: one line on standard error; ends the job with fault->code. */
void epop_world_abort(const epop_world_t * world, const epop_fault_t * fault)
    __attribute__ ((noreturn));

/* The same, for an error in the present element.  Exit code 1. */
void epop_world_stop(const char *what) __attribute__ ((noreturn));

/* Calls MPI_Finalize if it has not been called. */
void epop_world_exit(void);

#endif /* EPOP_WORLD_H_INCLUDED */
