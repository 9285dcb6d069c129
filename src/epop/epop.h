/*
 * EPOP: elastic-phase oriented programs.  A program is an array of phases and branches; a driver
 * runs them, probes for adaptations before each iteration of an elastic phase, and leads joining
 * processes to the position where the others are.  Names as published in the dissertation that
 * README.elastic names (chapter 7).
 *
 *     mpicc -shared -fPIC program.c -o program.epop       the archive, with get_program in it
 *     mpiexec -n 4 epop ./program ARGUMENTS
 *
 * or `return epop_main(argc, argv, get_program);` in a program linked with -lepop -ladapt_data.
 *
 * A function of the program returns 0, anything else ends the job with that exit code.  Conditions,
 * loop_total and branches must give the same value on all processes of the world.  C and C++; in
 * C++ there is epop.hpp, too.  EPOP_NO_SHORT_NAMES leaves out INIT, EP, RP and BRANCH.
 */

#ifndef EPOP_H_INCLUDED
#define EPOP_H_INCLUDED

#include <mpi.h>
#include <stdint.h>
#include "adapt_window.h"       /* epop_window_t */

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with the structures below.  The driver refuses archives with another number. */
#define EPOP_ABI 2
extern const int epop_archive_abi __attribute__ ((weak, visibility("default")));
const int epop_archive_abi = EPOP_ABI;

enum { EPOP_INIT = 1, EPOP_EP, EPOP_RP, EPOP_BRANCH };
#ifndef EPOP_NO_SHORT_NAMES
#define INIT EPOP_INIT
#define EP EPOP_EP
#define RP EPOP_RP
#define BRANCH EPOP_BRANCH
#endif

typedef struct program_element {
    int type;
    const char *name;           /* NULL: "element N" */

    /* INIT, element 0 and no other: called once in each process, launched or joining.  It makes the
     * data and calls MPI_Init_adapt.  On joining processes it must not communicate with others. */
    int (*init) (int *argn, char ***argc, void **data);

    /* EP, one of the two: what happens in the window.  phase_redistribute moves the data while the
     * driver has opened the window, and closes it.  phase_adapt calls MPI_Comm_adapt_begin and
     * MPI_Comm_adapt_commit itself; it is not used if there is phase_redistribute. */
    int (*phase_adapt) (void *data);
    int (*phase_redistribute) (void *data, const epop_window_t * window);

    /* EP, RP: one iteration.  It is executed at least once, then as long as loop_condition is not
     * 0.  RP: loop_condition may be NULL, which means once. */
    int (*phase_exec) (void *data);
    int (*loop_condition) (void *data);

    /* BRANCH: the next element, 1 to the number of elements, which ends the program. */
    int (*branch_condition) (int pc, void *data);

    /* EP, RP; may be NULL: number of all iterations, -1 if that is not known. */
    int64_t (*loop_total) (void *data);
} program_element_t;

typedef struct {
    void *data;
    int size;                   /* elements */
    program_element_t *elements;        /* not changed while the program runs */
    const char *name;           /* NULL: that of the archive */
    /* May be NULL: called on a leaving process after the window if
     * MPIR_CVAR_ADAPT_LEAVERS_RETURN=1. */
    int (*leave) (void *data);
    /* May be NULL: called after each window on all processes of the new world, before anything else
     * of the program: for communicators, neighbours and what else follows from rank and size (of
     * MPI_COMM_WORLD). */
    int (*after) (void *data, int new_rank, int new_size);
} program_t;

/* Gives *program `count` elements; all fields of it and of them are 0 otherwise.  *program is NULL
 * or space for a program.  Returns 0, or 1 if there is no memory or count is not positive. */
int epop_alloc_phases(program_t ** program, int count);

/* The one entry of an archive. */
program_t *get_program(void) __attribute__ ((visibility("default")));

/* Runs the program that `get` gives; returns the exit code.  2: it is not a program. */
int epop_main(int argc, char **argv, program_t * (*get) (void));

/* Begin and commit within phase_adapt: they hand out the window that the driver has opened, once,
 * and close it. */
int epop_adapt_begin(MPI_Comm * intercomm, MPI_Comm * new_comm_world, int *staying_count,
                     int *leaving_count, int *joining_count);
int epop_adapt_commit(void);
#ifndef EPOP_NO_COMPAT
#define MPI_Comm_adapt_begin epop_adapt_begin
#define MPI_Comm_adapt_commit epop_adapt_commit
#endif

#ifdef __cplusplus
}
#endif

#endif /* EPOP_H_INCLUDED */
