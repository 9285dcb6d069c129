/*
 * Files in the data representation external32: each call that reads gets what was written, and each
 * call that writes writes it, also with gaps in memory.  Processes have blocks in turn, so that
 * collective operations exchange data.  With --large 1 one process writes more than 2 GiB with
 * gaps.
 */

#include "elastic_test.h"

#define ELEMENTS 5000
#define MOST_STRIDE 4

static const char *const path = "file_external32.data";
static int memory[2][2 * MOST_STRIDE * ELEMENTS];
static int *const numbers = memory[0] + MOST_STRIDE * ELEMENTS, *const buf =
    memory[1] + MOST_STRIDE * ELEMENTS;
/* The numbers in memory: where the first one is, and how far it is to the next. */
static const struct layout {
    int first, stride;
} layouts[] = { {0, 1}, {0, MOST_STRIDE}, {ELEMENTS, 1}, {ELEMENTS, 3}, {-ELEMENTS, 2}, {0, -2} };
static const struct layout *layout;
static MPI_Datatype element;
static MPI_File file;
static MPI_Status status;
static MPI_Request request;

static void view(int is_ordered)
{
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_resized(MPI_INT, 0, (is_ordered ? 1 : et.size) * 4, &type));
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_File_set_view(file, is_ordered ? 0 : 4 * et.rank, MPI_INT, type, "external32",
                             MPI_INFO_NULL));
    ET_MPI(MPI_Type_free(&type));
}

static int index_of(int i)
{
    return layout->first + i * layout->stride;
}

static void make_element(void)
{
    MPI_Aint first = layout->first * (MPI_Aint) sizeof(int);
    MPI_Datatype one;

    ET_MPI(MPI_Type_create_hindexed_block(1, 1, &first, MPI_INT, &one));
    ET_MPI(MPI_Type_create_resized(one, 0, layout->stride * (MPI_Aint) sizeof(int), &element));
    ET_MPI(MPI_Type_free(&one));
    ET_MPI(MPI_Type_commit(&element));
}

/* Calls with the shared pointer that are not collective. */
static void in_turn(void (*call) (void))
{
    for (int rank = 0; rank < et.size; rank++) {
        if (rank == et.rank)
            call();
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void wait_for_request(void)
{
    ET_MPI(MPI_Wait(&request, &status));
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_here(void)
{
    ET_MPI(MPI_File_read_at(file, 0, buf, ELEMENTS, element, &status));
}

static void read_all(void)
{
    ET_MPI(MPI_File_read_all(file, buf, ELEMENTS, element, &status));
}

static void read_split(void)
{
    ET_MPI(MPI_File_read_at_all_begin(file, 0, buf, ELEMENTS, element));
    ET_MPI(MPI_File_read_at_all_end(file, buf, &status));
}

static void iread_here(void)
{
    ET_MPI(MPI_File_iread_at(file, 0, buf, ELEMENTS, element, &request));
    wait_for_request();
}

static void iread(void)
{
    ET_MPI(MPI_File_iread(file, buf, ELEMENTS, element, &request));
    wait_for_request();
}

static void iread_all(void)
{
    ET_MPI(MPI_File_iread_all(file, buf, ELEMENTS, element, &request));
    wait_for_request();
}

static void read_ordered(void)
{
    ET_MPI(MPI_File_read_ordered(file, buf, ELEMENTS, element, &status));
}

static void read_ordered_split(void)
{
    ET_MPI(MPI_File_read_ordered_begin(file, buf, ELEMENTS, element));
    ET_MPI(MPI_File_read_ordered_end(file, buf, &status));
}

static void read_next(void)
{
    ET_MPI(MPI_File_read_shared(file, buf, ELEMENTS, element, &status));
}

static void read_shared(void)
{
    in_turn(read_next);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_here(void)
{
    ET_MPI(MPI_File_write_at(file, 0, numbers, ELEMENTS, element, &status));
}

static void write_all(void)
{
    ET_MPI(MPI_File_write_all(file, numbers, ELEMENTS, element, &status));
}

static void iwrite_here(void)
{
    ET_MPI(MPI_File_iwrite_at(file, 0, numbers, ELEMENTS, element, &request));
    wait_for_request();
}

static void iwrite(void)
{
    ET_MPI(MPI_File_iwrite(file, numbers, ELEMENTS, element, &request));
    wait_for_request();
}

static void iwrite_all(void)
{
    ET_MPI(MPI_File_iwrite_all(file, numbers, ELEMENTS, element, &request));
    wait_for_request();
}

static void write_ordered(void)
{
    ET_MPI(MPI_File_write_ordered(file, numbers, ELEMENTS, element, &status));
}

static void write_split(void)
{
    ET_MPI(MPI_File_write_at_all_begin(file, 0, numbers, ELEMENTS, element));
    ET_MPI(MPI_File_write_at_all_end(file, numbers, &status));
}

static void write_ordered_split(void)
{
    ET_MPI(MPI_File_write_ordered_begin(file, numbers, ELEMENTS, element));
    ET_MPI(MPI_File_write_ordered_end(file, numbers, &status));
}

static void write_next(void)
{
    ET_MPI(MPI_File_write_shared(file, numbers, ELEMENTS, element, &status));
}

static void write_shared(void)
{
    in_turn(write_next);
}

static const struct call {
    const char *name;
    void (*call) (void);
    int writes, is_ordered;
} calls[] = {
    {"read_at", read_here, 0, 0}, {"read_all", read_all, 0, 0},
    {"read_at_all_begin", read_split, 0, 0},
    {"iread_at", iread_here, 0, 0}, {"iread", iread, 0, 0}, {"iread_all", iread_all, 0, 0},
    {"read_ordered", read_ordered, 0, 1}, {"read_ordered_begin", read_ordered_split, 0, 1},
    {"read_shared", read_shared, 0, 1}, {"write_shared", write_shared, 1, 1},
    {"write_at_all_begin", write_split, 1, 0}, {"write_ordered_begin", write_ordered_split, 1, 1},
    {"write_at", write_here, 1, 0}, {"write_all", write_all, 1, 0},
    {"iwrite_at", iwrite_here, 1, 0}, {"iwrite", iwrite, 1, 0}, {"iwrite_all", iwrite_all, 1, 0},
    {"write_ordered", write_ordered, 1, 1},
};

static void check(const struct call *call)
{
    view(call->is_ordered);
    for (int i = 0; i < ELEMENTS; i++)
        buf[index_of(i)] = -1;
    if (call->writes)           /* something else than what is written */
        ET_MPI(MPI_File_write_ordered(file, buf, ELEMENTS, element, &status));
    else if (call->is_ordered)
        write_ordered();
    else
        write_here();
    ET_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    MPI_Barrier(MPI_COMM_WORLD);
    call->call();
    MPI_Barrier(MPI_COMM_WORLD);
    if (call->writes && call->is_ordered) {
        ET_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
        read_ordered();
    } else if (call->writes) {
        read_here();
    }
    for (int i = 0; i < ELEMENTS; i++)
        ET_CHECK(buf[index_of(i)] == numbers[index_of(i)],
                 "%s, in memory from %d by %d: number %d is %d, not %d", call->name, layout->first,
                 layout->stride, i, buf[index_of(i)], numbers[index_of(i)]);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_layout(void)
{
    make_element();
    for (int i = 0; i < ELEMENTS; i++)
        numbers[index_of(i)] = 100000 * (et.rank + 1) + i;
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, path,
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
    for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        check(&calls[i]);
    ET_MPI(MPI_File_close(&file));
    ET_MPI(MPI_Type_free(&element));
}

/* All parts of the file are the same bytes of memory, two halves with a gap, so that these are
 * few. */
static void check_large(void)
{
    enum { HALF = 1 << 17, PARTS = 2049 };
    static int part[3 * HALF], seen[3 * HALF];
    const MPI_Offset part_bytes = 2 * HALF * sizeof(int);
    MPI_Offset bytes;
    MPI_Datatype halves, parts;

    for (int i = 0; i < 3 * HALF; i++)
        part[i] = i;
    ET_MPI(MPI_Type_vector(2, HALF, 2 * HALF, MPI_INT, &halves));
    ET_MPI(MPI_Type_commit(&halves));
    ET_MPI(MPI_Type_create_hvector(PARTS, 1, 0, halves, &parts));
    ET_MPI(MPI_Type_commit(&parts));
    ET_MPI(MPI_File_open(MPI_COMM_SELF, path,
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
    ET_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    ET_MPI(MPI_File_write_at(file, 0, part, 1, parts, &status));
    ET_MPI(MPI_File_get_size(file, &bytes));
    ET_CHECK(bytes == part_bytes * PARTS, "the file has %lld bytes", (long long) bytes);
    for (int reads = 0; reads < 2; reads++) {
        memset(seen, 0, sizeof(seen));
        if (reads == 0)         /* the last part */
            ET_MPI(MPI_File_read_at(file, (bytes - part_bytes) / (MPI_Offset) sizeof(int), seen, 1,
                                    halves, &status));
        else
            ET_MPI(MPI_File_read_at(file, 0, seen, 1, parts, &status));
        for (int i = 0; i < 3 * HALF; i++)
            ET_CHECK(seen[i] == (i / HALF == 1 ? 0 : part[i]), "read %d: number %d is %d", reads, i,
                     seen[i]);
    }
    ET_MPI(MPI_File_close(&file));
    ET_MPI(MPI_Type_free(&halves));
    ET_MPI(MPI_Type_free(&parts));
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    if (et_number(argc, argv, "large", 0))
        check_large();
    else
        for (unsigned i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
            layout = &layouts[i];
            check_layout();
        }
    if (et.rank == 0)
        et_log("PASS file_external32");
    MPI_Finalize();
    return 0;
}
