/*
 * A window in one call needs few rounds of all processes: one reduction for what is registered, one for shared
 * variables, one for arrays, whatever their number, and none for the close (MPI_Allreduce is wrapped).  EPOP.V1
 */

#include "elastic_test.h"
#include <adapt_data.h>

enum { ELEMENTS = 1000, ARRAYS = 5 };

static double *parts[ARRAYS];
static int windows, reductions; /* windows: the same everywhere */

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    reductions++;
    return PMPI_Allreduce(mine, all, count, type, op, comm);
}

static void register_all(void)
{
    static const char *const names[ARRAYS] = { "a", "b", "c", "d", "e" };
    const MPIX_Adapt_layout layout = MPIX_Layout_block(ELEMENTS);

    for (int k = 0; k < ARRAYS; k++)
        ET_MPI(MPIX_Adapt_data_add(MPIX_ADAPT_DEFAULT, names[k], (void **) &parts[k], MPI_DOUBLE, &layout, NULL, NULL));
    MPIX_ADAPT_SHARE(MPIX_ADAPT_DEFAULT, windows);
}

static void check_parts(int fills)
{
    const int64_t first = (int64_t) ELEMENTS * et.rank / et.size, end = (int64_t) ELEMENTS * (et.rank + 1) / et.size;

    for (int k = 0; k < ARRAYS; k++)
        for (int64_t i = first; i < end; i++) {
            if (fills)
                parts[k][i - first] = (double) (i * ARRAYS + k);
            ET_CHECK(parts[k][i - first] == (double) (i * ARRAYS + k), "element %lld of %d", (long long) i, k);
        }
}

static void check_window(void)
{
    ET_CHECK(reductions == 3, "%d reductions", reductions);
    et_world_changed();
    et.epoch = ++windows;
    check_parts(0);
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    et_init(&argc, &argv);
    register_all();
    reductions = 0;
    if (MPIX_Adapt_start(et.status, NULL)) {
        check_window();
    } else {
        for (int k = 0; k < ARRAYS; k++)
            parts[k] = malloc((size_t) (ELEMENTS / et.size + 1) * sizeof(double));
        check_parts(1);
    }
    const double begin = et_seconds();
    while (et.epoch < et.epochs) {
        ET_CHECK(et_seconds() - begin < et.patience_s * (et.epochs + 1), "no adaptation");
        et_idle();
        reductions = 0;
        if (MPIX_Adapt_step())
            check_window();
    }
    for (int k = 0; k < ARRAYS; k++)
        free(parts[k]);
    return et_finish();
}
