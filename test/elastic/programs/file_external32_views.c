/*
 * Views of files in external32 of types whose sizes in the file differ from those in memory.  The
 * types of a view are interpreted as if they were constructed of types of the sizes in the file.
 * So each drawn type has a twin: the same constructors of such a type.  The test writes data
 * through a view in external32 of the type, and the external data through a native view of its
 * twin.  Both files must be equal.  Processes also write a distributed array together.
 * --seed N --types N
 */

#include "elastic_test.h"

enum { MOST_BYTES = 1 << 16, MOST_EXTENT = 4000, EMPTY = 0x55, ROWS = 7, COLUMNS = 5 };

struct twins {
    MPI_Datatype type, in_file;
};

/* The basic types, and which take their place in the file: one of the same alignment, or bytes. */
static const struct {
    MPI_Datatype type, in_file;
    int bytes;
} basics[] = {
    {MPI_LONG, MPI_INT, 4}, {MPI_UNSIGNED_LONG, MPI_UNSIGNED, 4}, {MPI_WCHAR, MPI_SHORT, 2},
    {MPI_LONG_INT, MPI_BYTE, 8}, {MPI_DOUBLE_INT, MPI_BYTE, 12}, {MPI_SHORT_INT, MPI_BYTE, 6},
    {MPI_INT, MPI_INT, 4}
};

static const char *const path = "file_external32_views.data";
static unsigned state;          /* of the generator */
static MPI_File file;
static struct twins basic;

static int draw(int low, int high)
{
    return low + (int) (et_random(&state) % (unsigned) (high - low + 1));
}

/* ---- drawn types ----------------------------------------------------------------------------- */

/* The parameters of a constructor; distances are of a type whose extent in the file is `extent`. */
struct constructor {
    int kind, blocks, block, stride, lengths[3], displacements[3], sizes[2], subsizes[2], starts[2];
    int processes, rank, cyclic, order;
    MPI_Aint extent, gap, addresses[3];
};

enum { KINDS = 13 };

static struct constructor draw_constructor(MPI_Aint extent)
{
    struct constructor c = {.kind = draw(0, KINDS - 1),.blocks = draw(1, 3),.block = draw(1, 2),
        .extent = extent,.gap = draw(0, 9),.processes = draw(1, 3),.cyclic = draw(1, 2),
        .order = draw(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN
    };
    int next = draw(0, 3);
    MPI_Aint address = draw(0, 20);

    c.stride = c.block + draw(0, 2);
    c.rank = draw(0, c.processes - 1);
    for (int i = 0; i < 3; i++) {
        c.lengths[i] = draw(c.kind == 5 ? 1 : 0, 2);
        c.displacements[i] = next;
        c.addresses[i] = address;
        next += (c.lengths[i] > c.block ? c.lengths[i] : c.block) + draw(0, 2);
        address += (c.lengths[i] > c.block ? c.lengths[i] : c.block) * extent + draw(0, 9);
    }
    for (int i = 0; i < 2; i++) {
        c.sizes[i] = draw(1, 4);
        c.subsizes[i] = draw(1, c.sizes[i]);
        c.starts[i] = draw(0, c.sizes[i] - c.subsizes[i]);
    }
    return c;
}

/* The bounds of a struct depend on the machine, so it is resized. */
static void make_struct(const struct constructor *c, MPI_Datatype old, MPI_Datatype * type)
{
    const MPI_Datatype olds[] = { old, old, old };
    MPI_Datatype members;

    ET_MPI(MPI_Type_create_struct(3, c->lengths, c->addresses, olds, &members));
    ET_MPI(MPI_Type_create_resized(members, 0, c->addresses[2] + 2 * c->extent + c->gap, type));
    ET_MPI(MPI_Type_free(&members));
}

static void make_darray(const struct constructor *c, MPI_Datatype old, MPI_Datatype * type)
{
    const int sizes[] = { 6, c->sizes[0] };
    const int distributions[] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE };
    const int arguments[] = { c->cyclic, MPI_DISTRIBUTE_DFLT_DARG };
    const int processes[] = { c->processes, 1 };

    ET_MPI(MPI_Type_create_darray(c->processes, c->rank, 2, sizes, distributions, arguments,
                                  processes, c->order, old, type));
}

static MPI_Datatype make(const struct constructor *c, MPI_Datatype old)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    switch (c->kind) {
        case 0:
            ET_MPI(MPI_Type_contiguous(c->blocks, old, &type));
            break;
        case 1:
            ET_MPI(MPI_Type_vector(c->blocks, c->block, c->stride, old, &type));
            break;
        case 2:
            ET_MPI(MPI_Type_create_hvector(c->blocks, c->block, c->block * c->extent + c->gap, old,
                                           &type));
            break;
        case 3:
            ET_MPI(MPI_Type_indexed(3, c->lengths, c->displacements, old, &type));
            break;
        case 4:
            ET_MPI(MPI_Type_create_indexed_block(3, c->block, c->displacements, old, &type));
            break;
        case 5:
            ET_MPI(MPI_Type_create_hindexed(3, c->lengths, c->addresses, old, &type));
            break;
        case 6:
            ET_MPI(MPI_Type_create_hindexed_block(3, c->block, c->addresses, old, &type));
            break;
        case 7:
            make_struct(c, old, &type);
            break;
        case 8:
            ET_MPI(MPI_Type_create_subarray(2, c->sizes, c->subsizes, c->starts, c->order, old,
                                            &type));
            break;
        case 9:
            make_darray(c, old, &type);
            break;
        case 10:
            ET_MPI(MPI_Type_dup(old, &type));
            break;
        case 11:
            ET_MPI(MPI_Type_create_resized(old, 0, c->extent + c->gap, &type));
            break;
        default:
            ET_MPI(MPI_Type_vector_c(c->blocks, c->block, c->stride, old, &type));
    }
    return type;
}

static MPI_Aint end_of(MPI_Datatype type)
{
    MPI_Aint lb, extent;

    ET_MPI(MPI_Type_get_extent(type, &lb, &extent));
    return lb + extent;
}

/* `depth` constructors deep, or less if there would be no data, or too many. */
static struct twins draw_twins(int depth)
{
    struct twins old, made;
    struct constructor c;
    int size;

    if (depth == 0) {
        ET_MPI(MPI_Type_dup(basic.type, &made.type));
        ET_MPI(MPI_Type_dup(basic.in_file, &made.in_file));
        return made;
    }
    old = draw_twins(depth - 1);
    c = draw_constructor(end_of(old.in_file));
    made = (struct twins) {make(&c, old.type), make(&c, old.in_file)};
    ET_MPI(MPI_Type_size(made.in_file, &size));
    if (size == 0 || end_of(made.in_file) > MOST_EXTENT) {
        ET_MPI(MPI_Type_free(&made.type));
        ET_MPI(MPI_Type_free(&made.in_file));
        return old;
    }
    ET_MPI(MPI_Type_free(&old.type));
    ET_MPI(MPI_Type_free(&old.in_file));
    return made;
}

/* ---- their data ------------------------------------------------------------------------------ */

static char data[MOST_BYTES], packed[MOST_BYTES], seen[MOST_BYTES], expected[MOST_BYTES],
    files[2][MOST_BYTES];
static MPI_Status status;

/* The file's bytes; how many. */
static int read_file(char *bytes)
{
    MPI_Offset size;

    ET_MPI(MPI_File_get_size(file, &size));
    ET_CHECK(size < MOST_BYTES, "the file has %ld bytes", (long) size);
    ET_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    ET_MPI(MPI_File_read_at(file, 0, bytes, (int) size, MPI_BYTE, &status));
    return (int) size;
}

/* The view is that of the program's types, and tells their extents in the file. */
static void check_view(const struct twins *drawn, int number)
{
    MPI_Datatype etype, filetype;
    MPI_Aint lb, right, extent;
    MPI_Count extent_c;
    MPI_Offset displacement;
    char representation[MPI_MAX_DATAREP_STRING];
    int size, own, ints, addresses, types, combiner;

    ET_MPI(MPI_Type_get_extent(drawn->in_file, &lb, &right));
    ET_MPI(MPI_File_get_type_extent(file, drawn->type, &extent));
    ET_MPI(MPI_File_get_type_extent_c(file, drawn->type, &extent_c));
    ET_CHECK(extent == right && extent_c == right, "type %d: extent %ld in the file, not %ld",
             number, (long) extent, (long) right);
    ET_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, representation));
    ET_CHECK(displacement == 3 && etype == basic.type && !strcmp(representation, "external32"),
             "type %d: another view at %ld in %s", number, (long) displacement, representation);
    ET_MPI(MPI_Type_size(filetype, &size));
    ET_MPI(MPI_Type_size(drawn->type, &own));
    ET_MPI(MPI_Type_get_extent(filetype, &lb, &extent));
    ET_MPI(MPI_Type_get_extent(drawn->type, &lb, &right));
    ET_CHECK(size == own && extent == right, "type %d: the view has a type of %d bytes", number,
             size);
    ET_MPI(MPI_Type_get_envelope(filetype, &ints, &addresses, &types, &combiner));
    if (combiner != MPI_COMBINER_NAMED)
        ET_MPI(MPI_Type_free(&filetype));
}

static void check_twins(struct twins *drawn, int number)
{
    const int skipped = draw(0, 3);
    int size, element, n, bytes[2];
    MPI_Aint end = 0, begin = 0, lb, extent;
    MPI_Offset position, offset, right;

    ET_MPI(MPI_Type_commit(&drawn->type));
    ET_MPI(MPI_Type_commit(&drawn->in_file));
    ET_MPI(MPI_Type_size(drawn->type, &size));
    ET_MPI(MPI_Type_size(basic.type, &element));
    ET_MPI(MPI_Type_get_extent(basic.type, &lb, &extent));
    n = size / element * 2 + draw(0, size / element);
    ET_CHECK(n * extent < MOST_BYTES, "type %d has too many elements", number);
    et_fill(data, (size_t) (n * extent), 0, number);
    memset(seen, EMPTY, sizeof(seen));
    memset(expected, EMPTY, sizeof(expected));
    ET_MPI(MPI_Pack_external("external32", data, n, basic.type, packed, MOST_BYTES, &end));
    ET_MPI(MPI_Unpack_external("external32", packed, end, &begin, expected, n, basic.type));

    ET_MPI(MPI_File_set_size(file, 0));
    ET_MPI(MPI_File_set_view(file, 3, basic.type, drawn->type, "external32", MPI_INFO_NULL));
    check_view(drawn, number);
    ET_MPI(MPI_File_seek(file, skipped, MPI_SEEK_SET));
    if (draw(0, 1))
        ET_MPI(MPI_File_write(file, data, n, basic.type, &status));
    else
        ET_MPI(MPI_File_write_all(file, data, n, basic.type, &status));
    ET_MPI(MPI_File_get_position(file, &position));
    ET_MPI(MPI_File_get_byte_offset(file, skipped + n, &offset));
    ET_MPI(MPI_File_read_at(file, skipped, seen, n, basic.type, &status));
    ET_CHECK(position == skipped + n, "type %d: position %ld", number, (long) position);
    ET_CHECK(!memcmp(seen, expected, MOST_BYTES), "type %d: other data are read", number);
    bytes[0] = read_file(files[0]);

    ET_MPI(MPI_File_set_size(file, 0));
    ET_MPI(MPI_File_set_view(file, 3, basic.in_file, drawn->in_file, "native", MPI_INFO_NULL));
    ET_MPI(MPI_File_get_byte_offset(file, skipped + n, &right));
    ET_MPI(MPI_File_write_at(file, skipped, packed, n, basic.in_file, &status));
    bytes[1] = read_file(files[1]);
    ET_CHECK(offset == right && bytes[0] == bytes[1], "type %d: offset %ld, not %ld, and %d "
             "bytes, not %d", number, (long) offset, (long) right, bytes[0], bytes[1]);
    for (int i = 0; i < bytes[0]; i++)
        ET_CHECK(files[0][i] == files[1][i], "type %d: byte %d of the file is %d, not %d", number,
                 i, files[0][i], files[1][i]);
}

static void check_drawn(int number)
{
    const int which = draw(0, (int) (sizeof(basics) / sizeof(*basics)) - 1);
    struct twins drawn;

    basic = (struct twins) {basics[which].type, basics[which].in_file};
    if (basic.in_file == MPI_BYTE) {
        ET_MPI(MPI_Type_contiguous(basics[which].bytes, MPI_BYTE, &basic.in_file));
        ET_MPI(MPI_Type_commit(&basic.in_file));
    }
    drawn = draw_twins(number % 4);
    check_twins(&drawn, number);
    ET_MPI(MPI_Type_free(&drawn.type));
    ET_MPI(MPI_Type_free(&drawn.in_file));
    if (basics[which].in_file == MPI_BYTE)
        ET_MPI(MPI_Type_free(&basic.in_file));
}

/* ---- an array of all processes --------------------------------------------------------------- */

static void check_together(void)
{
    const int sizes[] = { ROWS, COLUMNS }, processes[] = { et.size, 1 };
    const int distributions[] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE };
    const int arguments[] = { 1, MPI_DISTRIBUTE_DFLT_DARG };
    unsigned char whole[4 * ROWS * COLUMNS];
    long numbers[ROWS * COLUMNS];
    MPI_Datatype part;
    int n = 0;

    for (int i = et.rank; i < ROWS; i += et.size)
        for (int k = 0; k < COLUMNS; k++)
            numbers[n++] = i * COLUMNS + k;
    ET_MPI(MPI_Type_create_darray(et.size, et.rank, 2, sizes, distributions, arguments, processes,
                                  MPI_ORDER_C, MPI_LONG, &part));
    ET_MPI(MPI_Type_commit(&part));
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, path,
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                         &file));
    ET_MPI(MPI_File_set_view(file, 0, MPI_LONG, part, "external32", MPI_INFO_NULL));
    ET_MPI(MPI_Type_free(&part));
    ET_MPI(MPI_File_write_all(file, numbers, n, MPI_LONG, &status));
    ET_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    ET_MPI(MPI_File_read_at_all(file, 0, whole, sizeof(whole), MPI_BYTE, &status));
    for (int i = 0; i < (int) sizeof(whole); i++)
        ET_CHECK(whole[i] == (i % 4 == 3 ? i / 4 : 0), "byte %d is %d", i, whole[i]);
    ET_MPI(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    int types;

    et_options(&argc, &argv);
    types = (int) et_number(argc, argv, "types", 400);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    state = et.seed;
    check_together();
    if (et.rank == 0) {
        ET_MPI(MPI_File_open(MPI_COMM_SELF, path,
                             MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                             MPI_INFO_NULL, &file));
        for (int i = 0; i < types; i++)
            check_drawn(i);
        ET_MPI(MPI_File_close(&file));
        et_log("PASS file_external32_views");
    }
    ET_MPI(MPI_Finalize());
    return 0;
}
