/*
 * adapt_window.h: a window in one call, and its communicator of all processes.  An array that is
 * not waited for is named by commit on all processes that have a part in it, and the next try
 * works.  SPEC-epop D, X2, F3.
 */

#include "elastic_test.h"
#include <adapt_data.h>

enum { ELEMENTS = 4096 };

static double *field, *other;
static MPIX_Adapt_data data;

static void add_arrays(void)
{
    const MPIX_Adapt_layout layout = MPIX_Layout_block(ELEMENTS);

    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_add(data, "other", (void **) &other, MPI_DOUBLE, &layout, NULL, NULL));
    ET_MPI(MPIX_Adapt_data_add(data, "field", (void **) &field, MPI_DOUBLE, &layout, NULL, NULL));
}

static int64_t first_of(int rank, int size)
{
    return (int64_t) ELEMENTS * rank / size;
}

/* Old rank r has rank r, joining process j the rank after all of them. */
static void check_all(const epop_window_t *window, MPI_Comm all)
{
    int rank, size, expected;

    ET_MPI(MPI_Comm_rank(all, &rank));
    ET_MPI(MPI_Comm_size(all, &size));
    expected = window->old_rank >= 0 ? window->old_rank :
        window->old_size + window->new_rank - window->staying;
    ET_CHECK(rank == expected && size == window->old_size + window->joining,
             "%d of %d, expected %d", rank, size, expected);
    int *new_ranks = malloc((size_t) size * sizeof(int));
    ET_MPI(MPI_Allgather(&window->new_rank, 1, MPI_INT, new_ranks, 1, MPI_INT, all));
    for (int r = 0; r < window->old_size; r++)
        ET_CHECK(new_ranks[r] == window->new_rank_of[r], "new rank of %d: %d", r, new_ranks[r]);
    free(new_ranks);
    et_exercise(all, "all processes");
}

static void check_window(const epop_window_t *window)
{
    const int joins = window->status == MPI_ADAPT_STATUS_JOINING;

    ET_CHECK(window->status == et.status, "status %d", window->status);
    ET_CHECK((window->old_rank < 0) == joins, "old rank %d", window->old_rank);
    ET_CHECK((window->new_rank < 0) == (et.status == MPI_ADAPT_STATUS_LEAVING), "new rank %d",
             window->new_rank);
    ET_CHECK(joins || (window->old_rank == et.rank && window->old_size == et.size), "%d of %d",
             window->old_rank, window->old_size);
    ET_CHECK(window->old_size == window->staying + window->leaving &&
             window->new_size == window->staying + window->joining, "counts");
}

static void expect_refused(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class;

    ET_MPI(MPI_Error_class(code, &class));
    ET_MPI(MPI_Error_string(code, text, &length));
    ET_CHECK(class == MPI_ERR_PENDING, "class %d", class);
    ET_CHECK(strstr(text, "'field'"), "no name of the array in: %s", text);
}

/* Two sets, or two libraries, that each open a window: the second one is an error, and the first
 * stays open. */
static void refuse_second(void)
{
    epop_window_t second;
    MPIX_Adapt_data set;

    ET_CHECK(MPIX_Adapt_window_open(et.status, &second, NULL) == MPI_ERR_ARG, "must fail");
    ET_CHECK(strstr(MPIX_Adapt_data_message(),
                    "MPIX_Adapt_window_open: a window is open in this process"),
             "%s", MPIX_Adapt_data_message());
    ET_MPI(MPIX_Adapt_data_create(&set));
    ET_CHECK(MPIX_Adapt_window(set, et.status, NULL, NULL) == MPI_ERR_ARG, "must fail");
    ET_CHECK(strstr(MPIX_Adapt_data_message(),
                    "MPIX_Adapt_window: a window is open in this process"),
             "%s", MPIX_Adapt_data_message());
    ET_MPI(MPIX_Adapt_data_free(&set));
}

static void adapt(void)
{
    epop_window_t window;
    MPI_Comm all;
    int64_t first, end;
    double notified = et.epoch;

    ET_CHECK(MPIX_Adapt_window_open(12345, &window, &all) == MPI_ERR_ARG, "must fail");
    ET_MPI(MPIX_Adapt_window_open(et.status, &window, &all));
    check_window(&window);
    check_all(&window, all);
    refuse_second();
    ET_MPI(MPI_Bcast(&notified, 1, MPI_DOUBLE, 0, all));
    et.epoch = (int) notified;

    if (et.status == MPI_ADAPT_STATUS_JOINING)
        add_arrays();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    ET_MPI(MPIX_Adapt_data_start(data, &window, MPIX_ALL_ARRAYS));
    ET_MPI(MPIX_Adapt_data_wait(data, 0));
    expect_refused(MPIX_Adapt_window_close(&window, &all));
    expect_refused(MPI_Comm_adapt_commit());
    ET_MPI(MPIX_Adapt_data_wait(data, 1));
    check_all(&window, all);
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPIX_Adapt_data_free(&data));
    ET_MPI(MPIX_Adapt_window_close(&window, &all));
    ET_CHECK(all == MPI_COMM_NULL && !window.new_rank_of, "the window is still there");
    ET_CHECK(MPIX_Adapt_window_close(&window, &all) == MPI_ERR_ARG, "must fail");
    et_world_changed();
    et.epoch++;
    et.probes = 0;
    et.status = MPI_ADAPT_STATUS_STAYING;
    first = first_of(et.rank, et.size);
    end = first_of(et.rank + 1, et.size);
    for (int64_t i = first; i < end; i++)
        ET_CHECK(field[i - first] == (double) i && other[i - first] == (double) -i, "element %lld",
                 (long long) i);
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    et_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (et.status == MPI_ADAPT_STATUS_JOINING) {
        adapt();
    } else {
        const int64_t first = first_of(et.rank, et.size), end = first_of(et.rank + 1, et.size);
        add_arrays();
        field = malloc((size_t) (end - first) * sizeof(double));
        other = malloc((size_t) (end - first) * sizeof(double));
        for (int64_t i = first; i < end; i++) {
            field[i - first] = (double) i;
            other[i - first] = (double) -i;
        }
    }
    while (et.epoch < et.epochs) {
        et_idle();
        if (et_probe())
            adapt();
    }
    free(field);
    free(other);
    ET_MPI(MPIX_Adapt_data_free(&data));
    return et_finish();
}
