/*
 * An array, a field and items that lie in the memory of a GPU are refused on all processes, with
 * the reason; nothing has moved.  There is no GPU here: libcuda.so.1 in the working directory is a
 * stand-in whose device is a part of this process' memory (standin/libcuda.c), loaded as programs
 * load the driver.  Managed memory moves.  --hip VERSION: libamdhip64.so instead.  --ze 1:
 * libze_loader.so.1, of Level Zero.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "elastic_test.h"
#include <adapt_boxes.h>
#include <adapt_items.h>
#include <dlfcn.h>

enum { ELEMENTS = 64 };

static MPIX_Adapt_data data;
static double *field, *box_field;
static char *(*standin) (size_t bytes, int managed);    /* memory of the device */

static void load_driver(int hip, int ze)
{
    char name[40] = "./libcuda.so.1";

    if (ze)
        snprintf(name, sizeof(name), "./libze_loader.so.1");
    if (hip)
        snprintf(name, sizeof(name), "./libamdhip64.so.%d", hip);
    void *driver = dlopen(name, RTLD_NOW | RTLD_LOCAL);

    ET_CHECK(driver != NULL, "%s", dlerror());
    void *symbol = dlsym(driver, "standin_memory");
    memcpy(&standin, &symbol, sizeof(standin));
    ET_CHECK(standin != NULL, "no memory of the device");
}

static int one_box(int rank, int size, int max, MPIX_Box boxes[], void *state)
{
    static const MPIX_Box domain = {.high = {ELEMENTS, 1, 1} };

    (void) state;
    return MPIX_Boxes_even(rank, size, max, boxes, (void *) &domain);
}

static void set_values(double *to)
{
    for (int i = 0; i < ELEMENTS; i++)
        to[i] = i;
}

static void expect_refusal(int error, const char *object)
{
    ET_CHECK(error == MPI_ERR_ARG, "%s: %d", object, error);
    ET_CHECK(strstr(MPIX_Adapt_data_message(), "memory of a GPU") &&
             strstr(MPIX_Adapt_data_message(), object), "%s", MPIX_Adapt_data_message());
}

static void window(void)
{
    const MPIX_Field described = {.name = "boxed",.element = MPI_DOUBLE,
                                  .parts = (void **) &box_field };
    const int is_old = et.status != MPI_ADAPT_STATUS_JOINING;
    double *const host = field, *const host_box = box_field;
    double *device = is_old &&
        et.rank == 0 ? (double *) standin(ELEMENTS * sizeof(double), 0) : NULL;
    epop_window_t w;
    int64_t count = device ? 3 : 0;
    double *items = device;
    int destination[3] = { 0, 0, 0 };

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &w));
    if (device)
        field = box_field = device;
    const MPIX_Column column = {.base = &items,.element = MPI_DOUBLE };
    expect_refusal(MPIX_Adapt_data_move(data, &w), "field");
    expect_refusal(MPIX_Adapt_boxes_move(&w, 1, one_box, NULL, 1, &described), "boxed");
    expect_refusal(MPIX_Adapt_items_move(&w, &count, destination, 1, &column, NULL, NULL),
                   "MPIX_Adapt_items_move");
    ET_CHECK(!device ||
             (field == device && box_field == device && count == 3), "something has moved");
    field = host;
    box_field = host_box;
    if (device) {       /* managed memory is the host's, too */
        field = (double *) standin(ELEMENTS * sizeof(double), 1);
        memcpy(field, host, (size_t) (ELEMENTS / et.size) * sizeof(double));
        free(host);
    }
    ET_MPI(MPIX_Adapt_boxes_move(&w, 1, one_box, NULL, 1, &described));
    ET_MPI(MPIX_Adapt_data_move(data, &w));
    MPIX_Adapt_window_clear(&w);
}

static void *grow(int64_t elements, void *state)
{
    (void) state;
    return malloc((size_t) elements * sizeof(double) + 1);
}

/* The stand-in's memory is never released. */
static void release(void *part, void *state)
{
    (void) state;
    (void) part;
}

static void after(void)
{
    const int first = ELEMENTS * et.rank / et.size;

    for (int i = first; i < ELEMENTS * (et.rank + 1) / et.size; i++)
        ET_CHECK(field[i - first] == i && box_field[i - first] == i, "element %d", i);
}

int main(int argc, char **argv)
{
    const MPIX_Adapt_layout layout = MPIX_Layout_block(ELEMENTS);
    const MPIX_Adapt_memory memory = { grow, release, NULL };

    et_init(&argc, &argv);
    load_driver((int) et_number(argc, argv, "hip", 0), (int) et_number(argc, argv, "ze", 0));
    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_add(data, "field", (void **) &field, MPI_DOUBLE, &layout, &memory,
                               NULL));
    if (et.status != MPI_ADAPT_STATUS_JOINING) {
        double all[ELEMENTS];
        set_values(all);
        const int first = ELEMENTS * et.rank / et.size, mine =
            ELEMENTS * (et.rank + 1) / et.size - first;
        field = malloc((size_t) mine * sizeof(double));
        box_field = calloc((size_t) mine, sizeof(double));
        memcpy(field, all + first, (size_t) mine * sizeof(double));
        memcpy(box_field, all + first, (size_t) mine * sizeof(double));
    }
    et.window = window;
    et.after = after;
    return et_run();
}
