/*
 * Files with types that MPI_Type_create_resized has given other bounds: these state where the next element begins, and
 * move no data, in memory as in the view of a file, by independent and collective operations (defect 53).
 */

#include "elastic_test.h"

enum { EXTENT = 23, DATA = 5, ELEMENTS = 3, BYTES = 200 };

static const int positions[DATA] = { 10, 11, 14, 15, 16 };
static MPI_File file;
static char plain[BYTES], seen[BYTES];

static void write_at(int collective, const void *data, int n, MPI_Datatype type)
{
    if (collective)
        ET_MPI(MPI_File_write_at_all(file, 0, data, n, type, MPI_STATUS_IGNORE));
    else
        ET_MPI(MPI_File_write_at(file, 0, data, n, type, MPI_STATUS_IGNORE));
}

static void read_at(int collective, void *data, int n, MPI_Datatype type)
{
    if (collective)
        ET_MPI(MPI_File_read_at_all(file, 0, data, n, type, MPI_STATUS_IGNORE));
    else
        ET_MPI(MPI_File_read_at(file, 0, data, n, type, MPI_STATUS_IGNORE));
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
            const int packed = DATA * k + i, typed = EXTENT * k + positions[i];
            const int from = packed_first ? packed : typed, to = packed_then ? packed : typed;
            ET_CHECK(seen[to] == plain[from], "%s, lower bound %d, element %d of %d: byte %d is %d, not %d", what, lb,
                     k, n, to, seen[to], plain[from]);
        }
}

static void check(MPI_Datatype type, int lb, int n, int collective)
{
    view(MPI_CHAR);
    write_at(collective, plain, n, type);
    read_at(collective, seen, n * DATA, MPI_CHAR);
    expect("written from memory", lb, n, 0, 1);
    view(MPI_CHAR);
    write_at(collective, plain, n * DATA, MPI_CHAR);
    read_at(collective, seen, n, type);
    expect("read into memory", lb, n, 1, 0);
    if (lb < 0)
        return;                 /* not in a view */
    view(type);
    write_at(collective, plain, n * DATA, MPI_CHAR);
    view(MPI_CHAR);
    read_at(collective, seen, n * EXTENT, MPI_CHAR);
    expect("written by a view", lb, n, 1, 0);
    view(type);
    read_at(collective, seen, n * DATA, MPI_CHAR);
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
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, "bounds.data", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
    ET_MPI(MPI_Type_indexed(2, lengths, begins, MPI_CHAR, &blocks));
    for (size_t i = 0; i < sizeof(lower) / sizeof(*lower); i++) {
        ET_MPI(MPI_Type_create_resized(blocks, lower[i], EXTENT, &once));
        ET_MPI(MPI_Type_create_resized(once, 0, EXTENT, &again));
        ET_MPI(MPI_Type_commit(&once));
        ET_MPI(MPI_Type_commit(&again));
        for (int n = 1; n <= ELEMENTS; n++)
            for (int collective = 0; collective < 2; collective++) {
                check(once, lower[i], n, collective);
                check(again, 0, n, collective);
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
