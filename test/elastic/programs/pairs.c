/*
 * Data of the predefined pairs (MPI_DOUBLE_INT and its like), which have gaps without being derived
 * types: alone, in contiguous types and in vectors, from one element to more than any buffer holds,
 * where messages are split within an element (defect 52).
 *
 * --case messages | windows | files
 */

#include <stddef.h>
#include "elastic_test.h"

enum { MOST_BYTES = 32 };

static const struct pair {
    const char *name;
    MPI_Datatype handle;
    int extent, second;         /* where the int is */
} pairs[] = {
#define PAIR(name, type) {#name, MPI_##name, sizeof(struct {type a; int b;}), \
                          offsetof(struct {type a; int b;}, b)}
    PAIR(FLOAT_INT, float), PAIR(DOUBLE_INT, double), PAIR(LONG_INT, long), PAIR(SHORT_INT, short),
    PAIR(LONG_DOUBLE_INT, long double), PAIR(2INT, int)
};

static const struct pair *pair;
static int count, step;         /* elements, and how many there are up to the next that counts */
static char *sent, *seen;

static void set(char *at, int value)
{
    const int second = 1000 * value + 7;

    memset(at, 0, (size_t) pair->second);
    if (pair->handle == MPI_FLOAT_INT)
        *(float *) at = (float) value;
    else if (pair->handle == MPI_DOUBLE_INT)
        *(double *) at = value;
    else if (pair->handle == MPI_LONG_INT)
        *(long *) at = value;
    else if (pair->handle == MPI_SHORT_INT)
        *(short *) at = (short) value;
    else if (pair->handle == MPI_LONG_DOUBLE_INT)
        *(long double *) at = value;
    else
        *(int *) at = value;
    memcpy(at + pair->second, &second, sizeof(second));
}

static void fill(void)
{
    memset(seen, 0, (size_t) (count * pair->extent));
    for (int i = 0; i < count; i++)
        set(sent + i * pair->extent, i % 1000 + et.rank);
}

/* All elements, or each `step`th, are those of the process. */
static void expect(const char *memory, int process, const char *call)
{
    const int bytes =
        pair->handle == MPI_LONG_DOUBLE_INT ? 10 : pair->handle == MPI_SHORT_INT ? 2 : pair->second;
    char right[MOST_BYTES];

    for (int i = 0; i < count; i += step) {
        const char *at = memory + i * pair->extent;
        int same;
        set(right, i % 1000 + process);
        same = !memcmp(at, right, (size_t) bytes) &&
            !memcmp(at + pair->second, right + pair->second, sizeof(int));
        ET_CHECK(same, "%s of %d MPI_%s, each %d. counts: element %d is wrong", call, count,
                 pair->name, step, i);
    }
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void in_messages(int n, MPI_Datatype type)
{
    const int partner = et.size - 1 - et.rank;

    fill();
    ET_MPI(MPI_Sendrecv(sent, n, type, partner, 1, seen, n, type, partner, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
    expect(seen, partner, "Sendrecv");
    fill();
    ET_MPI(MPI_Sendrecv(sent, n, type, 0, 1, seen, n, type, 0, 1, MPI_COMM_SELF,
                        MPI_STATUS_IGNORE));
    expect(seen, et.rank, "Sendrecv with itself");
    fill();
    ET_MPI(MPI_Bcast(et.rank == 0 ? sent : seen, n, type, 0, MPI_COMM_WORLD));
    expect(et.rank == 0 ? sent : seen, 0, "Bcast");
}

static void in_windows(int n, MPI_Datatype type)
{
    const int partner = et.size - 1 - et.rank, accumulates = n == count;
    char *memory;
    MPI_Win win;

    ET_MPI(MPI_Win_allocate((MPI_Aint) count * pair->extent, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                            &memory, &win));
    for (int replaces = 0; replaces <= accumulates; replaces++) {
        fill();
        memset(memory, 0, (size_t) (count * pair->extent));
        ET_MPI(MPI_Win_fence(0, win));
        if (replaces)
            ET_MPI(MPI_Accumulate(sent, n, type, partner, 0, n, type, MPI_REPLACE, win));
        else
            ET_MPI(MPI_Put(sent, n, type, partner, 0, n, type, win));
        ET_MPI(MPI_Win_fence(0, win));
        expect(memory, partner, replaces ? "Accumulate" : "Put");
        ET_MPI(MPI_Get(seen, n, type, partner, 0, n, type, win));
        ET_MPI(MPI_Win_fence(0, win));
        expect(seen, et.rank, "Get");
    }
    ET_MPI(MPI_Win_free(&win));
}

static void in_files(int n, MPI_Datatype type)
{
    MPI_File file;
    MPI_Status status;
    MPI_Datatype etype, filetype;
    MPI_Offset displacement;
    char mode[MPI_MAX_DATAREP_STRING];
    int elements;

    fill();
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, "pairs.data",
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
    for (int views = 0; views < 2; views++) {
        const MPI_Offset begin = (MPI_Offset) et.rank * 2 * count * pair->extent;
        fill();
        ET_MPI(MPI_File_set_view(file, begin, views ? pair->handle : MPI_BYTE,
                                 views ? type : MPI_BYTE, "native", MPI_INFO_NULL));
        ET_MPI(MPI_File_write_at_all(file, 0, sent, n, type, &status));
        ET_MPI(MPI_Get_count(&status, type, &elements));
        ET_CHECK(elements == n, "%d of %d elements of MPI_%s are written", elements, n, pair->name);
        ET_MPI(MPI_File_read_at(file, 0, seen, n, type, &status));
        ET_MPI(MPI_Get_count(&status, type, &elements));
        ET_CHECK(elements == n, "%d of %d elements of MPI_%s are read", elements, n, pair->name);
        expect(seen, et.rank, views ? "reading by a view" : "reading");
    }
    ET_MPI(MPI_File_set_view(file, 0, pair->handle, pair->handle, "native", MPI_INFO_NULL));
    ET_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, mode));
    ET_CHECK(etype == pair->handle && filetype == pair->handle, "the view is not of MPI_%s",
             pair->name);
    ET_MPI(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    static const int counts[] = { 1, 3, 1000, 5000, 30000 };
    const char *which = et_argument(argc, argv, "case", "messages");
    void (*run) (int, MPI_Datatype) = strcmp(which, "windows") == 0 ? in_windows :
        strcmp(which, "files") == 0 ? in_files : in_messages;

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    for (pair = pairs; pair < pairs + sizeof(pairs) / sizeof(*pairs); pair++)
        for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
            MPI_Datatype together, vector;
            count = counts[i];
            sent = malloc((size_t) (count * pair->extent));
            seen = malloc((size_t) (count * pair->extent));
            ET_CHECK(sent && seen, "no memory");
            ET_MPI(MPI_Type_contiguous(count, pair->handle, &together));
            ET_MPI(MPI_Type_commit(&together));
            ET_MPI(MPI_Type_vector((count + 1) / 2, 1, 2, pair->handle, &vector));
            ET_MPI(MPI_Type_commit(&vector));
            step = 1;
            run(count, pair->handle);
            run(1, together);
            step = 2;
            run(1, vector);
            ET_MPI(MPI_Type_free(&vector));
            ET_MPI(MPI_Type_free(&together));
            free(sent);
            free(seen);
        }
    if (et.rank == 0)
        et_log("PASS pairs %s", which);
    ET_MPI(MPI_Finalize());
    return 0;
}
