/*
 * MPI_Get_elements and MPI_Status_set_elements (and _x, MPI_Get_elements_c, MPI_Get_count) of drawn
 * datatypes, compared with a list of the basic elements that the constructors stand for.  --seed N
 * --types N
 */

#include "elastic_test.h"

#define MAX_ELEMENTS 400

/* The sizes of a type's basic elements, in order. */
struct model {
    int count;
    int sizes[MAX_ELEMENTS];
};

struct basic {
    MPI_Datatype type;
    int sizes[2];               /* a pair has two */
};

static unsigned state;

static int draw(int low, int high)
{
    return low + (int) (et_random(&state) % (unsigned) (high - low + 1));
}

static int append(struct model *model, const struct model *more, int times)
{
    if (model->count + times * more->count > MAX_ELEMENTS)
        return 0;
    for (int t = 0; t < times; t++)
        for (int i = 0; i < more->count; i++)
            model->sizes[model->count++] = more->sizes[i];
    return 1;
}

static MPI_Datatype draw_basic(struct model *model)
{
    const struct basic basics[] = {
        {MPI_INT, {4, 0}}, {MPI_CHAR, {1, 0}}, {MPI_DOUBLE, {8, 0}}, {MPI_SHORT, {2, 0}},
        {MPI_C_DOUBLE_COMPLEX, {16, 0}}, {MPI_DOUBLE_INT, {8, 4}}, {MPI_2INT, {4, 4}},
        {MPI_SHORT_INT, {2, 4}}, {MPI_FLOAT_INT, {4, 4}}, {MPI_LONG_INT, {8, 4}},
        {MPI_LONG_DOUBLE_INT, {sizeof(long double), 4}}, {MPI_2REAL, {4, 4}}
    };
    const struct basic *basic = &basics[draw(0, (int) (sizeof(basics) / sizeof(basics[0])) - 1)];

    model->count = 0;
    for (int i = 0; i < 2 && basic->sizes[i]; i++)
        model->sizes[model->count++] = basic->sizes[i];
    return basic->type;
}

static MPI_Datatype draw_type(struct model *model, int depth);

/* Up to three members, some of them empty. */
static MPI_Datatype draw_struct(struct model *model, int depth)
{
    int count = draw(1, 3), lengths[3];
    MPI_Aint at[3], end = 0;
    MPI_Datatype types[3], type;

    model->count = 0;
    for (int i = 0; i < count; i++) {
        struct model member;
        MPI_Aint lb, extent;
        types[i] = draw_type(&member, depth - 1);
        lengths[i] = draw(0, 3);
        MPI_Type_get_extent(types[i], &lb, &extent);
        at[i] = end;
        end += lengths[i] * extent + 64;
        if (!append(model, &member, lengths[i]))
            lengths[i] = 0;
    }
    ET_MPI(MPI_Type_create_struct(count, lengths, at, types, &type));
    for (int i = 0; i < count; i++)
        if (types[i] != MPI_DATATYPE_NULL && depth > 1) {
            int ints, addresses, number, combiner;
            MPI_Type_get_envelope(types[i], &ints, &addresses, &number, &combiner);
            if (combiner != MPI_COMBINER_NAMED)
                MPI_Type_free(&types[i]);
        }
    return type;
}

/* A constructor that repeats one type; `times` is how often. */
static MPI_Datatype repeat(MPI_Datatype old, int *times)
{
    int lengths[2] = { draw(0, 2), draw(1, 2) }, at[2] = { 0, 9 }, sizes[2] =
        { 4, 5 }, parts[2], starts[2] = { 1, 2 };
    int distributions[2] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC }, arguments[2] =
        { MPI_DISTRIBUTE_DFLT_DARG, 1
    };
    int processes[2] = {2, 1}, block = draw(1, 3);
    MPI_Aint lb, extent, bytes[2];
    MPI_Datatype type = MPI_DATATYPE_NULL;

    MPI_Type_get_extent(old, &lb, &extent);
    bytes[0] = 0;
    bytes[1] = 9 * extent;
    parts[0] = draw(1, 3);
    parts[1] = draw(1, 3);
    *times = 1;
    switch (draw(0, 10)) {
        case 0:
            MPI_Type_contiguous(*times = draw(0, 3), old, &type);
            break;
        case 1:
            MPI_Type_vector(parts[0], block, 4, old, &type);
            *times = parts[0] * block;
            break;
        case 2:
            MPI_Type_create_hvector(parts[0], block, 4 * extent, old, &type);
            *times = parts[0] * block;
            break;
        case 3:
            MPI_Type_indexed(2, lengths, at, old, &type);
            *times = lengths[0] + lengths[1];
            break;
        case 4:
            MPI_Type_create_hindexed(2, lengths, bytes, old, &type);
            *times = lengths[0] + lengths[1];
            break;
        case 5:
            MPI_Type_create_indexed_block(2, block, at, old, &type);
            *times = 2 * block;
            break;
        case 6:
            MPI_Type_create_hindexed_block(2, block, bytes, old, &type);
            *times = 2 * block;
            break;
        case 7:
            MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, old, &type);
            *times = parts[0] * parts[1];
            break;
        case 8:
            MPI_Type_create_darray(2, 0, 2, sizes, distributions, arguments, processes, MPI_ORDER_C,
                                   old, &type);
            *times = 2 * 5;
            break;
        case 9:
            MPI_Type_dup(old, &type);
            break;
        default:
            MPI_Type_create_resized(old, lb, extent + 16, &type);
            break;
    }
    return type;
}

static MPI_Datatype draw_type(struct model *model, int depth)
{
    struct model inner;
    MPI_Datatype old, type;
    int times;

    if (depth == 0)
        return draw_basic(model);
    if (draw(0, 2) == 0)
        return draw_struct(model, depth);
    old = draw_type(&inner, depth - 1);
    for (;;) {
        type = repeat(old, &times);
        model->count = 0;
        if (append(model, &inner, times))
            break;
        MPI_Type_free(&type);
    }
    if (depth > 1)
        MPI_Type_free(&old);
    return type;
}

/* How many elements `bytes` are, of copies of the type; MPI_UNDEFINED if one is cut. */
static int elements_in(const struct model *model, int bytes)
{
    int elements = 0;

    while (bytes > 0 && model->count > 0) {
        bytes -= model->sizes[elements % model->count];
        elements++;
    }
    return bytes == 0 ? elements : MPI_UNDEFINED;
}

static int bytes_of(const struct model *model, int elements)
{
    int bytes = 0;

    for (int i = 0; i < elements; i++)
        bytes += model->sizes[i % model->count];
    return bytes;
}

static void expect_elements(MPI_Datatype type, MPI_Status * status, int expected, const char *what,
                            int number)
{
    int elements = -1;
    MPI_Count large = -1, larger = -1;

    ET_MPI(MPI_Get_elements(status, type, &elements));
    ET_MPI(MPI_Get_elements_x(status, type, &large));
    ET_MPI(MPI_Get_elements_c(status, type, &larger));
    ET_CHECK(elements == expected && large == expected && larger == expected,
             "%s %d of a type: %d elements, by _x %d, by _c %d, not %d", what, number, elements,
             (int) large, (int) larger, expected);
}

/* A status of the type: its bytes, and what is counted. */
static void expect_bytes(MPI_Datatype type, MPI_Status * status, const struct model *model,
                         int elements)
{
    int bytes = -1, count = -1;

    ET_MPI(MPI_Get_count(status, MPI_BYTE, &bytes));
    ET_CHECK(bytes == bytes_of(model, elements), "%d elements are set: %d bytes, not %d", elements,
             bytes, bytes_of(model, elements));
    expect_elements(type, status, elements, "elements", elements);
    ET_MPI(MPI_Get_count(status, type, &count));
    ET_CHECK(count == (elements % model->count ? MPI_UNDEFINED : elements / model->count),
             "%d elements are set: the count is %d", elements, count);
}

static void check_type(MPI_Datatype type, const struct model *model)
{
    int size;
    MPI_Status status;

    memset(&status, 0, sizeof(status));
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_Type_size(type, &size));
    ET_CHECK(size == bytes_of(model, model->count), "the model is wrong: %d", size);
    ET_MPI(MPI_Status_set_elements(&status, type, 0));
    expect_elements(type, &status, 0, "elements", 0);
    if (size == 0)
        return;
    for (int bytes = 0; bytes < 2 * size + 20; bytes += bytes < 3 * 64 ? 1 : 7) {
        ET_MPI(MPI_Status_set_elements(&status, MPI_BYTE, bytes));
        expect_elements(type, &status, elements_in(model, bytes), "bytes", bytes);
    }
    for (int elements = 0; elements < 2 * model->count + 3; elements++) {
        ET_MPI(MPI_Status_set_elements(&status, type, elements));
        expect_bytes(type, &status, model, elements);
        ET_MPI(MPI_Status_set_elements_x(&status, type, elements));
        expect_bytes(type, &status, model, elements);
    }
}

/* More than an int counts: elements, and bytes. */
static void check_large(void)
{
    const MPI_Count large = 5000000000LL;
    MPI_Datatype pair, many;
    MPI_Status status;
    MPI_Count elements;
    int count;

    memset(&status, 0, sizeof(status));
    ET_MPI(MPI_Type_create_struct(2, (int[]) {1, 1}, (MPI_Aint[]) {0, 8},
                                  (MPI_Datatype[]) {MPI_CHAR, MPI_DOUBLE}, &pair));
    ET_MPI(MPI_Type_contiguous(1000000, pair, &many));
    ET_MPI(MPI_Type_commit(&many));
    ET_MPI(MPI_Status_set_elements_x(&status, many, large + 1));
    ET_MPI(MPI_Get_elements_x(&status, many, &elements));
    ET_CHECK(elements == large + 1, "%lld elements", (long long) elements);
    ET_MPI(MPI_Get_elements_x(&status, MPI_BYTE, &elements));
    ET_CHECK(elements == large / 2 * 9 + 1, "%lld bytes", (long long) elements);
    ET_MPI(MPI_Get_elements(&status, many, &count));
    ET_CHECK(count == MPI_UNDEFINED, "%d elements", count);
    ET_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
    ET_CHECK(count == MPI_UNDEFINED, "%d bytes", count);
    ET_MPI(MPI_Type_free(&pair));
    ET_MPI(MPI_Type_free(&many));
}

/* A message that ends in a basic element. */
static void check_message(void)
{
    char data[7] = "sixsix";
    int ints[4], count;
    MPI_Status status;
    MPI_Datatype type;

    ET_MPI(MPI_Type_contiguous(2, MPI_INT, &type));
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_Sendrecv(data, 6, MPI_BYTE, 0, 1, ints, 2, type, 0, 1, MPI_COMM_SELF, &status));
    ET_MPI(MPI_Get_elements(&status, type, &count));
    ET_CHECK(count == MPI_UNDEFINED, "six bytes are %d integers", count);
    ET_MPI(MPI_Type_free(&type));
}

int main(int argc, char **argv)
{
    int types;

    et_options(&argc, &argv);
    types = (int) et_number(argc, argv, "types", 300);
    ET_MPI(MPI_Init(&argc, &argv));
    state = et.seed;
    for (int i = 0; i < types; i++) {
        struct model model;
        int depth = 1 + i % 3;
        MPI_Datatype type = draw_type(&model, depth);
        check_type(type, &model);
        MPI_Type_free(&type);
    }
    for (int i = 0; i < 40; i++) {
        struct model model;
        check_type(draw_basic(&model), &model);
    }
    check_large();
    check_message();
    et_log("PASS elements");
    MPI_Finalize();
    return 0;
}
