/*
 * adapt_data.h, adapt_boxes.h, adapt_items.h: processes that do not mean the same, or that are in
 * different calls, get MPI_ERR_ARG all together, with a message that has both sides.  Nothing has
 * moved; the next try works.  Wrong arguments of one process are an error of all.  SPEC-epop D3,
 * F1.
 */

#include "elastic_test.h"
#include <adapt_boxes.h>
#include <adapt_items.h>

static int64_t cells = 907;     /* as if it were input: joining processes have 0 */
static double *u, *v;
static int differs;             /* this process, never all of them */
static epop_window_t window_now;
static MPIX_Adapt_data data;

static int64_t begin_of(int rank, int size)
{
    return cells * rank / size;
}

static int boxes(int rank, int size, int max, MPIX_Box found[], void *state)
{
    (void) state;
    if (max > 0)
        found[0] = MPIX_Box_of(1, (int64_t[]) {begin_of(rank, size)},
                               (int64_t[]) {begin_of(rank + 1, size)});
    return 1;
}

static int64_t pieces(int rank, int size, int64_t max, int64_t *low, int64_t *high, void *state)
{
    (void) state;
    if (max > 0) {
        low[0] = begin_of(rank, size);
        high[0] = begin_of(rank + 1, size);
    }
    return 1;
}

static void check(const double *part)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int64_t i = begin_of(rank, size); i < begin_of(rank + 1, size); i++)
        ET_CHECK(part[i - begin_of(rank, size)] == (double) i, "value %lld", (long long) i);
}

/* code is an error of all processes, and the message has all these words. */
static void refused(int code, const char *const words[], int count)
{
    const char *message = MPIX_Adapt_data_message();

    ET_CHECK(code == MPI_ERR_ARG, "%d instead of an error with '%s'", code, words[0]);
    for (int k = 0; k < count; k++)
        ET_CHECK(strstr(message, words[k]), "no '%s' in '%s'", words[k], message);
    ET_CHECK(strstr(message, "nothing has moved"), "%s", message);
    if (et.status != MPI_ADAPT_STATUS_JOINING) {
        check(u);
        check(v);
    }
}
#define REFUSED(call, ...) \
    refused((call), (const char *const[]) {__VA_ARGS__}, \
            (int) (sizeof((const char *const[]) {__VA_ARGS__}) / sizeof(char *)))

static MPIX_Field field_of(int ghost)
{
    return (MPIX_Field) {.name = "u",.element = MPI_DOUBLE,.ghost = {ghost},.parts = (void **) &u};
}

static int move_boxes(int ghost)
{
    const MPIX_Field field = field_of(ghost);

    return MPIX_Adapt_boxes_move(&window_now, 1, boxes, NULL, 1, &field);
}

static int append(int64_t count, const MPIX_Column columns[], void *state)
{
    (void) count;
    (void) columns;
    (void) state;
    return 0;
}

static int move_items(const epop_window_t *window)
{
    int64_t none = 0;
    const MPIX_Column column = { &none, MPI_INT64_T };

    return MPIX_Adapt_items_move(window, &none, NULL, 1, &column, append, NULL);
}

/* The joining process has another domain: none, or one that is longer by 7. */
static void refuse_cells(int64_t theirs)
{
    const int64_t ours = cells;

    cells = differs ? theirs : ours;
    const int boxes_code = move_boxes(0);
    const char *message = MPIX_Adapt_data_message();
    ET_CHECK(boxes_code == MPI_ERR_ARG && strstr(message, "processes differ in the boxes: rank ") &&
             strstr(message, " on old rank 0") &&
             strstr(message, " has [0, "), "%d: %s", boxes_code, message);
    const int user_code = MPIX_Adapt_data_move(data, &window_now);
    message = MPIX_Adapt_data_message();
    ET_CHECK(user_code == MPI_ERR_ARG && strstr(message, "differ in the layout of array 'v'") &&
             strstr(message, "elements"), "%d: %s", user_code, message);
    cells = ours;
}

static void refuse_calls(epop_window_t *window)
{
    MPIX_Adapt_data other;
    double sums[2] = { 0, 0 };
    FILE *file = NULL;

    REFUSED(differs ? move_boxes(0) : MPIX_Adapt_data_move(data, window), "different calls",
            "MPIX_Adapt_boxes_move of 'u'", "MPIX_Adapt_data_move of 'v'", "old rank 0");
    REFUSED(differs ? move_items(window) : MPIX_Adapt_sums(window, 1, sums), "different calls",
            "MPIX_Adapt_items_move", "MPIX_Adapt_sums");
    REFUSED(differs ? MPIX_Adapt_file(window, 0, "x", &file) : move_boxes(0), "different calls",
            "MPIX_Adapt_file");
    REFUSED(differs ? MPIX_Adapt_window_close(window, NULL) : move_boxes(0), "different calls",
            "MPIX_Adapt_window_close", "MPIX_Adapt_boxes_move of 'u'");
    REFUSED(MPIX_Adapt_sums(window, 1 + differs, sums), "the number of sums", "1 on", "2 on");
    REFUSED(move_boxes(differs), "field 0", "ghost {1, 0, 0}", "ghost {0, 0, 0}");
    /* two sets, in another order */
    ET_MPI(MPIX_Adapt_data_create(&other));
    ET_MPI(MPIX_Adapt_data_share(other, "step", sums, 1, MPI_DOUBLE, NULL));
    REFUSED(MPIX_Adapt_data_move(differs ? other : data, window), "array 0",
            "'step' is a shared variable", "'v' is user");
    ET_MPI(MPIX_Adapt_data_free(&other));
}

/* Of one process: all others have the same error, and its words. */
static void refuse_arguments(const epop_window_t *window)
{
    double sums[1] = { 0 };
    FILE *file = NULL;
    const epop_window_t *none = differs ? NULL : window;
    const MPIX_Field field = field_of(0);
    int64_t stay, sent, received;

    REFUSED(MPIX_Adapt_data_move(data, none), "MPIX_Adapt_data_move", "window is NULL");
    REFUSED(MPIX_Adapt_data_move(differs ? NULL : data, window), "data is NULL");
    REFUSED(MPIX_Adapt_data_start(data, window, differs ? 7 : 0), "there is no such array");
    REFUSED(MPIX_Adapt_data_volume(data, 0, window, &stay, differs ? NULL : &sent, &received),
            "MPIX_Adapt_data_volume", "not NULL");
    REFUSED(move_items(none), "MPIX_Adapt_items_move", "window is NULL");
    REFUSED(MPIX_Adapt_sums(window, differs ? -1 : 1, sums), "negative");
    REFUSED(MPIX_Adapt_file(window, differs ? 99 : 0, "x", &file), "successor is 99");
    REFUSED(MPIX_Adapt_boxes_move(window, differs ? 4 : 1, boxes, NULL, 1, &field), "axes");
    REFUSED(MPIX_Adapt_share(window, differs ? NULL : sums, 8), "address is NULL");
}

static void window(void)
{
    const int joins = et.status == MPI_ADAPT_STATUS_JOINING;

    ET_CHECK(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next,
                                    joins ? MPI_ADAPT_STATUS_LEAVING :
                                    MPI_ADAPT_STATUS_JOINING, &window_now) == MPI_ERR_ARG &&
             strstr(MPIX_Adapt_data_message(), "for this process it is MPI_ADAPT_STATUS_"), "%s",
             MPIX_Adapt_data_message());
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &window_now));
    differs = joins || (et.joining == 0 && et.rank == et.size - 1);
    refuse_cells(0);
    refuse_cells(cells + 7);
    refuse_calls(&window_now);
    refuse_arguments(&window_now);
    if (joins)
        cells = 0;
    ET_MPI(MPIX_Adapt_share(&window_now, &cells, sizeof(cells)));
    ET_MPI(move_boxes(0));
    ET_MPI(MPIX_Adapt_data_move(data, &window_now));
    MPIX_Adapt_window_clear(&window_now);
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPIX_Adapt_data_free(&data));
}

static void after(void)
{
    check(u);
    check(v);
}

int main(int argc, char **argv)
{
    const MPIX_Adapt_layout layout = MPIX_Layout_user(pieces, NULL);

    et_options(&argc, &argv);
    et_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        const int64_t first = begin_of(et.rank, et.size), count =
            begin_of(et.rank + 1, et.size) - first;
        u = malloc((size_t) count * sizeof(double));
        v = malloc((size_t) count * sizeof(double));
        for (int64_t k = 0; k < count; k++)
            u[k] = v[k] = (double) (first + k);
    }
    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_add(data, "v", (void **) &v, MPI_DOUBLE, &layout, NULL, NULL));
    et.window = window;
    et.after = after;
    et_loop();
    free(u);
    free(v);
    ET_MPI(MPIX_Adapt_data_free(&data));
    return et_finish();
}
