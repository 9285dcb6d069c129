/*
 * The driver's loop over the elements of a program: SPEC-epop E2, E3, P3 to P5.  It does not use
 * MPI: it queries the world through epop_surroundings_t, which the unit tests simulate.
 *
 * State: one epop_loop_t, owned by the caller, for one run of a program.  `where` is the position
 * that is, or would be, executed next; the function that opens a window sends it to the joining
 * processes, and sets it on these.
 */

#ifndef EPOP_LOOP_H_INCLUDED
#define EPOP_LOOP_H_INCLUDED

#include "program.h"

typedef struct {
    int pc;
    int64_t iteration;          /* of this phase, from 0 at each entry */
} epop_position_t;

typedef enum {
    EPOP_GOES_ON,
    EPOP_ENDED,                 /* the last element is done */
    EPOP_LEFT,                  /* this process has left the world */
    EPOP_FAILED                 /* `fault` states why */
} epop_outcome_t;

/* The fault that ends the job. */
typedef struct {
    int pc;
    int code;                   /* exit code */
    char what[400];             /* what happened, after the name of the element */
} epop_fault_t;

typedef struct {
    /* NULL, or called before each iteration of a phase: the program continues at `where`. */
    void (*mark) (void *state, epop_position_t where);
    /* Whether an adaptation is agreed on, by all processes of the world. */
    bool (*probe) (void *state);
    /* The adaptation, on a pre-existing process: from begin to commit. */
     epop_outcome_t(*window) (void *state, epop_position_t where, epop_fault_t * fault);
    /* NULL, or (--check): whether all processes have the same value here. */
     bool(*agree) (void *state, epop_position_t where, const char *function, int64_t value,
                   epop_fault_t * fault);
} epop_surroundings_t;

typedef struct {
    const program_t *program;
    const epop_surroundings_t *around;
    void *state;                /* argument of the surroundings' functions */
    bool check;                 /* the array of elements must remain as it is */
    epop_position_t where;         /* {1, 0}, or the position of a joining process' window */
    /* a window has just ended: the next iteration begins without a probe */
    bool fresh;
    epop_fault_t fault;
    uint64_t elements_sum;      /* internal */
} epop_loop_t;

/* Runs until the program ends, this process leaves, or an error occurs. */
epop_outcome_t epop_loop_run(epop_loop_t * loop);

/* `function` of element `pc` has returned `value`, which is not 0.  The exit code is never 0. */
epop_outcome_t epop_function_failed(epop_fault_t * fault, int pc, const char *function, int value);

#endif /* EPOP_LOOP_H_INCLUDED */
