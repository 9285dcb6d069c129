/*
 * The true bounds and the data of drawn datatypes, compared with a list of the bytes that their
 * constructors stand for: packed and unpacked, in messages to the other process and to itself, in
 * puts and gets.  On the other side are the same basic elements without gaps, so that long messages
 * are split within an element on one side (defect 52).  --seed N --types N
 */

#include "types_drawn.h"

enum { MARGIN = 16, LONG_MESSAGE = 150000, EMPTY = 0x55 };

/* The same basic elements without gaps. */
static MPI_Datatype packed_type(const struct model *model)
{
    static int ones[MOST];
    MPI_Aint displacements[MOST], end = 0;
    MPI_Datatype elements, packed;

    for (int i = 0; i < model->count; i++) {
        ones[i] = 1;
        displacements[i] = end;
        end += model->bytes[i];
    }
    ET_MPI(MPI_Type_create_struct(model->count, ones, displacements, model->basic, &elements));
    ET_MPI(MPI_Type_create_resized(elements, 0, end, &packed));
    ET_MPI(MPI_Type_free(&elements));
    ET_MPI(MPI_Type_commit(&packed));
    return packed;
}

/* ---- the data -------------------------------------------------------------------------------- */

static int n;                   /* elements of the type */
static MPI_Aint extent, origin, bytes, packed_bytes;
static char *typed, *packed, *seen, *expected;

static void compare(const char *call, const char *right, MPI_Aint length, int number)
{
    for (MPI_Aint i = 0; i < length; i++)
        ET_CHECK(seen[i] == right[i], "%s of type %d, %d of them: byte %d of %d is %d, not %d",
                 call, number, n, (int) i, (int) length, seen[i], right[i]);
    memset(seen, EMPTY, (size_t) length);
}

static void allocate(const struct model *model)
{
    MPI_Aint begin, span = span_of(model, &begin), at = 0;

    origin = MARGIN - (begin < 0 ? begin : 0);
    bytes = origin + begin + span + (n - 1) * extent + MARGIN;
    typed = malloc((size_t) bytes);
    expected = malloc((size_t) bytes);
    packed = malloc((size_t) packed_bytes);
    seen = malloc((size_t) (bytes + packed_bytes));
    ET_CHECK(typed && expected && packed && seen, "no memory");
    et_fill(typed, (size_t) bytes, 0, 1);       /* the same on both processes */
    memset(expected, EMPTY, (size_t) bytes);
    memset(seen, EMPTY, (size_t) (bytes + packed_bytes));
    for (int k = 0; k < n; k++)
        for (int i = 0; i < model->count; i++) {
            MPI_Aint where = origin + k * extent + model->at[i];
            memcpy(packed + at, typed + where, (size_t) model->bytes[i]);
            memcpy(expected + where, typed + where, (size_t) model->bytes[i]);
            at += model->bytes[i];
        }
}

static void exchange(MPI_Datatype type, MPI_Datatype tight, int number)
{
    const int partner = et.size - 1 - et.rank, size = (int) packed_bytes;
    MPI_Comm world = MPI_COMM_WORLD;
    int position = 0;

    ET_MPI(MPI_Pack(typed + origin, n, type, seen, size, &position, world));
    compare("Pack", packed, size, number);
    position = 0;
    ET_MPI(MPI_Unpack(packed, size, &position, seen + origin, n, type, world));
    compare("Unpack", expected, bytes, number);
    ET_MPI(MPI_Sendrecv(typed + origin, n, type, 0, 1, seen + origin, n, type, 0, 1, MPI_COMM_SELF,
                        MPI_STATUS_IGNORE));
    compare("Sendrecv with itself", expected, bytes, number);
    ET_MPI(MPI_Sendrecv(typed + origin, n, type, partner, 1, seen, n, tight, partner, 1, world,
                        MPI_STATUS_IGNORE));
    compare("Send", packed, size, number);
    ET_MPI(MPI_Sendrecv(packed, n, tight, partner, 1, seen + origin, n, type, partner, 1, world,
                        MPI_STATUS_IGNORE));
    compare("Recv", expected, bytes, number);
}

static void put_and_get(MPI_Datatype type, MPI_Datatype tight, int number)
{
    const int partner = et.size - 1 - et.rank;
    char *memory;
    MPI_Win win;

    ET_MPI(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memset(memory, EMPTY, (size_t) bytes);
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Put(packed, n, tight, partner, origin, n, type, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Get(seen, n, tight, partner, origin, n, type, win));
    ET_MPI(MPI_Win_fence(0, win));
    compare("Get", packed, packed_bytes, number);
    memcpy(seen, memory, (size_t) bytes);
    compare("Put", expected, bytes, number);
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Put(typed + origin, n, type, partner, 0, n, tight, win));
    ET_MPI(MPI_Win_fence(0, win));
    memcpy(seen, memory, (size_t) packed_bytes);
    compare("Put without gaps", packed, packed_bytes, number);
    ET_MPI(MPI_Win_free(&win));
}

static void check_type(MPI_Datatype type, const struct model *model, int number)
{
    MPI_Datatype tight = packed_type(model);
    MPI_Aint lb, begin, span = span_of(model, &begin);
    int size;

    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_Type_size(type, &size));
    ET_MPI(MPI_Type_get_true_extent(type, &lb, &extent));
    ET_CHECK(lb == begin &&
             extent == span, "the true bounds of type %d are %ld and %ld, not %ld and %ld", number,
             (long) lb, (long) (lb + extent), (long) begin, (long) (begin + span));
    ET_MPI(MPI_Type_get_extent(type, &lb, &extent));
    n = extent >= span ? draw(1, 3) : 1;
    if (n > 1 && draw(0, 2) == 0)
        n = LONG_MESSAGE / size;
    packed_bytes = (MPI_Aint) n * size;
    allocate(model);
    exchange(type, tight, number);
    put_and_get(type, tight, number);
    free(typed);
    free(expected);
    free(packed);
    free(seen);
    ET_MPI(MPI_Type_free(&tight));
}

/* A member without data has the bounds of its type, if there are any, and no true bounds (defect
 * 54). */
static void check_empty_members(void)
{
    const MPI_Aint at[] = { 100, 8 };
    MPI_Datatype empty, resized, members[2] = {MPI_DATATYPE_NULL, MPI_INT}, type;

    ET_MPI(MPI_Type_contiguous(0, MPI_DOUBLE, &empty));
    ET_MPI(MPI_Type_create_resized(empty, -2, 10, &resized));
    for (int i = 0; i < 2; i++) {
        MPI_Aint lb, upper, true_lb, true_extent;
        members[0] = i ? resized : empty;
        ET_MPI(MPI_Type_create_struct(2, (int[]) {1, 1}, at, members, &type));
        ET_MPI(MPI_Type_get_extent(type, &lb, &upper));
        ET_MPI(MPI_Type_get_true_extent(type, &true_lb, &true_extent));
        upper += lb;
        ET_CHECK(lb == 8 &&
                 upper == (i ? 108 : 12), "member %d: the bounds are %ld and %ld", i, (long) lb,
                 (long) upper);
        ET_CHECK(true_lb == 8 &&
                 true_extent == 4, "member %d: %ld bytes of data at %ld", i, (long) true_extent,
                 (long) true_lb);
        ET_MPI(MPI_Type_free(&type));
    }
    ET_MPI(MPI_Type_free(&resized));
    ET_MPI(MPI_Type_free(&empty));
}

static void check_bounds(const char *name, MPI_Datatype type, MPI_Aint right_lb,
                         MPI_Aint right_extent)
{
    MPI_Aint lb, bound, true_lb, true_extent;
    MPI_Datatype with_data;
    MPI_Status status;
    int size, count;

    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_Type_size(type, &size));
    ET_MPI(MPI_Type_get_extent(type, &lb, &bound));
    ET_MPI(MPI_Type_get_true_extent(type, &true_lb, &true_extent));
    ET_CHECK(size == 0 && lb == right_lb && bound == right_extent && true_extent == 0,
             "%s: size %d, lower bound %ld, extent %ld, true extent %ld", name, size, (long) lb,
             (long) bound, (long) true_extent);
    ET_MPI(MPI_Sendrecv(NULL, 3, type, 0, 1, NULL, 3, type, 0, 1, MPI_COMM_SELF, &status));
    ET_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    ET_MPI(MPI_Pack_size(3, type, MPI_COMM_SELF, &size));
    ET_CHECK(count == 0 && size == 0, "%s: %d bytes received, %d packed", name, count, size);
    ET_MPI(MPI_Type_create_struct(2, (int[]) {1, 1}, (MPI_Aint[]) {0, 0},
                                  (MPI_Datatype[]) {type, MPI_INT}, &with_data));
    ET_MPI(MPI_Type_get_extent(with_data, &lb, &bound));
    ET_CHECK(lb == (right_lb < 0 ? right_lb : 0) && lb + bound >= right_lb + right_extent,
             "%s, with data: lower bound %ld, extent %ld", name, (long) lb, (long) bound);
    ET_MPI(MPI_Type_free(&with_data));
    ET_MPI(MPI_Type_free(&type));
}

/* Types of a resized empty one have bounds and no data (defect 54). */
static void check_types_of_bounds(void)
{
    const int blocks[] = { 1, 4 }, lengths[] = { 1, 2 };
    const MPI_Aint at[] = { 5, 50 };
    MPI_Datatype empty, bounds, type;

    ET_MPI(MPI_Type_contiguous(0, MPI_DOUBLE, &empty));
    ET_MPI(MPI_Type_create_resized(empty, -2, 10, &bounds));
    ET_MPI(MPI_Type_contiguous(3, bounds, &type));
    check_bounds("contiguous", type, -2, 30);
    ET_MPI(MPI_Type_vector(2, 1, 3, bounds, &type));
    check_bounds("vector", type, -2, 40);
    ET_MPI(MPI_Type_create_hvector(2, 1, -25, bounds, &type));
    check_bounds("hvector", type, -27, 35);
    ET_MPI(MPI_Type_indexed(2, lengths, blocks, bounds, &type));
    check_bounds("indexed", type, 8, 50);
    ET_MPI(MPI_Type_create_indexed_block(2, 1, blocks, bounds, &type));
    check_bounds("indexed_block", type, 8, 40);
    ET_MPI(MPI_Type_create_hindexed(2, lengths, at, bounds, &type));
    check_bounds("hindexed", type, 3, 65);
    ET_MPI(MPI_Type_create_struct(1, lengths + 1, at, &bounds, &type));
    check_bounds("struct", type, 3, 20);
    ET_MPI(MPI_Type_dup(bounds, &type));
    check_bounds("dup", type, -2, 10);
    ET_MPI(MPI_Type_create_subarray(1, blocks + 1, lengths + 1, blocks, MPI_ORDER_C, bounds,
                                    &type));
    check_bounds("subarray", type, 0, 40);
    ET_MPI(MPI_Type_free(&bounds));
    ET_MPI(MPI_Type_free(&empty));
}

int main(int argc, char **argv)
{
    static struct model model;
    int types;

    et_options(&argc, &argv);
    types = (int) et_number(argc, argv, "types", 200);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    state = et.seed;
    check_empty_members();
    check_types_of_bounds();
    for (int i = 0; i < types; i++) {
        MPI_Datatype type = draw_type(&model, 1 + i % 4);
        if (model.count > 0 && model.count < MOST)
            check_type(type, &model, i);
        MPI_Type_free(&type);
    }
    if (et.rank == 0)
        et_log("PASS types data");
    ET_MPI(MPI_Finalize());
    return 0;
}
