/*
 * adapt_data.h: what does not fit together, or finds no space, is refused on all processes alike;
 * the arrays are as before, the window is open, and the next try works.  SPEC-epop D2, D3, F1.
 */

#include "elastic_test.h"
#include <adapt_data.h>

enum { ELEMENTS = 1000 };

static double *field;
static MPIX_Adapt_data data;
static int fails;               /* how many parts there is no space for */
static int64_t shift;           /* of a layout with a gap or an overlap */

static void *grow(int64_t count, void *state)
{
    (void) state;
    if (fails > 0) {
        fails--;
        return NULL;
    }
    return malloc((size_t) count * sizeof(double));
}

static void release(void *part, void *state)
{
    (void) state;
    free(part);
}

static void check_field(void)
{
    int64_t first = (int64_t) ELEMENTS * et.rank / et.size;
    int64_t end = (int64_t) ELEMENTS * (et.rank + 1) / et.size;

    for (int64_t i = first; i < end; i++)
        ET_CHECK(field[i - first] == (double) i, "element %lld", (long long) i);
}

static void add_field(void)
{
    const MPIX_Adapt_memory memory = { grow, release, NULL };
    const MPIX_Adapt_layout layout = MPIX_Layout_block(ELEMENTS);

    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_add(data, "field", (void **) &field, MPI_DOUBLE, &layout, &memory,
                               NULL));
}

/* Whether all move the same array, and the same is under way everywhere. */
static void refuse_another(const epop_window_t *window, int differs)
{
    double *parts[2] = { NULL, NULL };
    const MPIX_Adapt_layout nothing = MPIX_Layout_block(0);
    MPIX_Adapt_data wrong;

    ET_MPI(MPIX_Adapt_data_create(&wrong));
    for (int array = 0; array < 2; array++)
        ET_MPI(MPIX_Adapt_data_add(wrong, "empty", (void **) &parts[array], MPI_DOUBLE, &nothing,
                                   NULL, NULL));
    ET_CHECK(MPIX_Adapt_data_start(wrong, window, differs) == MPI_ERR_ARG, "must fail");
    ET_CHECK(strstr(MPIX_Adapt_data_message(), "nothing has moved"), "%s",
             MPIX_Adapt_data_message());
    ET_MPI(MPIX_Adapt_data_move(wrong, window));
    ET_MPI(MPIX_Adapt_data_free(&wrong));
}

/* A second set, of arrays that are refused; each process owns something of it. */
static void refuse(const epop_window_t *window, const char *name, MPIX_Adapt_layout layout,
                   MPI_Datatype type, int more, const char *word)
{
    double *something =
        et.status == MPI_ADAPT_STATUS_JOINING ? NULL : calloc(ELEMENTS, sizeof(double));
    void *base[3] = { something, something, something };
    const MPIX_Adapt_layout block = MPIX_Layout_block(ELEMENTS);
    MPIX_Adapt_data wrong;

    ET_MPI(MPIX_Adapt_data_create(&wrong));
    ET_MPI(MPIX_Adapt_data_add(wrong, "good", &base[0], MPI_DOUBLE, &block, NULL, NULL));
    ET_MPI(MPIX_Adapt_data_add(wrong, name, &base[1], type, &layout, NULL, NULL));
    if (more)
        ET_MPI(MPIX_Adapt_data_add(wrong, "one more", &base[2], MPI_INT, &block, NULL, NULL));
    ET_CHECK(MPIX_Adapt_data_start(wrong, window, 1) == MPI_ERR_ARG, "%s: must fail", word);
    ET_CHECK(strstr(MPIX_Adapt_data_message(), word), "'%s' in '%s'", word,
             MPIX_Adapt_data_message());
    ET_CHECK(!something || something[0] == 0, "something has moved");
    ET_MPI(MPIX_Adapt_data_free(&wrong));
    free(something);
}

static int64_t pieces(int rank, int size, int64_t max, int64_t *low, int64_t *high, void *state)
{
    (void) state;
    if (max > 0) {
        low[0] = (int64_t) ELEMENTS * rank / size + (rank == 1 ? shift : 0);
        high[0] = (int64_t) ELEMENTS * (rank + 1) / size;
    }
    return 1;
}

static int loses_one(int old_size, const int64_t *old_lengths, int new_size, int64_t *lengths,
                     void *state)
{
    (void) old_size;
    (void) old_lengths;
    (void) state;
    for (int r = 0; r < new_size; r++)
        lengths[r] = r;
    return 0;
}

static void window(void)
{
    const int joins = et.status == MPI_ADAPT_STATUS_JOINING;
    /* some processes, never all of them */
    const int differs = joins || (et.joining == 0 && et.rank == et.size - 1);
    epop_window_t window;

    if (joins)
        add_field();
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &window));
    const MPIX_Adapt_layout block = MPIX_Layout_block(ELEMENTS);
    refuse(&window, "n", MPIX_Layout_block(ELEMENTS + differs), MPI_DOUBLE, 0, "'n'");
    refuse(&window, "type", block, differs ? MPI_FLOAT : MPI_DOUBLE, 0, "'type'");
    refuse(&window, differs ? "his" : "hers", block, MPI_DOUBLE, 0, differs ? "'his'" : "'hers'");
    refuse(&window, "cyclic", differs ? MPIX_Layout_block_cyclic(ELEMENTS, 5) : block, MPI_DOUBLE,
           0, "'cyclic'");
    refuse(&window, "count", block, MPI_DOUBLE, differs, "nothing has moved");
    refuse_another(&window, differs);
    shift = 1;
    refuse(&window, "gap", MPIX_Layout_user(pieces, NULL), MPI_DOUBLE, 0, "no process owns");
    shift = -1;
    refuse(&window, "overlap", MPIX_Layout_user(pieces, NULL), MPI_DOUBLE, 0, "both own");
    refuse(&window, "sum", MPIX_Layout_irregular(joins ? 0 : ELEMENTS, loses_one, NULL), MPI_DOUBLE,
           0, "a different number of elements");
    refuse(&window, "grid", MPIX_Layout_grid(ELEMENTS, 1), MPI_DOUBLE, 0, "not a square");

    /* no space on one process: the last of the new world */
    fails = et.status != MPI_ADAPT_STATUS_LEAVING && window.new_rank == window.new_size - 1;
    ET_CHECK(MPIX_Adapt_data_move(data, &window) == MPI_ERR_NO_MEM, "must fail");
    ET_CHECK(strstr(MPIX_Adapt_data_message(), "'field'") && fails == 0, "%s",
             MPIX_Adapt_data_message());
    if (!joins)
        check_field();
    ET_MPI(MPIX_Adapt_data_move(data, &window));
    MPIX_Adapt_window_clear(&window);
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPIX_Adapt_data_free(&data));
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    et_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        add_field();
        int64_t first = (int64_t) ELEMENTS * et.rank / et.size;
        int64_t end = (int64_t) ELEMENTS * (et.rank + 1) / et.size;
        field = grow(end - first, NULL);
        for (int64_t i = first; i < end; i++)
            field[i - first] = (double) i;
    }
    et.window = window;
    et.after = check_field;
    et_loop();
    free(field);
    ET_MPI(MPIX_Adapt_data_free(&data));
    return et_finish();
}
