/* See particles.h. */

#include "particles.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STIFFNESS 2.0
#define TIME_STEP 0.002
#define DRIFT_MAX 1e-3          /* of the energy */

static int fail(const char *why)
{
    fprintf(stderr, "particles: %s\n", why);
    return 1;
}

/* ---- columns -------------------------------------------------------------------------------- */

static int column_of(const struct particle *particle)
{
    const int column = (int) particle->position[0];

    return column < COLUMNS ? column : COLUMNS - 1;
}

static int row_of(const struct particle *particle)
{
    const int row = (int) particle->position[1];

    return row < ROWS ? row : ROWS - 1;
}

/* Rank r begins where r shares of `size` are full: nobody has more than a share and one column. */
static int *deal_out(const int64_t weights[COLUMNS], int size)
{
    int *first = malloc(((size_t) size + 1) * sizeof(int)), column = 0;
    int64_t all = 0, before = 0;

    for (int k = 0; k < COLUMNS; k++)
        all += weights[k];
    for (int rank = 0; first && rank <= size; rank++) {
        while (column < COLUMNS && (rank == size || before * size < all * rank))
            before += weights[column++];
        first[rank] = column;
    }
    return first;
}

/* MPI_PROC_NULL: there is no such column. */
static int owner_of(const int *first, int size, int column)
{
    int rank = 0;

    if (column < 0 || column >= COLUMNS)
        return MPI_PROC_NULL;
    while (rank < size - 1 && first[rank + 1] <= column)
        rank++;
    return rank;
}

/* ---- particles ------------------------------------------------------------------------------ */

static int reserve(struct simulation *simulation, int64_t more)
{
    const int64_t needed = simulation->count + more;

    if (needed <= simulation->capacity)
        return 0;
    struct particle *particles = realloc(simulation->particles,
                                         2 * (size_t) needed * sizeof(*particles));
    if (!particles)
        return fail("there is no memory");
    simulation->particles = particles;
    simulation->capacity = 2 * needed;
    return 0;
}

static int append(int64_t count, const MPIX_Column columns[], void *state)
{
    struct simulation *simulation = state;

    if (reserve(simulation, count))
        return 1;
    memcpy(simulation->particles + simulation->count, columns[0].base,
           (size_t) count * sizeof(struct particle));
    simulation->count += count;
    return 0;
}

/* In [0, 1), of each particle and purpose another one. */
static double drawn(int64_t number, int purpose)
{
    uint64_t mixed = (uint64_t) (number * 4 + purpose + 1) * 0x9e3779b97f4a7c15u;

    mixed ^= mixed >> 29;
    mixed *= 0xbf58476d1ce4e5b9u;
    mixed ^= mixed >> 32;
    return (double) (mixed >> 11) / 9007199254740992.0;
}

static struct particle first_particle(int64_t number)
{
    const double x = drawn(number, 0);

    return (struct particle) {
        .position = {COLUMNS * x * x, ROWS * drawn(number, 1)},
        .speed = {drawn(number, 2) - 0.5, drawn(number, 3) - 0.5},.number = number
    };
}

static int compare(const void *left, const void *right)
{
    const struct particle *a = left, *b = right;
    const int cell_a = column_of(a) * ROWS + row_of(a), cell_b = column_of(b) * ROWS + row_of(b);

    return cell_a != cell_b ? (cell_a > cell_b) - (cell_a < cell_b) :
        (a->number > b->number) - (a->number < b->number);
}

/* ---- messages ------------------------------------------------------------------------------- */

struct neighbour {
    int rank;
    int64_t sends, receives;
    struct particle *out, *in;
};

/* Their particles for this process replace `in`. */
static int exchange(const struct simulation *simulation, struct neighbour sides[2])
{
    for (int k = 0; k < 2; k++) {
        struct neighbour *to = &sides[k], *from = &sides[1 - k];
        from->receives = 0;
        MPI_Sendrecv(&to->sends, 1, MPI_INT64_T, to->rank, k, &from->receives, 1, MPI_INT64_T,
                     from->rank, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        from->in = malloc((size_t) from->receives * sizeof(*from->in) + 1);
        if (!from->in)
            return fail("there is no memory");
        MPI_Sendrecv(to->out, (int) to->sends, simulation->particle_type, to->rank, k, from->in,
                     (int) from->receives, simulation->particle_type, from->rank, k,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return 0;
}

static void free_messages(struct neighbour sides[2])
{
    for (int k = 0; k < 2; k++) {
        free(sides[k].in);
        free(sides[k].out);
    }
}

/* The owners of the columns beside this process' own, which has some. */
static int find_neighbours(const struct simulation *simulation, struct neighbour sides[2])
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(sides, 0, 2 * sizeof(*sides));
    const int *first = simulation->first;
    sides[0].rank = owner_of(first, size, first[rank] - 1);
    sides[1].rank = owner_of(first, size, first[rank + 1]);
    for (int k = 0; k < 2; k++) {
        sides[k].out = malloc((size_t) simulation->count * sizeof(struct particle) + 1);
        if (!sides[k].out)
            return fail("there is no memory");
    }
    return 0;
}

/* Particles that have left the columns [low, high) go to the neighbours: a step is shorter than a
 * cell. */
static int migrate(struct simulation *simulation, int low, int high)
{
    struct neighbour sides[2];
    int64_t stay = 0;
    int failed = find_neighbours(simulation, sides);

    for (int64_t i = 0; !failed && i < simulation->count; i++) {
        const struct particle *particle = &simulation->particles[i];
        const int column = column_of(particle);
        struct neighbour *side = &sides[column >= high];
        if (column < low - 1 || column > high)
            failed = fail("a particle is too fast");
        else if (column < low || column >= high)
            side->out[side->sends++] = *particle;
        else
            simulation->particles[stay++] = *particle;
    }
    simulation->count = failed ? simulation->count : stay;
    failed = failed || exchange(simulation, sides);
    for (int k = 0; !failed && k < 2; k++)
        failed = append(sides[k].receives, &(MPIX_Column) {sides[k].in, MPI_BYTE}, simulation);
    free_messages(sides);
    return failed;
}

/* The particles of the columns beside, after the own ones: simulation->count stays theirs alone. */
static int exchange_with_neighbours(struct simulation *simulation, int low, int high, int64_t *all)
{
    struct neighbour sides[2];
    const int64_t own = simulation->count;
    int failed = find_neighbours(simulation, sides);

    for (int64_t i = 0; !failed && i < own; i++) {
        const int column = column_of(&simulation->particles[i]);
        if (column == low)
            sides[0].out[sides[0].sends++] = simulation->particles[i];
        if (column == high - 1)
            sides[1].out[sides[1].sends++] = simulation->particles[i];
    }
    failed = failed || exchange(simulation, sides);
    for (int k = 0; !failed && k < 2; k++)
        failed = append(sides[k].receives, &(MPIX_Column) {sides[k].in, MPI_BYTE}, simulation);
    free_messages(sides);
    *all = simulation->count;
    simulation->count = own;
    return failed;
}

/* ---- forces --------------------------------------------------------------------------------- */

/* Cells of columns low - 1 to high: the particles of cell k are those from begin[k] on. */
struct cells {
    int low, high;
    struct particle *sorted;
    int64_t *begin;
};

static int sort_into_cells(struct cells *cells, const struct simulation *simulation, int64_t all)
{
    const int count = (cells->high - cells->low + 2) * ROWS;
    int cell = 0;

    cells->sorted = malloc((size_t) all * sizeof(*cells->sorted) + 1);
    cells->begin = malloc(((size_t) count + 1) * sizeof(*cells->begin));
    if (!cells->sorted || !cells->begin)
        return fail("there is no memory");
    memcpy(cells->sorted, simulation->particles, (size_t) all * sizeof(*cells->sorted));
    qsort(cells->sorted, (size_t) all, sizeof(*cells->sorted), compare);
    for (int64_t i = 0; i < all; i++) {
        const struct particle *each = &cells->sorted[i];
        while (cell <= (column_of(each) - cells->low + 1) * ROWS + row_of(each))
            cells->begin[cell++] = i;
    }
    while (cell <= count)
        cells->begin[cell++] = all;
    return 0;
}

static double repel(struct particle *particle, const struct particle *other)
{
    const double x = particle->position[0] - other->position[0], y =
        particle->position[1] - other->position[1];
    const double square = x * x + y * y;

    if (other->number == particle->number || square >= 1 || square == 0)
        return 0;
    const double distance = sqrt(square), push = STIFFNESS * (1 - distance) / distance;
    particle->force[0] += push * x;
    particle->force[1] += push * y;
    return 0.5 * STIFFNESS * (1 - distance) * (1 - distance);
}

/* Of the nine cells around; returns the energy, of which half is this particle's. */
static double push(const struct cells *cells, struct particle *particle)
{
    const int column = column_of(particle), row = row_of(particle);
    double energy = 0;

    particle->force[0] = particle->force[1] = 0;
    for (int i = column - 1; i <= column + 1; i++) {
        for (int j = row > 0 ? row - 1 : 0; j <= row + 1 && j < ROWS; j++) {
            const int cell = (i - cells->low + 1) * ROWS + j;
            for (int64_t k = cells->begin[cell]; k < cells->begin[cell + 1]; k++)
                energy += repel(particle, &cells->sorted[k]);
        }
    }
    return 0.5 * energy;
}

static int find_forces(struct simulation *simulation, int low, int high)
{
    struct cells cells = {.low = low,.high = high };
    int64_t all;
    int failed = exchange_with_neighbours(simulation, low, high, &all) ||
        sort_into_cells(&cells, simulation, all);

    simulation->potential = 0;
    for (int64_t i = 0; !failed && i < simulation->count; i++)
        simulation->potential += push(&cells, &simulation->particles[i]);
    free(cells.sorted);
    free(cells.begin);
    return failed;
}

/* ---- a step --------------------------------------------------------------------------------- */

static void bounce(double *position, double *speed, double wall)
{
    if (*position >= 0 && *position <= wall)
        return;
    *position = *position < 0 ? -*position : 2 * wall - *position;
    *speed = -*speed;
}

static void accelerate(struct simulation *simulation)
{
    for (int64_t i = 0; i < simulation->count; i++)
        for (int axis = 0; axis < 2; axis++)
            simulation->particles[i].speed[axis] +=
                0.5 * TIME_STEP * simulation->particles[i].force[axis];
}

static void drift(struct simulation *simulation)
{
    for (int64_t i = 0; i < simulation->count; i++) {
        struct particle *particle = &simulation->particles[i];
        for (int axis = 0; axis < 2; axis++) {
            particle->position[axis] += TIME_STEP * particle->speed[axis];
            bounce(&particle->position[axis], &particle->speed[axis], axis == 0 ? COLUMNS : ROWS);
        }
    }
}

static int advance(struct simulation *simulation, int low, int high)
{
    accelerate(simulation);
    drift(simulation);
    if (migrate(simulation, low, high) || find_forces(simulation, low, high))
        return 1;
    accelerate(simulation);
    for (int64_t i = 0; i < simulation->count; i++)
        simulation->visits[column_of(&simulation->particles[i]) - low]++;
    return 0;
}

static void rest(double ms)
{
    const int64_t ns = (int64_t) (ms * 1e6);
    const struct timespec pause = { ns / 1000000000, ns % 1000000000 };

    if (ns > 0)
        nanosleep(&pause, NULL);
}

/* In the first step of a world, and how evenly the particles are dealt out. */
static int report_size(struct simulation *simulation, int rank, int size)
{
    int64_t counts[COLUMNS] = { 0 }, mine = simulation->count, most, heaviest = 0;

    if (simulation->reported == simulation->progress->adaptations)
        return 0;
    simulation->reported = simulation->progress->adaptations;
    for (int64_t i = 0; i < simulation->count; i++)
        counts[column_of(&simulation->particles[i])]++;
    for (int column = 0; column < COLUMNS; column++)
        heaviest = counts[column] > heaviest ? counts[column] : heaviest;
    MPI_Allreduce(&mine, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &heaviest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (most > simulation->n / size + heaviest)
        return fail("a process has more than its share and a column");
    if (rank == 0) {
        printf("particles: %d processes from step %" PRId64 " on, with up to %" PRId64
               " particles each\n", size, simulation->progress->step, most);
        fflush(stdout);
    }
    return 0;
}

int particles_step(struct simulation *simulation)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int low = simulation->first[rank], high = simulation->first[rank + 1];
    if (report_size(simulation, rank, size) || (low < high && advance(simulation, low, high)))
        return 1;
    simulation->progress->step++;
    rest(simulation->sleep_ms / size);
    return 0;
}

int particles_goes_on(const struct simulation *simulation)
{
    return simulation->progress->step < simulation->steps ||
        simulation->progress->adaptations < simulation->adaptations;
}

/* ---- the window ----------------------------------------------------------------------------- */

static int split(int old_size, const int64_t *old_lengths, int new_size, int64_t *new_lengths,
                 void *state)
{
    const struct simulation *simulation = state;

    (void) old_size;
    (void) old_lengths;
    for (int rank = 0; rank < new_size; rank++)
        new_lengths[rank] = simulation->coming[rank + 1] - simulation->coming[rank];
    return 0;
}

/* The particles of each column, of all processes. */
static int weigh(const struct simulation *simulation, const epop_window_t *window,
                 int64_t weights[COLUMNS])
{
    MPI_Comm all;

    memset(weights, 0, COLUMNS * sizeof(*weights));
    for (int64_t i = 0; i < simulation->count; i++)
        weights[column_of(&simulation->particles[i])]++;
    return MPIX_Adapt_window_all(window, &all) ||
        MPI_Allreduce(MPI_IN_PLACE, weights, COLUMNS, MPI_INT64_T, MPI_SUM, all) ||
        MPI_Comm_free(&all);
}

static int move_particles(struct simulation *simulation, const epop_window_t *window)
{
    const MPIX_Column column = { simulation->particles, simulation->particle_type };
    int *destination = malloc((size_t) simulation->count * sizeof(int) + 1);

    if (!destination)
        return fail("there is no memory");
    for (int64_t i = 0; i < simulation->count; i++)
        destination[i] = owner_of(simulation->coming, window->new_size,
                                  column_of(&simulation->particles[i]));
    int code = MPIX_Adapt_items_move(window, &simulation->count, destination, 1, &column, append,
                                     simulation);
    free(destination);
    return code != MPI_SUCCESS;
}

int particles_move(struct simulation *simulation, const epop_window_t *window)
{
    int64_t weights[COLUMNS];

    if (weigh(simulation, window, weights))
        return 1;
    simulation->coming = deal_out(weights, window->new_size);
    if (!simulation->coming)
        return fail("there is no memory");
    if (simulation->progress)   /* not yet on joining processes */
        simulation->progress->adaptations++;
    if (MPIX_Adapt_data_move(simulation->data, window) || move_particles(simulation, window))
        return 1;
    free(simulation->first);
    simulation->first = simulation->coming;
    simulation->coming = NULL;
    return 0;
}

/* ---- begin ---------------------------------------------------------------------------------- */

static int read_options(struct simulation *simulation, int argc, char **argv)
{
    simulation->n = 600;
    simulation->steps = 100;
    for (int i = 1; i < argc; i += 2) {
        const double value = i + 1 < argc ? atof(argv[i + 1]) : -1;
        if (strcmp(argv[i], "--size") == 0 && value >= 1)
            simulation->n = (int64_t) value;
        else if (strcmp(argv[i], "--steps") == 0 && value >= 1)
            simulation->steps = (int64_t) value;
        else if (strcmp(argv[i], "--adaptations") == 0 && value >= 0)
            simulation->adaptations = (int64_t) value;
        else if (strcmp(argv[i], "--sleep") == 0 && value >= 0)
            simulation->sleep_ms = value;
        else {
            fprintf(stderr, "usage: particles [--size PARTICLES] [--steps AT_LEAST] "
                    "[--adaptations AT_LEAST] [--sleep MILLISECONDS]\n");
            return 1;
        }
    }
    return 0;
}

static double energy_of(const struct simulation *simulation)
{
    double energy = simulation->potential, sum;

    for (int64_t i = 0; i < simulation->count; i++) {
        const double *speed = simulation->particles[i].speed;
        energy += 0.5 * (speed[0] * speed[0] + speed[1] * speed[1]);
    }
    MPI_Allreduce(&energy, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* Everybody draws all particles, and keeps those in its columns. */
static int begin(struct simulation *simulation, int rank, int size)
{
    int64_t weights[COLUMNS] = { 0 };

    for (int64_t number = 0; number < simulation->n; number++) {
        const struct particle particle = first_particle(number);
        weights[column_of(&particle)]++;
    }
    simulation->first = deal_out(weights, size);
    simulation->progress = calloc(1, sizeof(*simulation->progress));
    if (!simulation->first || !simulation->progress)
        return fail("there is no memory");
    const int low = simulation->first[rank], high = simulation->first[rank + 1];
    simulation->visits = calloc((size_t) (high - low) + 1, sizeof(*simulation->visits));
    if (!simulation->visits)
        return fail("there is no memory");
    for (int64_t number = 0; number < simulation->n; number++) {
        struct particle particle = first_particle(number);
        const int column = column_of(&particle);
        if (column >= low && column < high &&
            append(1, &(MPIX_Column) {&particle, MPI_BYTE}, simulation))
            return 1;
    }
    if (low < high && find_forces(simulation, low, high))
        return 1;
    simulation->progress->energy = energy_of(simulation);
    return 0;
}

int particles_setup(struct simulation *simulation, int argc, char **argv, int joins)
{
    const MPIX_Adapt_layout everywhere = MPIX_Layout_same(1);
    MPIX_Adapt_layout columns;
    int rank, size;

    memset(simulation, 0, sizeof(*simulation));
    simulation->reported = -1;
    if (read_options(simulation, argc, argv))
        return 1;
    MPI_Type_contiguous(sizeof(struct particle), MPI_BYTE, &simulation->particle_type);
    MPI_Type_commit(&simulation->particle_type);
    MPI_Type_contiguous(sizeof(struct progress), MPI_BYTE, &simulation->progress_type);
    MPI_Type_commit(&simulation->progress_type);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!joins && begin(simulation, rank, size))
        return 1;
    columns =
        MPIX_Layout_irregular(joins ? 0 : simulation->first[rank + 1] - simulation->first[rank],
                              split, simulation);
    return MPIX_Adapt_data_create(&simulation->data) ||
        MPIX_Adapt_data_add(simulation->data, "visits", (void **) &simulation->visits, MPI_INT64_T,
                            &columns, NULL, NULL) ||
        MPIX_Adapt_data_add(simulation->data, "progress", (void **) &simulation->progress,
                            simulation->progress_type, &everywhere, NULL, NULL);
}

/* ---- end ------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t sum, const void *value)
{
    uint64_t bits;

    memcpy(&bits, value, sizeof(bits));
    sum = (sum ^ bits ^ bits >> 32) * 1099511628211u;
    return sum ^ sum >> 29;
}

/* With all bits of all particles and columns, in whatever order they are. */
static uint64_t bits_of(const struct simulation *simulation, int low, int high)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < simulation->count; i++) {
        const struct particle *particle = &simulation->particles[i];
        uint64_t mixed = mix(14695981039346656037u, &particle->number);
        for (int axis = 0; axis < 2; axis++)
            mixed = mix(mix(mixed, &particle->position[axis]), &particle->speed[axis]);
        sum += mixed;
    }
    for (int64_t column = low; column < high; column++)
        sum += mix(mix(1, &column), &simulation->visits[column - low]);
    return sum;
}

int particles_result(struct simulation *simulation)
{
    const struct progress *progress = simulation->progress;
    const double drifted = fabs(energy_of(simulation) / progress->energy - 1);
    uint64_t sums[2];
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sums[0] = bits_of(simulation, simulation->first[rank], simulation->first[rank + 1]);
    sums[1] = (uint64_t) simulation->count;
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("particles: %" PRId64 " adaptations\nparticles: after %" PRId64 " steps %" PRIu64
               " particles are %016" PRIx64 "\n", progress->adaptations, progress->step, sums[1],
               sums[0]);
    if (drifted > DRIFT_MAX)
        fprintf(stderr, "particles: the energy has changed by %g\n", drifted);
    return sums[1] != (uint64_t) simulation->n || drifted > DRIFT_MAX;
}

void particles_free(struct simulation *simulation)
{
    MPIX_Adapt_data_free(&simulation->data);
    MPI_Type_free(&simulation->particle_type);
    MPI_Type_free(&simulation->progress_type);
    free(simulation->first);
    free(simulation->particles);
    free(simulation->visits);
    free(simulation->progress);
}
