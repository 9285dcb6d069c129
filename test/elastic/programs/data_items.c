/*
 * adapt_items.h and MPIX_Adapt_data_share: particles as structs and as several arrays find their
 * new owners, each once and only if they must move (MPI_Isend is wrapped); shared variables reach
 * joining processes; the output file goes on where its writer left; sums stay what they were.
 * Wrong use is refused on all processes and moves nothing.  SPEC-epop V1, F1, F3, F4.
 */

#include "elastic_test.h"
#include "bytes_sent.h"
#include <adapt_items.h>
#include <stddef.h>

enum { ITEMS = 700 };

struct particle {               /* with a gap */
    char kind;
    double position[2];
    int64_t number;
};

static struct particle *particles;
static int64_t particle_count;
static double *columns_x;       /* the same in two arrays */
static int32_t *columns_n;
static int64_t column_count;
static MPI_Datatype particle_type;
static MPIX_Adapt_data data;
static int windows_seen, settings[3];   /* shared */
static FILE *output;
static double timers[2];

/* Where a particle belongs. */
static int owner_of(int64_t number, int size)
{
    return (int) (number * 2654435761u % 97 % (unsigned) size);
}

static struct particle particle_of(int64_t number)
{
    return (struct particle) {
        .kind = (char) ('a' + number % 26),.position = {(double) number, 0.5 * (double) number},
            .number =
            number
    };
}

static int append_particles(int64_t count, const MPIX_Column columns[], void *state)
{
    const struct particle *come = columns[0].base;

    ET_CHECK(state == &particle_count && count > 0, "append");
    particles = realloc(particles, (size_t) (particle_count + count) * sizeof(*particles));
    memcpy(particles + particle_count, come, (size_t) count * sizeof(*particles));
    particle_count += count;
    return 0;
}

static int append_columns(int64_t count, const MPIX_Column columns[], void *state)
{
    (void) state;
    columns_x = realloc(columns_x, (size_t) (column_count + count) * sizeof(*columns_x));
    columns_n = realloc(columns_n, (size_t) (column_count + count) * sizeof(*columns_n));
    memcpy(columns_x + column_count, columns[0].base, (size_t) count * sizeof(*columns_x));
    memcpy(columns_n + column_count, columns[1].base, (size_t) count * sizeof(*columns_n));
    column_count += count;
    return 0;
}

static void fill(void)
{
    for (int64_t number = 0; number < ITEMS; number++) {
        if (owner_of(number, et.size) != et.rank)
            continue;
        const struct particle particle = particle_of(number);
        const double x = particle.position[0];
        const int32_t n = (int32_t) number;
        append_particles(1, &(MPIX_Column) {(void *) &particle, particle_type}, &particle_count);
        append_columns(1, (MPIX_Column[]) { {(void *) &x, MPI_DOUBLE}, {(void *) &n, MPI_INT32_T}},
                       NULL);
    }
    settings[0] = 42 + et.rank; /* rank 0's is what joining processes get */
    settings[2] = 7;
    timers[0] = et.rank + 1;
    timers[1] = 1;
}

/* All items are here that belong here, once each. */
static void check_items(void)
{
    int64_t expected = 0;
    char seen[2][ITEMS] = { {0} };

    for (int64_t number = 0; number < ITEMS; number++)
        expected += owner_of(number, et.size) == et.rank;
    ET_CHECK(particle_count == expected &&
             column_count == expected, "%lld and %lld items, not %lld", (long long) particle_count,
             (long long) column_count, (long long) expected);
    for (int64_t i = 0; i < particle_count; i++) {
        const struct particle *p = &particles[i], right = particle_of(p->number);
        ET_CHECK(owner_of(p->number, et.size) == et.rank && p->kind == right.kind &&
                 p->position[0] == right.position[0] && p->position[1] == right.position[1] &&
                 !seen[0][p->number]++, "particle %lld", (long long) p->number);
        ET_CHECK(columns_x[i] == columns_n[i] && owner_of(columns_n[i], et.size) == et.rank &&
                 !seen[1][columns_n[i]]++, "columns %lld", (long long) columns_n[i]);
    }
}

static int *destinations(const epop_window_t *window, int64_t *leave)
{
    int *to = malloc((size_t) (particle_count + 1) * sizeof(int));

    *leave = 0;
    for (int64_t i = 0; i < particle_count; i++) {
        to[i] = owner_of(particles[i].number, window->new_size);
        *leave += to[i] != window->new_rank;
    }
    return to;
}

static void refuse(int code, const char *word)
{
    ET_CHECK(code == MPI_ERR_ARG &&
             strstr(MPIX_Adapt_data_message(), word), "%d, '%s' in: %s", code, word,
             MPIX_Adapt_data_message());
}

static void move_items(const epop_window_t *window)
{
    MPIX_Column one[] = { {particles, particle_type} };
    MPIX_Column two[] = { {columns_x, MPI_DOUBLE}, {columns_n, MPI_INT32_T} };
    const int64_t before = particle_count;
    int64_t leave, leave_columns = 0;
    int *to = destinations(window, &leave), *to_columns =
        malloc((size_t) (before + 1) * sizeof(int));

    for (int64_t i = 0; i < column_count; i++) {
        to_columns[i] = owner_of(columns_n[i], window->new_size);
        leave_columns += to_columns[i] != window->new_rank;
    }
    if (particle_count > 0)
        to[particle_count / 2] += window->new_size;
    refuse(MPIX_Adapt_items_move(window, &particle_count, to, 1, one, append_particles,
                                 &particle_count), "nothing has moved");
    if (particle_count > 0)
        to[particle_count / 2] -= window->new_size;
    refuse(MPIX_Adapt_items_move(window, &column_count, to_columns, window->old_rank == 0 ? 1 : 2,
                                 two, append_columns, NULL), "differ");
    ET_CHECK(particle_count == before && column_count == before, "something has moved");

    bytes_sent = 0;
    ET_MPI(MPIX_Adapt_items_move(window, &particle_count, to, 1, one, append_particles,
                                 &particle_count));
    ET_CHECK(bytes_sent == leave * 25, "%lld bytes for %lld items", (long long) bytes_sent,
             (long long) leave);
    bytes_sent = 0;
    ET_MPI(MPIX_Adapt_items_move(window, &column_count, to_columns, 2, two, append_columns, NULL));
    ET_CHECK(bytes_sent == leave_columns * 12, "%lld bytes for %lld items", (long long) bytes_sent,
             (long long) leave_columns);
    free(to);
    free(to_columns);
}

/* One line for each window, whoever writes it. */
static void check_file(void)
{
    char line[64];
    int number = 0;
    FILE *file = et.rank == 0 ? fopen("log", "r") : NULL;

    for (; file && fgets(line, sizeof(line), file); number++)
        ET_CHECK(atoi(line) == number, "line %d: %s", number, line);
    if (et.rank == 0) {
        ET_CHECK(file && number == windows_seen, "%d lines after %d windows", number, windows_seen);
        fclose(file);
    }
}

static void move_rest(const epop_window_t *window)
{
    double sums[2], expected[2];
    MPI_Comm all;

    ET_MPI(MPIX_Adapt_window_all(window, &all));
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        timers[0] = timers[1] = 0;
    ET_MPI(MPI_Allreduce(timers, expected, 2, MPI_DOUBLE, MPI_SUM, all));
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        timers[0] = timers[1] = 1e300;  /* joining processes' count for nothing */
    ET_MPI(MPIX_Adapt_sums(window, 2, timers));
    ET_MPI(MPI_Allreduce(timers, sums, 2, MPI_DOUBLE, MPI_SUM, all));
    ET_CHECK(sums[0] == expected[0] && sums[1] == expected[1], "sums %g, %g", sums[0], sums[1]);
    ET_CHECK(et.status != MPI_ADAPT_STATUS_LEAVING || timers[0] == 0, "a leaving process' part");

    FILE *no_file = NULL;
    ET_MPI(MPIX_Adapt_file(window, 0, NULL, &no_file));
    ET_CHECK(!no_file, "a file from nowhere");
    refuse(MPIX_Adapt_file(window, window->new_size, "log", &no_file), "successor");
    ET_MPI(MPIX_Adapt_file(window, window->new_size - 1, "log", &output));
    ET_CHECK(et.status != MPI_ADAPT_STATUS_LEAVING || !output, "a leaving process has the file");
    int mine = output != NULL, writers;
    ET_MPI(MPI_Allreduce(&mine, &writers, 1, MPI_INT, MPI_SUM, all));
    ET_CHECK(writers == 1, "%d writers", writers);
    ET_MPI(MPI_Comm_free(&all));
}

static void add_shared(void)
{
    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_share(data, "windows_seen", &windows_seen, 1, MPI_INT, NULL));
    ET_MPI(MPIX_Adapt_data_share(data, "settings", settings, 3, MPI_INT, NULL));
    ET_CHECK(MPIX_Adapt_data_share(data, "nothing", NULL, 1, MPI_INT, NULL) == MPI_ERR_ARG,
             "must fail");
}

static void window(void)
{
    epop_window_t window;
    int notified = et.status == MPI_ADAPT_STATUS_JOINING ? -1 : settings[0], of_rank_0 = notified;
    MPI_Comm all;

    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &window));
    if (output) {
        fprintf(output, "%d\n", windows_seen);
        fflush(output);
    }
    windows_seen += et.status != MPI_ADAPT_STATUS_JOINING;
    ET_MPI(MPIX_Adapt_window_all(&window, &all));
    ET_MPI(MPI_Bcast(&of_rank_0, 1, MPI_INT, 0, all));
    ET_MPI(MPI_Comm_free(&all));
    move_items(&window);
    move_rest(&window);
    ET_MPI(MPIX_Adapt_data_move(data, &window));
    ET_CHECK(settings[0] == (notified < 0 ? of_rank_0 : notified) && settings[2] == 7, "setting %d",
             settings[0]);
    ET_CHECK(windows_seen == et.epoch + 1, "%d windows", windows_seen);
    MPIX_Adapt_window_clear(&window);
}

static void after(void)
{
    check_items();
    check_file();
}

int main(int argc, char **argv)
{
    const int lengths[] = { 1, 2, 1 };
    const MPI_Aint positions[] =
        { offsetof(struct particle, kind), offsetof(struct particle, position),
        offsetof(struct particle, number)
    };
    const MPI_Datatype types[] = { MPI_CHAR, MPI_DOUBLE, MPI_INT64_T };

    et_options(&argc, &argv);
    et_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_create_struct(3, lengths, positions, types, &particle_type);
    MPI_Type_commit(&particle_type);
    add_shared();
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        fill();
        check_items();
        if (et.rank == 0)
            output = fopen("log", "w");
    }
    et.window = window;
    et.after = after;
    et_loop();
    if (output)
        fclose(output);
    free(particles);
    free(columns_x);
    free(columns_n);
    ET_MPI(MPIX_Adapt_data_free(&data));
    MPI_Type_free(&particle_type);
    return et_finish();
}
