/*
 * Molecular dynamics: atoms with a Lennard-Jones potential in a periodic box, in link cells as wide
 * as the potential reaches.  Each process has a block of cells and a layer of its neighbours'
 * around it; a cell has SLOTS slots.
 *
 *     mpiexec -n P md_rigid [STEPS [CELLS [ATOMS]]]       CELLS along each axis, ATOMS in each;
 *                                                         writes md.history
 *
 * Atoms of a cell are in the order of their numbers, so results have the same bits for any number
 * of processes.
 */

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 24, TIMERS = 3, TAG = 7 };
enum { T_FORCE, T_HALO, T_MIGRATE };

/* ---- input, the same everywhere -------------------------------------------------------------- */

struct settings {
    int steps, cells, atoms, every;
    double dt, cutoff, heat;
};

static struct settings settings = {.steps = 100,.cells = 6,.atoms = 4,.every = 10,.dt = 0.002,
    .cutoff = 2.5,.heat = 0.7
};

static int step;
static double timers[TIMERS];   /* parts of sums over all processes */
static FILE *history;           /* of rank 0 */

static void read_settings(int argc, char **argv)
{
    settings.steps = argc > 1 ? atoi(argv[1]) : settings.steps;
    settings.cells = argc > 2 ? atoi(argv[2]) : settings.cells;
    settings.atoms = argc > 3 ? atoi(argv[3]) : settings.atoms;
    if (settings.cells < 3 || settings.atoms < 1 || settings.atoms > SLOTS / 2) {
        fprintf(stderr, "md: at least 3 cells along each axis, and 1 to %d atoms in each\n",
                SLOTS / 2);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static double length_of_box(void)
{
    return settings.cells * settings.cutoff;
}

/* ---- the domain ------------------------------------------------------------------------------ */

struct domain {
    int rank, size;
    int grid[3], coordinates[3];      /* processes along each axis; this one among them */
    int low[3], high[3];        /* its cells, low <= i < high */
    int width[3];               /* with the layer around */
    int before[3], after[3];   /* neighbours */
};

static struct domain domain;

static int begin_of(int index, int grid)
{
    return (int) ((int64_t) settings.cells * index / grid);
}

static int rank_at(const int coordinates[3], const int grid[3])
{
    int rank = 0;

    for (int axis = 0; axis < 3; axis++)
        rank = rank * grid[axis] + (coordinates[axis] + grid[axis]) % grid[axis];
    return rank;
}

static void make_domain(int rank, int size)
{
    int rest = rank;

    memset(&domain, 0, sizeof(domain));
    domain.rank = rank;
    domain.size = size;
    MPI_Dims_create(size, 3, domain.grid);
    for (int axis = 2; axis >= 0; axis--) {
        domain.coordinates[axis] = rest % domain.grid[axis];
        rest /= domain.grid[axis];
    }
    for (int axis = 0; axis < 3; axis++) {
        int beside[3] = { domain.coordinates[0], domain.coordinates[1], domain.coordinates[2] };
        domain.low[axis] = begin_of(domain.coordinates[axis], domain.grid[axis]);
        domain.high[axis] = begin_of(domain.coordinates[axis] + 1, domain.grid[axis]);
        domain.width[axis] = domain.high[axis] - domain.low[axis] + 2;
        beside[axis]--;
        domain.before[axis] = rank_at(beside, domain.grid);
        beside[axis] += 2;
        domain.after[axis] = rank_at(beside, domain.grid);
    }
}

/* ---- atoms in cells -------------------------------------------------------------------------- */

typedef double vector[3];

static int cell_count;          /* with those of the layer around */
static int *count;              /* atoms in each cell */
static int64_t *number;         /* of atom j of cell c: element c * SLOTS + j */
static vector *position, *speed, *force;
static double *potential;       /* of each atom */

static int cell_at(int i, int j, int k)
{
    return (i * domain.width[1] + j) * domain.width[2] + k;
}

static void make_cells(void)
{
    cell_count = domain.width[0] * domain.width[1] * domain.width[2];
    const size_t slots = (size_t) cell_count * SLOTS;
    count = calloc((size_t) cell_count, sizeof(*count));
    number = malloc(slots * sizeof(*number));
    position = malloc(slots * sizeof(*position));
    speed = malloc(slots * sizeof(*speed));
    force = malloc(slots * sizeof(*force));
    potential = malloc(slots * sizeof(*potential));
    if (!count || !number || !position || !speed || !force || !potential) {
        fprintf(stderr, "md: no memory for %d cells\n", cell_count);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void free_cells(void)
{
    free(count);
    free(number);
    free(position);
    free(speed);
    free(force);
    free(potential);
    count = NULL;
}

/* The cell along one axis, of all. */
static int cell_along(double coordinate)
{
    const int cell = (int) floor(coordinate / settings.cutoff);

    return cell < 0 ? 0 : cell >= settings.cells ? settings.cells - 1 : cell;
}

/* After those of a smaller number. */
static void insert(int cell, int64_t its_number, const vector at, const vector v)
{
    int slot = cell * SLOTS + count[cell];

    if (count[cell] == SLOTS) {
        fprintf(stderr, "md: a cell has more than %d atoms\n", SLOTS);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (; slot > cell * SLOTS && number[slot - 1] > its_number; slot--) {
        number[slot] = number[slot - 1];
        memcpy(position[slot], position[slot - 1], sizeof(vector));
        memcpy(speed[slot], speed[slot - 1], sizeof(vector));
    }
    number[slot] = its_number;
    memcpy(position[slot], at, sizeof(vector));
    memcpy(speed[slot], v, sizeof(vector));
    count[cell]++;
}

static void put_atom(int64_t its_number, const vector at, const vector v)
{
    insert(cell_at(cell_along(at[0]) - domain.low[0] + 1, cell_along(at[1]) - domain.low[1] + 1,
                   cell_along(at[2]) - domain.low[2] + 1), its_number, at, v);
}

static unsigned mixed(unsigned seed)
{
    seed = (seed ^ seed >> 16) * 0x45d9f3bu;
    seed = (seed ^ seed >> 16) * 0x45d9f3bu;
    return seed ^ seed >> 16;
}

static double drawn(int64_t of, int which)
{
    return mixed((unsigned) of * 16 + (unsigned) which) / 4294967296.0;
}

/* Atoms on a lattice within each cell, with speeds that are drawn. */
static void fill(void)
{
    const int side = (int) ceil(cbrt(settings.atoms));

    for (int i = domain.low[0]; i < domain.high[0]; i++)
        for (int j = domain.low[1]; j < domain.high[1]; j++)
            for (int k = domain.low[2]; k < domain.high[2]; k++)
                for (int a = 0; a < settings.atoms; a++) {
                    const int64_t its_number =
                        ((int64_t) (i * settings.cells + j) * settings.cells + k) * settings.atoms +
                        a;
                    const int on[3] = { a % side, a / side % side, a / side / side }, of[3] =
                        { i, j, k };
                    vector at, v;
                    for (int axis = 0; axis < 3; axis++) {
                        at[axis] = settings.cutoff * (of[axis] + (on[axis] + 0.5) / side);
                        v[axis] = settings.heat * (drawn(its_number, axis) - 0.5);
                    }
                    put_atom(its_number, at, v);
                }
}

/* ---- messages -------------------------------------------------------------------------------- */

struct record {
    int64_t number;
    vector position, speed;
};

struct buffer {
    struct record *records;
    int count, capacity;
};

static void append(struct buffer *buffer, int64_t its_number, const vector at, const vector v)
{
    if (buffer->count == buffer->capacity) {
        buffer->capacity = 2 * buffer->capacity + 64;
        buffer->records =
            realloc(buffer->records, (size_t) buffer->capacity * sizeof(struct record));
        if (!buffer->records)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    struct record *record = &buffer->records[buffer->count++];
    record->number = its_number;
    memcpy(record->position, at, sizeof(vector));
    memcpy(record->speed, v, sizeof(vector));
}

static void swap(const struct buffer *sent, int to, struct buffer *come, int from)
{
    MPI_Sendrecv(&sent->count, 1, MPI_INT, to, TAG, &come->count, 1, MPI_INT, from, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (come->count > come->capacity) {
        come->capacity = come->count;
        come->records = realloc(come->records, (size_t) come->capacity * sizeof(struct record));
    }
    MPI_Sendrecv(sent->records, sent->count * (int) sizeof(struct record), MPI_BYTE, to, TAG,
                 come->records, come->count * (int) sizeof(struct record), MPI_BYTE, from, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The cells of one layer across an axis, with the layers around along the axes before it. */
static void pack_layer(int axis, int at, struct buffer *buffer)
{
    int from[3], to[3];

    for (int a = 0; a < 3; a++) {
        from[a] = a == axis ? at : a < axis ? 0 : 1;
        to[a] = a == axis ? at + 1 : a < axis ? domain.width[a] : domain.width[a] - 1;
    }
    buffer->count = 0;
    for (int i = from[0]; i < to[0]; i++)
        for (int j = from[1]; j < to[1]; j++)
            for (int k = from[2]; k < to[2]; k++)
                for (int slot = cell_at(i, j, k) * SLOTS, last = slot + count[cell_at(i, j, k)];
                     slot < last; slot++)
                    append(buffer, number[slot], position[slot], speed[slot]);
}

/* Into cells around; beyond the box by `shift`. */
static void unpack_layer(int axis, double shift, int at, const struct buffer *buffer)
{
    for (int r = 0; r < buffer->count; r++) {
        struct record *record = &buffer->records[r];
        int cell[3];
        for (int a = 0; a < 3; a++) {
            cell[a] = (int) floor(record->position[a] / settings.cutoff) - domain.low[a] + 1;
            cell[a] = cell[a] < 0 ? 0 : cell[a] >= domain.width[a] ? domain.width[a] - 1 : cell[a];
        }
        cell[axis] = at;
        record->position[axis] += shift;
        insert(cell_at(cell[0], cell[1], cell[2]), record->number, record->position, record->speed);
    }
}

static void clear_halo(void)
{
    for (int i = 0; i < domain.width[0]; i++)
        for (int j = 0; j < domain.width[1]; j++)
            for (int k = 0; k < domain.width[2]; k++)
                if (i == 0 || j == 0 || k == 0 || i == domain.width[0] - 1 ||
                    j == domain.width[1] - 1 || k == domain.width[2] - 1)
                    count[cell_at(i, j, k)] = 0;
}

static void exchange_halo(void)
{
    static struct buffer down, up, below, above;
    const double begin = MPI_Wtime();

    clear_halo();
    for (int axis = 0; axis < 3; axis++) {
        const int last = domain.width[axis] - 1;
        pack_layer(axis, 1, &down);
        pack_layer(axis, last - 1, &up);
        swap(&down, domain.before[axis], &above, domain.after[axis]);
        swap(&up, domain.after[axis], &below, domain.before[axis]);
        unpack_layer(axis, domain.low[axis] == 0 ? -length_of_box() : 0, 0, &below);
        unpack_layer(axis, domain.high[axis] == settings.cells ? length_of_box() : 0, last, &above);
    }
    timers[T_HALO] += MPI_Wtime() - begin;
}

/* Atoms that have left this process' cells along an axis, to the neighbours; the rest stays in
 * `here`. */
static void migrate_along(int axis, struct buffer *here)
{
    static struct buffer down, up, come;
    const double low = domain.low[axis] * settings.cutoff, high =
        domain.high[axis] * settings.cutoff;
    const double box = length_of_box();
    int stay = 0;

    down.count = up.count = 0;
    for (int r = 0; r < here->count; r++) {
        struct record *record = &here->records[r];
        const double x = record->position[axis];
        struct buffer *to = x < low ? &down : x >= high ? &up : NULL;
        if (x < 0)
            record->position[axis] += box;
        if (x >= box)
            record->position[axis] -= box;
        if (to)
            append(to, record->number, record->position, record->speed);
        else
            here->records[stay++] = *record;
    }
    here->count = stay;
    swap(&down, domain.before[axis], &come, domain.after[axis]);
    for (int r = 0; r < come.count; r++)
        append(here, come.records[r].number, come.records[r].position, come.records[r].speed);
    swap(&up, domain.after[axis], &come, domain.before[axis]);
    for (int r = 0; r < come.count; r++)
        append(here, come.records[r].number, come.records[r].position, come.records[r].speed);
}

static void migrate(void)
{
    static struct buffer here;
    const double begin = MPI_Wtime();

    clear_halo();
    here.count = 0;
    for (int cell = 0; cell < cell_count; cell++)
        for (int slot = cell * SLOTS; slot < cell * SLOTS + count[cell]; slot++)
            append(&here, number[slot], position[slot], speed[slot]);
    for (int axis = 0; axis < 3; axis++)
        migrate_along(axis, &here);
    memset(count, 0, (size_t) cell_count * sizeof(*count));
    for (int r = 0; r < here.count; r++)
        put_atom(here.records[r].number, here.records[r].position, here.records[r].speed);
    timers[T_MIGRATE] += MPI_Wtime() - begin;
}

/* ---- forces ---------------------------------------------------------------------------------- */

static void add_pair(int slot, int other)
{
    vector d;
    double square = 0;

    for (int axis = 0; axis < 3; axis++) {
        d[axis] = position[slot][axis] - position[other][axis];
        square += d[axis] * d[axis];
    }
    if (square >= settings.cutoff * settings.cutoff || number[slot] == number[other])
        return;
    square = square < 0.64 ? 0.64 : square;     /* drawn speeds may bring them very near */
    const double six = 1 / (square * square * square), f = 24 * six * (2 * six - 1) / square;
    for (int axis = 0; axis < 3; axis++)
        force[slot][axis] += f * d[axis];
    potential[slot] += 2 * six * (six - 1);
}

static void add_cell(int slot, int i, int j, int k)
{
    for (int a = i - 1; a <= i + 1; a++)
        for (int b = j - 1; b <= j + 1; b++)
            for (int c = k - 1; c <= k + 1; c++) {
                const int cell = cell_at(a, b, c);
                for (int other = cell * SLOTS; other < cell * SLOTS + count[cell]; other++)
                    if (other != slot)
                        add_pair(slot, other);
            }
}

static void compute_forces(void)
{
    exchange_halo();
    const double begin = MPI_Wtime();
    for (int i = 1; i < domain.width[0] - 1; i++)
        for (int j = 1; j < domain.width[1] - 1; j++)
            for (int k = 1; k < domain.width[2] - 1; k++)
                for (int slot = cell_at(i, j, k) * SLOTS, last = slot + count[cell_at(i, j, k)];
                     slot < last; slot++) {
                    memset(force[slot], 0, sizeof(vector));
                    potential[slot] = 0;
                    add_cell(slot, i, j, k);
                }
    timers[T_FORCE] += MPI_Wtime() - begin;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* With all atoms of this process: kick their speeds, or also move them. */
static void push(double dt, int moves)
{
    for (int i = 1; i < domain.width[0] - 1; i++)
        for (int j = 1; j < domain.width[1] - 1; j++)
            for (int k = 1; k < domain.width[2] - 1; k++)
                for (int slot = cell_at(i, j, k) * SLOTS, last = slot + count[cell_at(i, j, k)];
                     slot < last; slot++)
                    for (int axis = 0; axis < 3; axis++) {
                        speed[slot][axis] += 0.5 * dt * force[slot][axis];
                        if (moves)
                            position[slot][axis] += dt * speed[slot][axis];
                    }
}

static void advance(void)
{
    push(settings.dt, 1);
    migrate();
    compute_forces();
    push(settings.dt, 0);
    step++;
}

/* ---- diagnostics ----------------------------------------------------------------------------- */

/* Energies as whole numbers, whose sums are the same in any order; a sum of all bits. */
static void sum_up(int64_t sums[4])
{
    int64_t mine[4] = { 0, 0, 0, 0 };

    for (int i = 1; i < domain.width[0] - 1; i++)
        for (int j = 1; j < domain.width[1] - 1; j++)
            for (int k = 1; k < domain.width[2] - 1; k++)
                for (int slot = cell_at(i, j, k) * SLOTS, last = slot + count[cell_at(i, j, k)];
                     slot < last; slot++) {
                    uint64_t bits;
                    for (int axis = 0; axis < 3; axis++) {
                        mine[0] += llround(1e9 * 0.5 * speed[slot][axis] * speed[slot][axis]);
                        memcpy(&bits, &position[slot][axis], sizeof(bits));
                        mine[3] =
                            (int64_t) ((uint64_t) mine[3] +
                                       bits * (uint64_t) (2 * number[slot] + 1));
                    }
                    mine[1] += llround(1e9 * potential[slot]);
                    mine[2]++;
                }
    MPI_Allreduce(mine, sums, 4, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static void open_history(void)
{
    if (domain.rank == 0)
        history = fopen("md.history", "w");
}

static void write_history(void)
{
    int64_t sums[4];

    sum_up(sums);
    if (domain.rank == 0)
        fprintf(history, "%6d %16.9f %16.9f\n", step, 1e-9 * (double) sums[0],
                1e-9 * (double) sums[1]);
}

static void report(void)
{
    int64_t sums[4];
    double all[TIMERS];

    sum_up(sums);
    MPI_Reduce(timers, all, TIMERS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (history)
        fclose(history);
    if (domain.rank != 0)
        return;
    printf("result %d %lld %016llx\n", step, (long long) sums[2], (unsigned long long) sums[3]);
    fprintf(stderr, "md: force %.2f s, halo %.2f s, migration %.2f s\n", all[T_FORCE], all[T_HALO],
            all[T_MIGRATE]);
}

/* ---- main ------------------------------------------------------------------------------------ */

static void set_up(int rank, int size)
{
    make_domain(rank, size);
    make_cells();
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    read_settings(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    set_up(rank, size);
    fill();
    open_history();
    compute_forces();
    while (step < settings.steps) {
        advance();
        if (step % settings.every == 0)
            write_history();
    }
    report();
    free_cells();
    MPI_Finalize();
    return 0;
}
