/*
 * V10: while data move a process has its old part, its new part, and what is under way; never the
 * whole of an array.  In the window the address space is limited to what it has then, its new part,
 * and 8 messages in each direction with what MPI needs for them; the whole array finds no space
 * there.  A part that only becomes shorter at its end has no other memory: rank 0's when the world
 * grows.  --boxes 1: by adapt_boxes.h.
 */

#include "elastic_test.h"
#include <adapt_boxes.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* 192 MiB; MARGIN in MiB, of messages and MPI */
enum { ROWS = 6144, COLUMNS = 4096, MARGIN = 48 };

static double *part;
static MPIX_Adapt_data data;
static MPI_Datatype row;
static int by_boxes;

static void add_array(void)
{
    const MPIX_Adapt_layout rows = MPIX_Layout_block(ROWS);

    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_add(data, "part", (void **) &part, row, &rows, NULL, NULL));
}

static int rows_only(int rank, int size, int max, MPIX_Box boxes[], void *state)
{
    const int64_t low[] = { (int64_t) ROWS * rank / size, 0 };
    const int64_t high[] = { (int64_t) ROWS * (rank + 1) / size, COLUMNS };

    (void) state;
    if (max > 0)
        boxes[0] = MPIX_Box_of(2, low, high);
    return 1;
}

static size_t bytes_of(int rank, int size)
{
    return rank < 0 ? 0 : (size_t) ((int64_t) ROWS * (rank + 1) / size -
                                    (int64_t) ROWS * rank / size) * COLUMNS * sizeof(double);
}

/* Of this process, in bytes. */
static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    ET_CHECK(file && fscanf(file, "%lu", &pages) == 1, "/proc/self/statm");
    fclose(file);
    return pages * 4096;
}

static void check_part(int rank, int size)
{
    const int64_t first = (int64_t) ROWS * rank / size, end = (int64_t) ROWS * (rank + 1) / size;

    for (int64_t r = first; r < end; r++)
        for (int64_t c = 0; c < COLUMNS; c += 37)
            ET_CHECK(part[(r - first) * COLUMNS + c] == (double) (r * COLUMNS + c), "row %lld",
                     (long long) r);
}

static void window(void)
{
    epop_window_t window;
    struct rlimit limit, before;
    MPIX_Field field = {.name = "part",.element = MPI_DOUBLE,.parts = (void **) &part };

    if (et.status == MPI_ADAPT_STATUS_JOINING)
        add_array();
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &window));
    ET_CHECK(getrlimit(RLIMIT_AS, &before) == 0, "getrlimit");
    limit = before;
    const int is_shortened = window.old_rank == 0 && window.new_size > window.old_size && !by_boxes;
    limit.rlim_cur = address_space() + (size_t) MARGIN * 1024 * 1024 +
        (is_shortened ? 0 : bytes_of(window.new_rank, window.new_size));
    ET_CHECK(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
    /* not malloc: it sets up an arena when it fails */
    ET_CHECK(mmap(NULL, (size_t) ROWS * COLUMNS * sizeof(double), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, "the whole array finds room");
    if (by_boxes)
        ET_MPI(MPIX_Adapt_boxes_move(&window, 2, rows_only, NULL, 1, &field));
    else
        ET_MPI(MPIX_Adapt_data_move(data, &window));
    ET_CHECK(setrlimit(RLIMIT_AS, &before) == 0, "setrlimit");
    MPIX_Adapt_window_clear(&window);
}

static void after(void)
{
    check_part(et.rank, et.size);
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    by_boxes = (int) et_number(argc, argv, "--boxes", 0);
    et_init(&argc, &argv);
    MPI_Type_contiguous(COLUMNS, MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        const int64_t first = (int64_t) ROWS * et.rank / et.size * COLUMNS;
        const size_t bytes = bytes_of(et.rank, et.size);
        add_array();
        part = malloc(bytes);
        for (size_t k = 0; k < bytes / sizeof(double); k++)
            part[k] = (double) (first + (int64_t) k);
    }
    et.window = window;
    et.after = after;
    et_loop();
    free(part);
    ET_MPI(MPIX_Adapt_data_free(&data));
    MPI_Type_free(&row);
    return et_finish();
}
