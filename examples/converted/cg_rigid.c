/*
 * Conjugate gradients on an unstructured mesh: vertices with random numbers, each with the vertices
 * around it, split by a partition.  The matrix is in compressed rows; columns have local numbers,
 * those of other processes' rows (ghosts) after the own.  Sums are of whole multiples of 2^-40, so
 * results have the same bits for any number of processes.
 *
 *     mpiexec -n P cg_rigid [STEPS [SIDE]]        a mesh of SIDE * SIDE vertices; writes cg.history
 */

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 6, TAG = 3 };

static int steps = 100, side = 30, every = 10, step;
static double rho;              /* the same everywhere */
static FILE *history;           /* of rank 0 */
static int rank, size;

/* ---- the mesh: input that every process can compute ------------------------------------------ */

static int vertices(void)
{
    return side * side;
}

/* Vertex at (x, y) has a number that has nothing to do with its neighbours'. */
static int number_at(int x, int y)
{
    int64_t stride = 7919;

    while (vertices() % stride == 0 || stride % 2 == 0)
        stride++;
    return (int) ((y * side + x) * stride % vertices());
}

static void coordinates_of(int number, int *x, int *y)
{
    static int *positions, filled;

    if (filled != side) {
        positions = realloc(positions, (size_t) vertices() * sizeof(*positions));
        for (int k = 0; k < vertices(); k++)
            positions[number_at(k % side, k / side)] = k;
        filled = side;
    }
    *x = positions[number] % side;
    *y = positions[number] / side;
}

/* Triangles: six around. */
static int neighbours_of(int number, int found[AROUND])
{
    static const int dx[AROUND] = { -1, 1, 0, 0, -1, 1 }, dy[AROUND] = { 0, 0, -1, 1, 1, -1 };
    int x, y, count = 0;

    coordinates_of(number, &x, &y);
    for (int k = 0; k < AROUND; k++)
        if (x + dx[k] >= 0 && x + dx[k] < side && y + dy[k] >= 0 && y + dy[k] < side)
            found[count++] = number_at(x + dx[k], y + dy[k]);
    return count;
}

/* Slanted stripes, with rough edges. */
static int partition(int number, int processes)
{
    int x, y;

    coordinates_of(number, &x, &y);
    const int along = 2 * x + y + number % 3;
    const int part = (int) ((int64_t) along * processes / (3 * side));
    return part < processes ? part : processes - 1;
}

/* ---- the matrix ------------------------------------------------------------------------------ */

static int64_t rows;            /* of this process */
static int *global;             /* their numbers */
static int *first;              /* [rows + 1] entries of each */
static int *column;             /* local numbers of entries */
static double *value;
static double *x, *r, *p, *q;   /* one for each row; p also for each ghost */

static void *allocate(int64_t count, size_t bytes)
{
    void *memory = calloc((size_t) count + 1, bytes);

    if (!memory) {
        fprintf(stderr, "cg: no memory for %lld elements\n", (long long) count);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* Rows of this process, in the order of their numbers; columns have global numbers still. */
static void assemble(void)
{
    int found[AROUND], entries = 0;

    rows = 0;
    for (int number = 0; number < vertices(); number++)
        rows += partition(number, size) == rank;
    global = allocate(rows, sizeof(*global));
    first = allocate(rows + 1, sizeof(*first));
    column = allocate(rows * (AROUND + 1), sizeof(*column));
    value = allocate(rows * (AROUND + 1), sizeof(*value));
    rows = 0;
    for (int number = 0; number < vertices(); number++) {
        if (partition(number, size) != rank)
            continue;
        const int count = neighbours_of(number, found);
        column[entries] = number;
        value[entries++] = 0.01 + count;
        for (int k = 0; k < count; k++) {
            column[entries] = found[k];
            value[entries++] = -1;
        }
        global[rows++] = number;
        first[rows] = entries;
    }
}

static void first_values(void)
{
    x = allocate(rows, sizeof(*x));
    r = allocate(rows, sizeof(*r));
    for (int64_t i = 0; i < rows; i++)
        r[i] = 0.25 + 0.001 * (global[i] % 17);
}

/* ---- ghosts ---------------------------------------------------------------------------------- */

struct halo {
    int ghosts;
    int *global;                /* [ghosts] by owner, then by number */
    int *receive, *send;        /* [size] how many from and to each process */
    int *send_rows;             /* local numbers, process by process */
    int sends;
};

static struct halo halo;

static int compare_ghosts(const void *a, const void *b)
{
    const int one = *(const int *) a, other = *(const int *) b;
    const int owner = partition(one, size), others_owner = partition(other, size);

    return owner != others_owner ? (owner > others_owner) - (owner < others_owner)
        : (one > other) - (one < other);
}

static int compare_numbers(const void *a, const void *b)
{
    return (*(const int *) a > *(const int *) b) - (*(const int *) a < *(const int *) b);
}

static void list_ghosts(void)
{
    halo.global = allocate(first[rows], sizeof(int));
    halo.ghosts = 0;
    for (int k = 0; k < first[rows]; k++)
        if (partition(column[k], size) != rank)
            halo.global[halo.ghosts++] = column[k];
    qsort(halo.global, (size_t) halo.ghosts, sizeof(int), compare_ghosts);
    int count = 0;
    for (int k = 0; k < halo.ghosts; k++)
        if (count == 0 || halo.global[k] != halo.global[count - 1])
            halo.global[count++] = halo.global[k];
    halo.ghosts = count;
}

static int local_of(int number)
{
    const int *found = partition(number, size) == rank ?
        bsearch(&number, global, (size_t) rows, sizeof(int), compare_numbers) :
        bsearch(&number, halo.global, (size_t) halo.ghosts, sizeof(int), compare_ghosts);

    return found >= global &&found <
        global +rows ? (int) (found - global) : (int) (rows + (found - halo.global));
}

/* Processes exchange the rows that they need from each other. */
static void exchange_needs(void)
{
    int *receive_at = allocate(size, sizeof(int)), *send_at = allocate(size, sizeof(int));

    halo.receive = allocate(size, sizeof(int));
    halo.send = allocate(size, sizeof(int));
    for (int k = 0; k < halo.ghosts; k++)
        halo.receive[partition(halo.global[k], size)]++;
    MPI_Alltoall(halo.receive, 1, MPI_INT, halo.send, 1, MPI_INT, MPI_COMM_WORLD);
    halo.sends = 0;
    for (int k = 0; k < size; k++) {
        receive_at[k] = k == 0 ? 0 : receive_at[k - 1] + halo.receive[k - 1];
        send_at[k] = halo.sends;
        halo.sends += halo.send[k];
    }
    halo.send_rows = allocate(halo.sends, sizeof(int));
    MPI_Alltoallv(halo.global, halo.receive, receive_at, MPI_INT, halo.send_rows, halo.send,
                  send_at, MPI_INT, MPI_COMM_WORLD);
    for (int k = 0; k < halo.sends; k++)
        halo.send_rows[k] = local_of(halo.send_rows[k]);
    free(receive_at);
    free(send_at);
}

/* From global numbers of columns to local ones, and room for ghosts. */
static void localize(void)
{
    list_ghosts();
    exchange_needs();
    for (int k = 0; k < first[rows]; k++)
        column[k] = local_of(column[k]);
    p = realloc(p, (size_t) (rows + halo.ghosts + 1) * sizeof(*p));
    q = realloc(q, (size_t) (rows + 1) * sizeof(*q));
}

static void free_halo(void)
{
    free(halo.global);
    free(halo.receive);
    free(halo.send);
    free(halo.send_rows);
    memset(&halo, 0, sizeof(halo));
}

static void update_ghosts(double *of)
{
    double *sent = allocate(halo.sends, sizeof(double));
    MPI_Request *requests = allocate(2 * size, sizeof(MPI_Request));
    int count = 0, at = 0;

    for (int k = 0, from = (int) rows; k < size; from += halo.receive[k++])
        if (halo.receive[k] > 0)
            MPI_Irecv(of + from, halo.receive[k], MPI_DOUBLE, k, TAG, MPI_COMM_WORLD,
                      &requests[count++]);
    for (int k = 0; k < halo.sends; k++)
        sent[k] = of[halo.send_rows[k]];
    for (int k = 0; k < size; at += halo.send[k++])
        if (halo.send[k] > 0)
            MPI_Isend(sent + at, halo.send[k], MPI_DOUBLE, k, TAG, MPI_COMM_WORLD,
                      &requests[count++]);
    while (count > 0)
        MPI_Wait(&requests[--count], MPI_STATUS_IGNORE);
    free(requests);
    free(sent);
}

/* ---- conjugate gradients --------------------------------------------------------------------- */

static double dot(const double *a, const double *b)
{
    int64_t mine = 0, sum;

    for (int64_t i = 0; i < rows; i++)
        mine += llround(ldexp(a[i] * b[i], 40));
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return ldexp((double) sum, -40);
}

static void multiply(void)
{
    update_ghosts(p);
    for (int64_t i = 0; i < rows; i++) {
        q[i] = 0;
        for (int k = first[i]; k < first[i + 1]; k++)
            q[i] += value[k] * p[column[k]];
    }
}

static void begin_solver(void)
{
    memcpy(p, r, (size_t) rows * sizeof(*p));
    rho = dot(r, r);
}

/* Begins again where nothing is left. */
static void iterate(void)
{
    multiply();
    const double below = dot(p, q), alpha = below > 0 ? rho / below : 0;
    for (int64_t i = 0; i < rows; i++) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
    }
    const double next = dot(r, r), beta = rho > 0 ? next / rho : 0;
    for (int64_t i = 0; i < rows; i++)
        p[i] = r[i] + beta * p[i];
    rho = next;
    step++;
    if (rho < 1e-9) {
        for (int64_t i = 0; i < rows; i++)
            r[i] = 0.25 + 0.001 * ((global[i] + step) % 17);
        begin_solver();
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

static void open_history(void)
{
    if (rank == 0)
        history = fopen("cg.history", "w");
}

static void write_history(void)
{
    if (rank == 0)
        fprintf(history, "%6d %.12e\n", step, rho);
}

static void report(void)
{
    uint64_t mine = 0, sum, bits;

    for (int64_t i = 0; i < rows; i++) {
        memcpy(&bits, &x[i], sizeof(bits));
        mine += bits * (uint64_t) (2 * global[i] + 1);
    }
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("result %d %016llx\n", step, (unsigned long long) sum);
    if (history)
        fclose(history);
}

static void free_all(void)
{
    free_halo();
    free(global);
    free(first);
    free(column);
    free(value);
    free(x);
    free(r);
    free(p);
    free(q);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    steps = argc > 1 ? atoi(argv[1]) : steps;
    side = argc > 2 ? atoi(argv[2]) : side;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    assemble();
    localize();
    first_values();
    begin_solver();
    open_history();
    while (step < steps) {
        iterate();
        if (step % every == 0)
            write_history();
    }
    report();
    free_all();
    MPI_Finalize();
    return 0;
}
