/*
 * Status and count of every call of MPI-IO that reads, at the end of a file: before it, across it,
 * at it and past it; contiguous and strided views and buffers, by explicit offset, individual and
 * shared pointer, independent and collective, blocking, non-blocking and split.  --hints
 * NAME=VALUE,...
 */

#include "elastic_test.h"

#define ELEMENTS 6              /* of one read */
#define SPOILED (-7)

enum pointer { EXPLICIT, INDIVIDUAL, SHARED };

struct call {
    const char *name;
    enum pointer pointer;
    int collective;
    int nonblocking;
};

enum {
    READ_AT, READ, READ_SHARED, READ_AT_ALL, READ_ALL, READ_ORDERED,
    IREAD_AT, IREAD, IREAD_SHARED, IREAD_AT_ALL, IREAD_ALL,
    SPLIT_AT_ALL, SPLIT_ALL, SPLIT_ORDERED, READ_AT_C, READ_ALL_C, IREAD_AT_ALL_C, CALLS
};
static const struct call calls[] = {
    {"read_at", EXPLICIT, 0},
    {"read", INDIVIDUAL, 0},
    {"read_shared", SHARED, 0},
    {"read_at_all", EXPLICIT, 1},
    {"read_all", INDIVIDUAL, 1},
    {"read_ordered", SHARED, 1},
    {"iread_at", EXPLICIT, 0, 1},
    {"iread", INDIVIDUAL, 0, 1},
    {"iread_shared", SHARED, 0, 1},
    {"iread_at_all", EXPLICIT, 1, 1},
    {"iread_all", INDIVIDUAL, 1, 1},
    {"read_at_all_begin", EXPLICIT, 1},
    {"read_all_begin", INDIVIDUAL, 1},
    {"read_ordered_begin", SHARED, 1},
    {"read_at_c", EXPLICIT, 0},
    {"read_all_c", INDIVIDUAL, 1},
    {"iread_at_all_c", EXPLICIT, 1, 1},
};

/* A view of blocks of `block` elements, each `stride` elements after the one before, from
 * `first`. */
struct view {
    const char *name;
    int block, stride, first;
};

static const char *const path = "read_ends.data";
static MPI_Info hints = MPI_INFO_NULL;
static MPI_File file;
static int file_bytes;

static void make_file(int bytes)
{
    int data[64];

    file_bytes = bytes;
    MPI_Barrier(MPI_COMM_WORLD);
    if (et.rank == 0) {
        FILE *f = fopen(path, "w");
        ET_CHECK(f != NULL && bytes <= (int) sizeof(data), "no file %s", path);
        for (int i = 0; i < 64; i++)
            data[i] = 1000 + i;
        ET_CHECK(fwrite(data, 1, bytes, f) == (size_t) bytes && fclose(f) == 0, "writing %s", path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Where in the file the element `index` of a view is, in elements. */
static int position(const struct view *view, int index)
{
    return view->first + index / view->block * view->stride + index % view->block;
}

/* Bytes that `count` elements from `index` on have in the file. */
static int expected_bytes(const struct view *view, int index, int count)
{
    int bytes = 0;

    for (int i = index; i < index + count; i++) {
        int left = file_bytes - 4 * position(view, i);
        bytes += left <= 0 ? 0 : left < 4 ? left : 4;
    }
    return bytes;
}

static void set_view(const struct view *view)
{
    MPI_Datatype block, type;

    ET_MPI(MPI_Type_contiguous(view->block, MPI_INT, &block));
    ET_MPI(MPI_Type_create_resized(block, 0, 4 * view->stride, &type));
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_File_set_view(file, 4 * view->first, MPI_INT,
                             view->block == view->stride ? MPI_INT : type, "native", hints));
    ET_MPI(MPI_Type_free(&type));
    ET_MPI(MPI_Type_free(&block));
}

/* One call; `offset` is where it starts, in elements of the view. */
static void read_some(int call, MPI_Offset offset, void *buf, int count, MPI_Datatype type,
                      MPI_Status * status)
{
    MPI_Request request = MPI_REQUEST_NULL;

    if (calls[call].pointer == INDIVIDUAL)
        ET_MPI(MPI_File_seek(file, offset, MPI_SEEK_SET));
    switch (call) {
        case READ_AT:
            ET_MPI(MPI_File_read_at(file, offset, buf, count, type, status));
            break;
        case READ:
            ET_MPI(MPI_File_read(file, buf, count, type, status));
            break;
        case READ_SHARED:
            ET_MPI(MPI_File_read_shared(file, buf, count, type, status));
            break;
        case READ_AT_ALL:
            ET_MPI(MPI_File_read_at_all(file, offset, buf, count, type, status));
            break;
        case READ_ALL:
            ET_MPI(MPI_File_read_all(file, buf, count, type, status));
            break;
        case READ_ORDERED:
            ET_MPI(MPI_File_read_ordered(file, buf, count, type, status));
            break;
        case IREAD_AT:
            ET_MPI(MPI_File_iread_at(file, offset, buf, count, type, &request));
            break;
        case IREAD:
            ET_MPI(MPI_File_iread(file, buf, count, type, &request));
            break;
        case IREAD_SHARED:
            ET_MPI(MPI_File_iread_shared(file, buf, count, type, &request));
            break;
        case IREAD_AT_ALL:
            ET_MPI(MPI_File_iread_at_all(file, offset, buf, count, type, &request));
            break;
        case IREAD_ALL:
            ET_MPI(MPI_File_iread_all(file, buf, count, type, &request));
            break;
        case SPLIT_AT_ALL:
            ET_MPI(MPI_File_read_at_all_begin(file, offset, buf, count, type));
            ET_MPI(MPI_File_read_at_all_end(file, buf, status));
            break;
        case SPLIT_ALL:
            ET_MPI(MPI_File_read_all_begin(file, buf, count, type));
            ET_MPI(MPI_File_read_all_end(file, buf, status));
            break;
        case SPLIT_ORDERED:
            ET_MPI(MPI_File_read_ordered_begin(file, buf, count, type));
            ET_MPI(MPI_File_read_ordered_end(file, buf, status));
            break;
        case READ_AT_C:
            ET_MPI(MPI_File_read_at_c(file, offset, buf, count, type, status));
            break;
        case READ_ALL_C:
            ET_MPI(MPI_File_read_all_c(file, buf, count, type, status));
            break;
        case IREAD_AT_ALL_C:
            ET_MPI(MPI_File_iread_at_all_c(file, offset, buf, count, type, &request));
            break;
        default:
            ET_CHECK(0, "no call %d", call);
    }
    if (request == MPI_REQUEST_NULL)
        return;
    /* the pointer has moved already, and the end of the operation does not move it again */
    if (calls[call].pointer == INDIVIDUAL)
        ET_MPI(MPI_File_seek(file, 1, MPI_SEEK_CUR));
    ET_MPI(MPI_Wait(&request, status));
    if (calls[call].pointer == INDIVIDUAL)
        ET_MPI(MPI_File_seek(file, -1, MPI_SEEK_CUR));
}

/* Where the individual pointer is after a read from `index` on that got so many bytes: a
 * nonblocking call moves it by all that was requested, since it cannot know what it will get. */
static void check_pointer(int call, const struct view *view, int index, int bytes)
{
    MPI_Offset offset, expected = index + (calls[call].nonblocking ? ELEMENTS : bytes / 4);

    ET_MPI(MPI_File_get_position(file, &offset));
    ET_CHECK(offset == expected, "%s, %s view, from %d: the pointer is at %d, not at %d",
             calls[call].name, view->name, index, (int) offset, (int) expected);
}

/* All processes read at once, or one after the other by a shared pointer that is not collective. */
static void read_once(int call, const struct view *view, int strided, int start)
{
    int buf[2 * ELEMENTS], step = strided ? 2 : 1, index = start, bytes, count, ints;
    int in_turn = calls[call].pointer == SHARED && !calls[call].collective;
    MPI_Datatype type = MPI_INT, vector;
    MPI_Status status;
    MPI_Count elements;

    ET_MPI(MPI_Type_vector(ELEMENTS, 1, 2, MPI_INT, &vector));
    ET_MPI(MPI_Type_commit(&vector));
    type = strided ? vector : MPI_INT;
    for (int i = 0; i < 2 * ELEMENTS; i++)
        buf[i] = SPOILED;
    memset(&status, 0x55, sizeof(status));
    if (calls[call].pointer == SHARED) {
        /* both move the pointer only when all have come: some may still read */
        if (start == 0)
            set_view(view);
        else
            ET_MPI(MPI_File_seek_shared(file, start, MPI_SEEK_SET));
        index += et.rank * ELEMENTS;
    }
    for (int turn = 0; turn < (in_turn ? et.size : 1); turn++) {
        if (!in_turn || turn == et.rank)
            read_some(call, index, buf, strided ? 1 : ELEMENTS, type, &status);
        if (in_turn)
            MPI_Barrier(MPI_COMM_WORLD);
    }

    bytes = expected_bytes(view, index, ELEMENTS);
    ET_MPI(MPI_Get_elements_x(&status, MPI_BYTE, &elements));
    ET_CHECK(elements == bytes,
             "%s, %s view, %s buffer, element %d of a file of %d bytes: %d bytes, not %d",
             calls[call].name, view->name, strided ? "strided" : "contiguous", index, file_bytes,
             (int) elements, bytes);
    ET_MPI(MPI_Get_count(&status, MPI_INT, &count));
    ints = bytes % 4 ? MPI_UNDEFINED : bytes / 4;
    ET_CHECK(count == ints, "%s: count is %d, not %d", calls[call].name, count, ints);
    if (calls[call].pointer == INDIVIDUAL)
        check_pointer(call, view, index, bytes);
    for (int i = 0; i < bytes / 4; i++)
        ET_CHECK(buf[step * i] == 1000 + position(view, index + i),
                 "%s, %s view, %s buffer: element %d is %d, not %d",
                 calls[call].name, view->name, strided ? "strided" : "contiguous", i, buf[step * i],
                 1000 + position(view, index + i));
    for (int i = 0; strided && i < ELEMENTS; i++)
        ET_CHECK(buf[2 * i + 1] == SPOILED, "%s: a gap of the buffer is written", calls[call].name);
    ET_MPI(MPI_Type_free(&vector));
}

/* The first process reads alone: the others take part with nothing. */
static void read_nothing(const struct view *view)
{
    int buf[ELEMENTS], count;
    MPI_Status status;

    for (int call = 0; call < CALLS; call++) {
        if (!calls[call].collective || calls[call].pointer == SHARED)
            continue;
        read_some(call, 0, buf, et.rank ? 0 : ELEMENTS, MPI_INT, &status);
        ET_MPI(MPI_Get_elements(&status, MPI_BYTE, &count));
        ET_CHECK(count == (et.rank ? 0 : expected_bytes(view, 0, ELEMENTS)), "%s: %d bytes",
                 calls[call].name, count);
    }
}

static void read_views(int only_shared, const struct view *views, int number)
{
    /* in elements of a view of 2 processes that hold every second block */
    static const int starts[] = {0, 1, 5, 6, 7, 9, 14, 40};

    for (int v = 0; v < number; v++) {
        ET_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, hints, &file));
        set_view(&views[v]);
        if (!only_shared)
            read_nothing(&views[v]);
        for (int call = 0; call < CALLS; call++)
            if ((calls[call].pointer == SHARED) == only_shared)
                for (int strided = 0; strided < 2; strided++)
                    for (int s = 0; s < (int) (sizeof(starts) / sizeof(starts[0])); s++)
                        read_once(call, &views[v], strided, starts[s]);
        ET_MPI(MPI_File_close(&file));
    }
}

/* "name=value,name=value" */
static void read_hints(char *text)
{
    ET_MPI(MPI_Info_create(&hints));
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        char *value = strchr(word, '=');
        ET_CHECK(value != NULL, "no hint: %s", word);
        *value = '\0';
        ET_MPI(MPI_Info_set(hints, word, value + 1));
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 4, 38, 48, 98};
    const struct view plain = {"contiguous", 1, 1, 0}, same = {"strided", 2, 3, 1};
    const char *text;

    et_options(&argc, &argv);
    text = et_argument(argc, argv, "hints", NULL);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    if (text)
        read_hints(strdup(text));
    for (int s = 0; s < (int) (sizeof(sizes) / sizeof(sizes[0])); s++) {
        struct view apart = {"interleaved", 2, 2 * et.size, 2 * et.rank};
        make_file(sizes[s]);
        read_views(0, (const struct view[]) {plain, same, apart}, 3);
        read_views(1, (const struct view[]) {plain, same}, 2);
    }
    if (hints != MPI_INFO_NULL)
        MPI_Info_free(&hints);
    MPI_Barrier(MPI_COMM_WORLD);
    if (et.rank == 0)
        remove(path);
    if (et.rank == 0)
        et_log("PASS read_ends");
    MPI_Finalize();
    return 0;
}
