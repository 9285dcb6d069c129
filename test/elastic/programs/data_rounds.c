/*
 * A window in one call needs few rounds of all processes (MPI_Allreduce is wrapped): one reduction
 * for shared variables and arrays, whatever their number, and for what is registered; none for the
 * close.  --reads 1: the layout of an array is a function that reads a shared variable, which moves
 * first: two.  No library is searched for (dlopen is wrapped), which would take longer than moving
 * a small array.  EPOP.V1
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "elastic_test.h"
#include <adapt_data.h>
#include <dlfcn.h>

enum { ELEMENTS = 1000, ARRAYS = 5 };

static double *parts[ARRAYS];
static int windows, reductions; /* windows: the same everywhere */
/* the same; with --reads input, which joining processes do not have */
static int64_t elements = ELEMENTS;
static int reads, searches;

void *dlopen(const char *name, int mode)
{
    void *(*real) (const char *, int) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "dlopen");

    memcpy(&real, &symbol, sizeof(real));
    searches += (mode & RTLD_NOLOAD) != 0;
    return real(name, mode);
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    reductions++;
    return PMPI_Allreduce(mine, all, count, type, op, comm);
}

static int64_t pieces(int rank, int size, int64_t max, int64_t *low, int64_t *high, void *state)
{
    (void) state;
    if (max > 0) {
        low[0] = elements * rank / size;
        high[0] = elements * (rank + 1) / size;
    }
    return 1;
}

static void register_all(void)
{
    static const char *const names[ARRAYS] = { "a", "b", "c", "d", "e" };
    const MPIX_Adapt_layout layout =
        reads ? MPIX_Layout_user(pieces, NULL) : MPIX_Layout_block(ELEMENTS);

    for (int k = 0; k < ARRAYS; k++)
        ET_MPI(MPIX_Adapt_data_add(MPIX_ADAPT_DEFAULT, names[k], (void **) &parts[k], MPI_DOUBLE,
                                   &layout, NULL, NULL));
    MPIX_ADAPT_SHARE(MPIX_ADAPT_DEFAULT, windows, elements);
}

static void check_parts(int fills)
{
    const int64_t first = (int64_t) ELEMENTS * et.rank / et.size, end =
        (int64_t) ELEMENTS *(et.rank + 1) / et.size;

    for (int k = 0; k < ARRAYS; k++)
        for (int64_t i = first; i < end; i++) {
            if (fills)
                parts[k][i - first] = (double) (i * ARRAYS + k);
            ET_CHECK(parts[k][i - first] == (double) (i * ARRAYS + k), "element %lld of %d",
                     (long long) i, k);
        }
}

static void check_window(void)
{
    ET_CHECK(reductions == 1 + reads, "%d reductions", reductions);
    ET_CHECK(searches == 0, "%d searches for libraries", searches);
    ET_CHECK(elements == ELEMENTS, "%lld elements", (long long) elements);
    et_world_changed();
    et.epoch = ++windows;
    check_parts(0);
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    et_init(&argc, &argv);
    reads = (int) et_number(argc, argv, "reads", 0);
    if (reads && et.status == MPI_ADAPT_STATUS_JOINING)
        elements = 0;
    register_all();
    reductions = searches = 0;
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
        reductions = searches = 0;
        if (MPIX_Adapt_step())
            check_window();
    }
    for (int k = 0; k < ARRAYS; k++)
        free(parts[k]);
    return et_finish();
}
