/*
 * A rectangular plate of varying material, and the heat in it, spread over the processes of a
 * communicator in blocks of rows.
 *
 * Each cell has a temperature, a conductivity in (0, 1], and may be held at its temperature (a
 * source or a sink).  A step is one explicit Jacobi sweep; the border is insulated.  Each new value
 * is computed by one expression from the old values of the same five cells, wherever a block begins
 * and ends: the field is bit for bit the same for any number of processes.
 */

#ifndef PLATE_H_INCLUDED
#define PLATE_H_INCLUDED

#include <mpi.h>
#include <stddef.h>
#include "image.h"

struct plate {
    /* the same on all processes */
    int width, height;
    int iteration;              /* sweeps done */
    double start;               /* MPI_Wtime of this process when the first one began */
    /* the block of this process: rows first .. end-1 of the plate; may be empty */
    int first, end;
    /* arrays of (end - first + 2) rows of width + 2: a row or column of neighbours all around.  Row
     * `first` is row 1.  The outside of the plate conducts nothing. */
    double *temperature, *next;
    double *material;           /* conductivity, negative where the temperature is held */
    double *east, *south;       /* conductance of a cell's face to the next column, row */
    double *rate;               /* time step, 0 where held */
};

/* Block rows: the first row of a rank, and the rank that owns a row.  Some processes own no row if
 * there are more processes than rows. */
int plate_first_row(int rank, int size, int height);
int plate_owner(int row, int size, int height);

static inline size_t plate_stride(const struct plate *plate)
{
    return (size_t) plate->width + 2;
}

/* Gives the arrays of the block first .. end-1, all zero; ends the program if memory is short. */
void plate_allocate(struct plate *plate, int first, int end);
void plate_free(struct plate *plate);
/* Takes arrays of the same size for what was allocated; NULL: a block without rows keeps its
 * own. */
void plate_put(struct plate *plate, double *temperature, double *material);

/* This process' rows of a picture: red is the temperature, green the conductivity, and blue above a
 * half holds the cell.  A gray picture is the temperature alone. */
void plate_from_image(struct plate *plate, const struct image *image);

/* Computes faces and rates from material; to be called whenever `material` has changed. */
void plate_prepare(struct plate *plate, MPI_Comm comm);

/* One sweep, and iteration + 1. */
void plate_step(struct plate *plate, MPI_Comm comm);

/* The temperatures of the whole plate, height rows of width, on rank 0 (malloc'ed), else NULL. */
double *plate_gather(const struct plate *plate, MPI_Comm comm);

#endif /* PLATE_H_INCLUDED */
