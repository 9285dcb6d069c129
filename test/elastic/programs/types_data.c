/*
 * The true bounds and the data of drawn datatypes, compared with a list of the bytes that their constructors stand for:
 * packed and unpacked, in messages to the other process and to itself, in puts and gets.  On the other side are the
 * same basic elements without gaps, so that long messages are split within an element on one side (defect 52).
 * --seed N --types N
 */

#include "elastic_test.h"

enum { MOST = 600, MARGIN = 16, LONG_MESSAGE = 150000, EMPTY = 0x55 };

/* The basic elements of a type, in order. */
struct model {
    int count;
    MPI_Aint at[MOST];
    int bytes[MOST];
    MPI_Datatype basic[MOST];
};

static unsigned state;

static int draw(int low, int high)
{
    return low + (int) (et_random(&state) % (unsigned) (high - low + 1));
}

static MPI_Datatype draw_basic(struct model *model)
{
    static const struct {
        MPI_Datatype type, first;
        int first_bytes, second_at;     /* of an int; 0: there is none */
    } basics[] = {
        {MPI_CHAR, MPI_CHAR, 1, 0}, {MPI_SHORT, MPI_SHORT, 2, 0}, {MPI_INT, MPI_INT, 4, 0},
        {MPI_DOUBLE, MPI_DOUBLE, 8, 0}, {MPI_C_DOUBLE_COMPLEX, MPI_C_DOUBLE_COMPLEX, 16, 0},
        {MPIX_C_FLOAT16, MPIX_C_FLOAT16, 2, 0}, {MPI_2INT, MPI_INT, 4, 4}, {MPI_SHORT_INT, MPI_SHORT, 2, 4},
        {MPI_DOUBLE_INT, MPI_DOUBLE, 8, 8}, {MPI_LONG_INT, MPI_LONG, 8, 8}
    };
    const int which = draw(0, (int) (sizeof(basics) / sizeof(basics[0])) - 1);

    model->count = basics[which].second_at ? 2 : 1;
    model->at[0] = 0;
    model->bytes[0] = basics[which].first_bytes;
    model->basic[0] = basics[which].first;
    model->at[1] = basics[which].second_at;
    model->bytes[1] = sizeof(int);
    model->basic[1] = MPI_INT;
    return basics[which].type;
}

static void append(struct model *model, const struct model *more, MPI_Aint displacement)
{
    for (int i = 0; i < more->count && model->count < MOST; i++) {
        model->at[model->count] = more->at[i] + displacement;
        model->bytes[model->count] = more->bytes[i];
        model->basic[model->count++] = more->basic[i];
    }
}

/* From the first byte of an element to the end of the last. */
static MPI_Aint span_of(const struct model *model, MPI_Aint *begin)
{
    MPI_Aint end = 0;

    *begin = 0;
    for (int i = 0; i < model->count; i++) {
        *begin = i == 0 || model->at[i] < *begin ? model->at[i] : *begin;
        end = i == 0 || model->at[i] + model->bytes[i] > end ? model->at[i] + model->bytes[i] : end;
    }
    return end - *begin;
}

static void free_derived(MPI_Datatype * type)
{
    int ints, addresses, types, combiner;

    ET_MPI(MPI_Type_get_envelope(*type, &ints, &addresses, &types, &combiner));
    if (combiner != MPI_COMBINER_NAMED)
        ET_MPI(MPI_Type_free(type));
}

/* The elements of one process of a distribution over several, in one dimension. */
static MPI_Datatype draw_darray(struct model *model, const struct model *inner, MPI_Datatype old, MPI_Aint extent)
{
    const int all = draw(1, 7), processes = draw(1, 3), rank = draw(0, processes - 1), cyclic = draw(0, 1);
    const int block = cyclic ? draw(1, 3) : (all + processes - 1) / processes;
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_darray(processes, rank, 1, &all,
                                  (int[]) {cyclic ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK}, &block, &processes,
                                  draw(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, old, &type));
    for (int i = 0; i < all; i++)
        if (i / block % processes == rank)
            append(model, inner, i * extent);
    return type;
}

/* A type of others, `depth` constructors deep, whose elements do not overlap. */
static MPI_Datatype draw_type(struct model *model, int depth)
{
    static struct model inners[8];
    struct model *inner = &inners[depth];
    MPI_Datatype old, type;
    MPI_Aint lb, extent, begin, stride, displacements[3];
    int lengths[3], blocks = draw(1, 3), kind = draw(0, 5);

    if (depth == 0)
        return draw_basic(model);
    old = draw_type(inner, depth - 1);
    ET_MPI(MPI_Type_get_extent(old, &lb, &extent));
    stride = span_of(inner, &begin);
    stride = extent > stride ? extent : stride;
    model->count = 0;
    if (kind == 0 && extent == stride) {
        ET_MPI(MPI_Type_contiguous(blocks, old, &type));
        for (int i = 0; i < blocks; i++)
            append(model, inner, i * extent);
    } else if (kind == 1) {
        stride += draw(0, 9);
        stride *= draw(0, 3) ? 1 : -1;
        ET_MPI(MPI_Type_create_hvector(blocks, 1, stride, old, &type));
        for (int i = 0; i < blocks; i++)
            append(model, inner, i * stride);
    } else if (kind == 2) {
        ET_MPI(MPI_Type_create_resized(old, draw(0, 2) ? 0 : draw(-9, 9), begin + stride + draw(0, 20), &type));
        append(model, inner, 0);
    } else if (kind == 5 && extent == stride) {
        type = draw_darray(model, inner, old, extent);
    } else {
        MPI_Datatype olds[3], empty;
        MPI_Aint next = draw(0, 20);
        ET_MPI(MPI_Type_contiguous(0, MPI_DOUBLE, &empty));
        for (int i = 0; i < blocks; i++) {
            olds[i] = old;
            lengths[i] = draw(0, extent == stride ? 3 : 1);
            displacements[i] = next;
            next += lengths[i] * stride + draw(0, 7);
            for (int k = 0; k < lengths[i]; k++)
                append(model, inner, displacements[i] + k * extent);
            if (kind != 3 && lengths[i] == 0 && draw(0, 1)) {
                olds[i] = empty;
                lengths[i] = draw(1, 3);
            }
        }
        if (kind == 3)
            ET_MPI(MPI_Type_create_hindexed(blocks, lengths, displacements, old, &type));
        else
            ET_MPI(MPI_Type_create_struct(blocks, lengths, displacements, olds, &type));
        ET_MPI(MPI_Type_free(&empty));
    }
    free_derived(&old);
    return type;
}

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

/* ---- the data -------------------------------------------------------------------------------------------------- */

static int n;                   /* elements of the type */
static MPI_Aint extent, origin, bytes, packed_bytes;
static char *typed, *packed, *seen, *expected;

static void compare(const char *call, const char *right, MPI_Aint length, int number)
{
    for (MPI_Aint i = 0; i < length; i++)
        ET_CHECK(seen[i] == right[i], "%s of type %d, %d of them: byte %d of %d is %d, not %d", call, number, n,
                 (int) i, (int) length, seen[i], right[i]);
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
    ET_MPI(MPI_Sendrecv(typed + origin, n, type, 0, 1, seen + origin, n, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    compare("Sendrecv with itself", expected, bytes, number);
    ET_MPI(MPI_Sendrecv(typed + origin, n, type, partner, 1, seen, n, tight, partner, 1, world, MPI_STATUS_IGNORE));
    compare("Send", packed, size, number);
    ET_MPI(MPI_Sendrecv(packed, n, tight, partner, 1, seen + origin, n, type, partner, 1, world, MPI_STATUS_IGNORE));
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
    ET_CHECK(lb == begin && extent == span, "the true bounds of type %d are %ld and %ld, not %ld and %ld", number,
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

/* A member without data has the bounds of its type, if there are any, and no true bounds (defect 54). */
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
        ET_CHECK(lb == 8 && upper == (i ? 108 : 12), "member %d: the bounds are %ld and %ld", i, (long) lb,
                 (long) upper);
        ET_CHECK(true_lb == 8 && true_extent == 4, "member %d: %ld bytes of data at %ld", i, (long) true_extent,
                 (long) true_lb);
        ET_MPI(MPI_Type_free(&type));
    }
    ET_MPI(MPI_Type_free(&resized));
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
