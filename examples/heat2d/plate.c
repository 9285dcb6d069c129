/* Purpose: see plate.h.  Compile without contraction to fused multiply-add (-ffp-contract=off), so
 * that vectorised and left-over cells are rounded alike. */

#include "plate.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_DOWN = 1, TAG_UP };

#define TIME_STEP 0.24          /* stable below 1/4 with conductances up to 1 */

int plate_first_row(int rank, int size, int height)
{
    return (int) ((long long) height * rank / size);
}

int plate_owner(int row, int size, int height)
{
    return (int) (((long long) (row + 1) * size - 1) / height);
}

static double *zeros(size_t count)
{
    double *array = calloc(count, sizeof(double));
    if (!array) {
        fprintf(stderr, "heat2d: not enough memory for %zu cells\n", count);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return array;
}

void plate_allocate(struct plate *plate, int first, int end)
{
    size_t cells = (size_t) (end - first + 2) * plate_stride(plate);
    plate->first = first;
    plate->end = end;
    plate->temperature = zeros(cells);
    plate->next = zeros(cells);
    plate->material = zeros(cells);
    plate->east = zeros(cells);
    plate->south = zeros(cells);
    plate->rate = zeros(cells);
}

void plate_free(struct plate *plate)
{
    free(plate->temperature);
    free(plate->next);
    free(plate->material);
    free(plate->east);
    free(plate->south);
    free(plate->rate);
}

void plate_put(struct plate *plate, double *temperature, double *material)
{
    if (!temperature)
        return;
    free(plate->temperature);
    free(plate->material);
    plate->temperature = temperature;
    plate->material = material;
}

void plate_from_image(struct plate *plate, const struct image *image)
{
    for (int row = plate->first; row < plate->end; row++) {
        size_t at = (size_t) (row - plate->first + 1) * plate_stride(plate) + 1;
        const unsigned char *pixel = image->rgb + 3 * (size_t) row * (size_t) plate->width;
        for (int column = 0; column < plate->width; column++, at++, pixel += 3) {
            double conductivity = image->gray ? 1.0 : (pixel[1] + 1) / 256.0;
            int held = !image->gray && pixel[2] > 127;
            plate->temperature[at] = pixel[0] / 255.0;
            plate->material[at] = held ? -conductivity : conductivity;
        }
    }
}

/* Waits without keeping a core from the process that we wait for: where processes share cores, as
 * after growing beyond the machine, a library that polls would use up its time slices in vain. */
static void wait_all(int count, MPI_Request requests[4])
{
    int done = 0;
    MPI_Status statuses[4];     /* not used; gcc warns of MPI_STATUSES_IGNORE's length */
    while (!done) {
        MPI_Testall(count, requests, &done, statuses);
        if (!done)
            sched_yield();
    }
}

/* Fills the rows around the block from the neighbours that own them. */
static void exchange(const struct plate *plate, double *array, MPI_Comm comm)
{
    int rows = plate->end - plate->first, width = plate->width, size, count = 0;
    size_t stride = plate_stride(plate);
    MPI_Request requests[4];

    if (rows == 0)
        return;
    MPI_Comm_size(comm, &size);
    if (plate->first > 0) {
        int above = plate_owner(plate->first - 1, size, plate->height);
        MPI_Irecv(array + 1, width, MPI_DOUBLE, above, TAG_DOWN, comm, &requests[count++]);
        MPI_Isend(array + stride + 1, width, MPI_DOUBLE, above, TAG_UP, comm, &requests[count++]);
    }
    if (plate->end < plate->height) {
        int below = plate_owner(plate->end, size, plate->height);
        double *last = array + (size_t) rows * stride;
        MPI_Irecv(last + stride + 1, width, MPI_DOUBLE, below, TAG_UP, comm, &requests[count++]);
        MPI_Isend(last + 1, width, MPI_DOUBLE, below, TAG_DOWN, comm, &requests[count++]);
    }
    wait_all(count, requests);
}

/* Two half cells in series. */
static double face(double a, double b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    return a == 0 || b == 0 ? 0 : 2 * a * b / (a + b);
}

void plate_prepare(struct plate *plate, MPI_Comm comm)
{
    size_t stride = plate_stride(plate), rows = (size_t) (plate->end - plate->first);
    const double *material = plate->material;

    exchange(plate, plate->material, comm);
    for (size_t row = 0; row <= rows; row++)
        for (size_t at = row * stride; at < row * stride + stride - 1; at++) {
            plate->east[at] = face(material[at], material[at + 1]);
            plate->south[at] = face(material[at], material[at + stride]);
            plate->rate[at] = material[at] < 0 ? 0 : TIME_STEP;
        }
}

static void sweep_row(const struct plate *plate, size_t row)
{
    size_t width = (size_t) plate->width, stride = plate_stride(plate), start = row * stride + 1;
    const double *restrict here = plate->temperature + start;
    const double *restrict above = here - stride, *restrict below = here + stride;
    const double *restrict east = plate->east + start;
    const double *restrict south = plate->south + start, *restrict north = south - stride;
    const double *restrict rate = plate->rate + start;
    double *restrict next = plate->next + start;

    for (size_t i = 0; i < width; i++) {
        double vertical = north[i] * (above[i] - here[i]) + south[i] * (below[i] - here[i]);
        double sideways = east[i - 1] * (here[i - 1] - here[i]) + east[i] * (here[i + 1] - here[i]);
        next[i] = here[i] + rate[i] * (vertical + sideways);
    }
}

void plate_step(struct plate *plate, MPI_Comm comm)
{
    exchange(plate, plate->temperature, comm);
    for (size_t row = 1; row <= (size_t) (plate->end - plate->first); row++)
        sweep_row(plate, row);
    double *old = plate->temperature;
    plate->temperature = plate->next;
    plate->next = old;
    plate->iteration++;
}

double *plate_gather(const struct plate *plate, MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);

    /* in units of plate rows, so that the counts stay small; a row in memory is wider */
    MPI_Datatype inner, padded, row;
    MPI_Type_contiguous(plate->width, MPI_DOUBLE, &row);
    MPI_Type_contiguous(plate->width, MPI_DOUBLE, &inner);
    MPI_Type_create_resized(inner, 0, (MPI_Aint) (plate_stride(plate) * sizeof(double)), &padded);
    MPI_Type_commit(&row);
    MPI_Type_commit(&padded);

    double *field = NULL;
    int *counts = NULL, *starts = NULL;
    if (rank == 0) {
        field = zeros((size_t) plate->width * (size_t) plate->height);
        counts = calloc(2 * (size_t) size, sizeof(int));
        if (!counts)
            MPI_Abort(MPI_COMM_WORLD, 1);
        starts = counts + size;
        for (int r = 0; r < size; r++) {
            starts[r] = plate_first_row(r, size, plate->height);
            counts[r] = plate_first_row(r + 1, size, plate->height) - starts[r];
        }
    }
    MPI_Gatherv(plate->temperature + plate_stride(plate) + 1, plate->end - plate->first, padded,
                field, counts, starts, row, 0, comm);
    free(counts);
    MPI_Type_free(&row);
    MPI_Type_free(&inner);
    MPI_Type_free(&padded);
    return field;
}
