/*
 * Files with types that MPI_Type_create_resized has given other bounds: these state where the next
 * element begins, and move no data, in memory as in the view of a file.  By operations at an
 * offset, by collective ones, and by ones that move the individual pointer, an element each (defect
 * 53).
 */

#include "elastic_test.h"

enum { DATA = 5, ELEMENTS = 3, BYTES = 200 };
enum how { AT, AT_ALL, POINTER, HOWS };

static const int positions[DATA] = { 10, 11, 14, 15, 16 };
static int extent;
static MPI_File file;
static char plain[BYTES], seen[BYTES];

/* n elements, of `step` items of the type each */
static void write_data(enum how how, const char *data, int n, int step, MPI_Datatype type)
{
    MPI_Aint lb, bytes;

    ET_MPI(MPI_Type_get_extent(type, &lb, &bytes));
    ET_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
    if (how == AT)
        ET_MPI(MPI_File_write_at(file, 0, data, n * step, type, MPI_STATUS_IGNORE));
    else if (how == AT_ALL)
        ET_MPI(MPI_File_write_at_all(file, 0, data, n * step, type, MPI_STATUS_IGNORE));
    for (int k = 0; k < n && how == POINTER; k++)
        ET_MPI(MPI_File_write(file, data + k * step * bytes, step, type, MPI_STATUS_IGNORE));
}

static void read_data(enum how how, char *data, int n, int step, MPI_Datatype type)
{
    MPI_Aint lb, bytes;

    ET_MPI(MPI_Type_get_extent(type, &lb, &bytes));
    ET_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
    if (how == AT)
        ET_MPI(MPI_File_read_at(file, 0, data, n * step, type, MPI_STATUS_IGNORE));
    else if (how == AT_ALL)
        ET_MPI(MPI_File_read_at_all(file, 0, data, n * step, type, MPI_STATUS_IGNORE));
    for (int k = 0; k < n && how == POINTER; k++)
        ET_MPI(MPI_File_read(file, data + k * step * bytes, step, type, MPI_STATUS_IGNORE));
}

static void view(MPI_Datatype filetype)
{
    ET_MPI(MPI_File_set_view(file, et.rank * BYTES, MPI_CHAR, filetype, "native", MPI_INFO_NULL));
    memset(seen, 0, BYTES);
}

/* Byte i of element k: where it is among those that are packed, or at the positions of the type. */
static void expect(const char *what, int lb, int n, int packed_first, int packed_then)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < DATA; i++) {
            const int packed = DATA * k + i, typed = extent * k + positions[i];
            const int from = packed_first ? packed : typed, to = packed_then ? packed : typed;
            ET_CHECK(seen[to] == plain[from],
                     "%s, lower bound %d, element %d of %d: byte %d is %d, not %d", what, lb, k, n,
                     to, seen[to], plain[from]);
        }
}

static void check(MPI_Datatype type, int lb, int n, enum how how)
{
    view(MPI_CHAR);
    write_data(how, plain, n, 1, type);
    read_data(how, seen, n, DATA, MPI_CHAR);
    expect("written from memory", lb, n, 0, 1);
    view(MPI_CHAR);
    write_data(how, plain, n, DATA, MPI_CHAR);
    read_data(how, seen, n, 1, type);
    expect("read into memory", lb, n, 1, 0);
    if (lb < 0)
        return;                 /* not in a view */
    view(type);
    write_data(how, plain, n, DATA, MPI_CHAR);
    view(MPI_CHAR);
    read_data(AT, seen, 1, BYTES / 2, MPI_CHAR);
    expect("written by a view", lb, n, 1, 0);
    view(type);
    read_data(how, seen, n, DATA, MPI_CHAR);
    expect("read by a view", lb, n, 1, 1);
}

int main(int argc, char **argv)
{
    static const int lower[] = { 0, 5, 10, 12, -3 };
    int lengths[] = { 2, 3 }, begins[] = { 10, 14 };
    MPI_Datatype blocks, once, again;

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    for (int i = 0; i < BYTES; i++)
        plain[i] = (char) (1 + (i + 50 * et.rank) % 120);
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, "bounds.data",
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
    ET_MPI(MPI_Type_indexed(2, lengths, begins, MPI_CHAR, &blocks));
    for (size_t i = 0; i < 2 * sizeof(lower) / sizeof(*lower); i++) {
        const int lb = lower[i / 2];
        extent = i % 2 ? 23 : 9;        /* it begins beyond its extent */
        ET_MPI(MPI_Type_create_resized(blocks, lb, extent, &once));
        ET_MPI(MPI_Type_create_resized(once, 0, extent, &again));
        ET_MPI(MPI_Type_commit(&once));
        ET_MPI(MPI_Type_commit(&again));
        for (int n = 1; n <= ELEMENTS; n++)
            for (enum how how = AT; how < HOWS; how++) {
                check(once, lb, n, how);
                check(again, 0, n, how);
            }
        ET_MPI(MPI_Type_free(&again));
        ET_MPI(MPI_Type_free(&once));
    }
    ET_MPI(MPI_Type_free(&blocks));
    ET_MPI(MPI_File_close(&file));
    if (et.rank == 0)
        et_log("PASS files bounds");
    ET_MPI(MPI_Finalize());
    return 0;
}
