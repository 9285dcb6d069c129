/*
 * F2: the highest process of the new world is killed while its array moves: after the agreement,
 * before its wait.  The job ends with a report, as for any death in a window.
 */

#include "elastic_test.h"
#include <adapt_data.h>
#include <signal.h>

enum { ELEMENTS = 1 << 20 };

static double *part;
static MPIX_Adapt_data data;

static void add_array(void)
{
    const MPIX_Adapt_layout layout = MPIX_Layout_block(ELEMENTS);

    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_add(data, "part", (void **) &part, MPI_DOUBLE, &layout, NULL, NULL));
}

static void window(void)
{
    epop_window_t window;

    if (et.status == MPI_ADAPT_STATUS_JOINING)
        add_array();
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &window));
    ET_MPI(MPIX_Adapt_data_start(data, &window, MPIX_ALL_ARRAYS));
    if (window.new_rank == window.new_size - 1) {
        et_log("DYING epoch=%d rank=%d", et.epoch + 1, window.new_rank);
        raise(SIGKILL);
    }
    ET_MPI(MPIX_Adapt_data_wait(data, MPIX_ALL_ARRAYS));
    et_sleep_ms(1000 * et.patience_s);
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        add_array();
        part = calloc(ELEMENTS, sizeof(double));
    }
    et.window = window;
    return et_run();
}
