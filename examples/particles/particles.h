/*
 * Particles that repel each other at short range, in a box with walls.  The box is cut into columns
 * of cells; each process has consecutive columns and the particles in them.  There are more
 * particles on the left than on the right, so columns are dealt out by how many are in them: at
 * launch, and in each window.  Nothing here depends on the program that leads it: particles_plain.c
 * probes and opens windows itself, particles_epop.c has the driver epop do that.
 *
 * The forces on a particle are added up in the order of cells and particles, whoever has them, so
 * places and speeds have the same bits for any history of the world.
 */

#ifndef PARTICLES_H_INCLUDED
#define PARTICLES_H_INCLUDED

#include <adapt_items.h>
#include <stdint.h>

enum { COLUMNS = 32, ROWS = 12 };       /* cells, as long as particles see */

struct particle {
    double position[2], speed[2], force[2];
    int64_t number;
};

/* The same in all processes. */
struct progress {
    int64_t step;
    int64_t adaptations;        /* that have been seen */
    double energy;              /* at the beginning */
};

struct simulation {
    int64_t n;                  /* particles in all */
    int64_t steps, adaptations; /* at least */
    double sleep_ms;            /* a step takes so much longer, divided by the processes */
    /* adaptations when the number of processes was printed; -1: never */
    int64_t reported;
    int *first;                 /* of each rank, and the end: its first column */
    int *coming;                /* the same in the new world, in the window */
    int64_t count, capacity;        /* this process' particles */
    struct particle *particles;
    /* of each own column: particles that it has had, summed up over all steps */
    int64_t *visits;
    double potential;           /* this process' share, after the last step */
    struct progress *progress;
    MPIX_Adapt_data data;       /* visits and progress */
    MPI_Datatype particle_type, progress_type;
};

/* After MPI_Init_adapt: reads the options; a joining process (`joins`) gets everything in the
 * window.  All functions return 0, or 1 after a message. */
int particles_setup(struct simulation *simulation, int argc, char **argv, int joins);
int particles_step(struct simulation *simulation);
int particles_goes_on(const struct simulation *simulation);
/* In the window: columns are dealt out anew, by the particles in them. */
int particles_move(struct simulation *simulation, const epop_window_t *window);
/* Checks what has come out; rank 0 prints it. */
int particles_result(struct simulation *simulation);
void particles_free(struct simulation *simulation);

#endif /* PARTICLES_H_INCLUDED */
