/*
 * adapt_data.h: memory is missing for a message, after all processes have agreed to move.  That
 * ends the job with a reason, also if the program takes no notice of the code, unless errors
 * return.  SPEC-epop F3.
 *
 * The allocations of this program are its own: in rank 0 the first one after the agreement fails.
 */

#define _GNU_SOURCE
#include "elastic_test.h"
#include <adapt_data.h>
#include <dlfcn.h>

enum { ELEMENTS = 1000 };

extern void *__libc_malloc(size_t bytes);

static volatile int moves, armed;
static double *part;
static MPIX_Adapt_data data;

/* The library is a part of the program; MPI's allocations do not count. */
static int is_of_program(void *caller)
{
    Dl_info of_caller, own;

    return dladdr(caller, &of_caller) && dladdr((void *) &armed, &own) &&
        of_caller.dli_fbase == own.dli_fbase;
}

void *malloc(size_t bytes)
{
    if (armed && is_of_program(__builtin_return_address(0))) {
        armed = 0;
        return NULL;
    }
    return __libc_malloc(bytes);
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    int code = PMPI_Allreduce(mine, all, count, type, op, comm);

    armed = moves;
    moves = 0;
    return code;
}

static void add(void)
{
    const MPIX_Adapt_layout layout = MPIX_Layout_block_cyclic(ELEMENTS, 5);

    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_add(data, "field", (void **) &part, MPI_DOUBLE, &layout, NULL, NULL));
}

static void window(void)
{
    epop_window_t window;

    if (et.status == MPI_ADAPT_STATUS_JOINING)
        add();
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &window));
    moves = et.status != MPI_ADAPT_STATUS_JOINING && et.rank == 0;
    (void) MPIX_Adapt_data_move(data, &window);
    MPIX_Adapt_window_clear(&window);
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        add();
        part = calloc(ELEMENTS, sizeof(double));
    }
    et.window = window;
    et_loop();
    free(part);
    ET_MPI(MPIX_Adapt_data_free(&data));
    return et_finish();
}
