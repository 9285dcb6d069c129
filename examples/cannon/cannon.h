/*
 * Cannon's algorithm: C = A B for square matrices in blocks on a grid of q x q processes.  Nothing
 * here depends on the program that leads it: cannon_plain.c probes and opens windows itself,
 * cannon_epop.c has the driver epop do that.
 *
 * The entries of A and B are small whole numbers, so that C is exact, and each multiplication makes
 * the next A of its C: what comes out depends on all of them, and on nothing else.
 */

#ifndef CANNON_H_INCLUDED
#define CANNON_H_INCLUDED

#include <adapt_data.h>
#include <stdint.h>

/* The same in all processes. */
struct cannon_progress {
    int64_t multiplications;    /* that are done */
    int64_t adaptations;        /* that have been seen */
};

struct cannon {
    int64_t n;                  /* rows, and columns */
    int64_t multiplications;    /* at least */
    int64_t adaptations;        /* at least: --adaptations */
    /* a multiplication takes so much longer, divided by the processes */
    double sleep_ms;
    int size;                   /* of the world in the last multiplication */
    MPIX_Adapt_layout blocks, everywhere;
    MPI_Datatype progress_type;
    MPIX_Adapt_data data;       /* a, b and progress move by themselves */
    double *a, *b, *c;          /* this process' blocks, by rows; c is made anew each time */
    struct cannon_progress *progress;
};

/* After MPI_Init_adapt: reads the options; a launched process fills its blocks, a joining one
 * (`joins`) gets them in the window.  Returns 0, or 1 after a message. */
int cannon_setup(struct cannon *cannon, int argc, char **argv, int joins);

/* In the window. */
int cannon_move(struct cannon *cannon, const epop_window_t * window);

/* One multiplication. */
int cannon_multiply(struct cannon *cannon);

/* Whether another one follows. */
int cannon_goes_on(const struct cannon *cannon);

/* Rank 0 prints what came out. */
int cannon_report(struct cannon *cannon);

void cannon_free(struct cannon *cannon);

#endif /* CANNON_H_INCLUDED */
