/*
 * The data representation external32: drawn datatypes are packed and unpacked, written to files and
 * read from them, and compared with their elements, converted one by one.  Around all data are
 * bytes that must stay.  --seed N --types N
 */

#include <wchar.h>
#include "types_drawn.h"

enum { MARGIN = 64, LONG_DATA = 600000, EMPTY = 0x55, LONGS = 10 };

static const char *const path = "types_external32.data";

/* ---- the representation ---------------------------------------------------------------------- */

static int external_bytes(MPI_Datatype basic, int bytes)
{
    return basic == MPI_LONG || basic == MPI_UNSIGNED_LONG ? 4 : basic == MPI_WCHAR ? 2 : bytes;
}

static unsigned long long value_of(const char *element, int bytes)
{
    union {
        unsigned char c;
        unsigned short s;
        unsigned i;
        unsigned long long l;
    } value;

    memcpy(&value, element, (size_t) bytes);
    return bytes == 1 ? value.c : bytes == 2 ? value.s : bytes == 4 ? value.i : value.l;
}

/* An element as it is in a file; its length. */
static int convert(MPI_Datatype basic, const char *element, int bytes, char *external)
{
    const int parts = basic == MPI_C_DOUBLE_COMPLEX ? 2 : 1, part = bytes / parts, all =
        external_bytes(basic, bytes);

    for (int i = 0; i < all; i++) {
        const int shift = 8 * (all / parts - 1 - i % (all / parts));
        external[i] = (char) (value_of(element + i / (all / parts) * part, part) >> shift);
    }
    return all;
}

/* An element that has been converted there and back, where the representation has fewer bytes. */
static void narrow(MPI_Datatype basic, char *element, int bytes)
{
    const unsigned long long value = bytes <= 8 ? value_of(element, bytes) : 0;

    if (basic == MPI_LONG)
        memcpy(element, &(long) {(int32_t) value}, sizeof(long));
    else if (basic == MPI_UNSIGNED_LONG)
        memcpy(element, &(unsigned long) {(uint32_t) value}, sizeof(long));
    else if (basic == MPI_WCHAR)
        memcpy(element, &(wchar_t) {(uint16_t) value}, sizeof(wchar_t));
}

/* ---- drawn types ----------------------------------------------------------------------------- */

static int n;                   /* elements of the type */
static MPI_Aint extent, origin, bytes, packed_bytes, elements;
static char *typed, *packed, *seen, *expected;
static MPI_File file;

static void compare(const char *call, const char *right, MPI_Aint length, int number)
{
    for (MPI_Aint i = 0; i < length; i++)
        ET_CHECK(seen[i] == right[i], "%s of type %d, %d of them: byte %ld of %ld is %d, not %d",
                 call, number, n, (long) i, (long) length, seen[i], right[i]);
    memset(seen, EMPTY, (size_t) length);
}

/* The data in memory and in the representation; the first `most` elements of them are expected. */
static void expect_elements(const struct model *model, MPI_Aint most)
{
    MPI_Aint at = MARGIN, done = 0;

    memset(expected, EMPTY, (size_t) bytes);
    memset(packed, EMPTY, (size_t) (packed_bytes + 2 * MARGIN));
    for (int k = 0; k < n; k++)
        for (int i = 0; i < model->count && done < most; i++, done++) {
            const MPI_Aint where = origin + k * extent + model->at[i];
            at += convert(model->basic[i], typed + where, model->bytes[i], packed + at);
            memcpy(expected + where, typed + where, (size_t) model->bytes[i]);
            narrow(model->basic[i], expected + where, model->bytes[i]);
        }
}

static void allocate(const struct model *model)
{
    MPI_Aint begin, span = span_of(model, &begin), all = 0;

    for (int i = 0; i < model->count; i++)
        all += external_bytes(model->basic[i], model->bytes[i]);
    packed_bytes = n * all;
    elements = (MPI_Aint) n * model->count;
    origin = MARGIN - (begin < 0 ? begin : 0) - (extent < 0 ? (n - 1) * extent : 0);
    bytes = origin + begin + span + (extent > 0 ? (n - 1) * extent : 0) + MARGIN;
    typed = malloc((size_t) bytes);
    expected = malloc((size_t) bytes);
    packed = malloc((size_t) packed_bytes + 2 * MARGIN);
    seen = malloc((size_t) (bytes + packed_bytes + 2 * MARGIN));
    ET_CHECK(typed && expected && packed && seen, "no memory");
    et_fill(typed, (size_t) bytes, 0, 1);
    memset(seen, EMPTY, (size_t) (bytes + packed_bytes + 2 * MARGIN));
}

static void check_pack(MPI_Datatype type, int number)
{
    MPI_Aint position = MARGIN, size;

    ET_MPI(MPI_Pack_external_size("external32", n, type, &size));
    ET_CHECK(size == packed_bytes, "the size of type %d, %d of them: %ld, not %ld", number, n,
             (long) size, (long) packed_bytes);
    ET_MPI(MPI_Pack_external("external32", typed + origin, n, type, seen, MARGIN + size,
                             &position));
    ET_CHECK(position == MARGIN + size, "type %d: position %ld", number, (long) position);
    compare("Pack_external", packed, MARGIN + packed_bytes + MARGIN, number);
    position = MARGIN;
    ET_MPI(MPI_Unpack_external("external32", packed, MARGIN + size, &position, seen + origin, n,
                               type));
    ET_CHECK(position == MARGIN + size, "type %d: position %ld after Unpack_external", number,
             (long) position);
    compare("Unpack_external", expected, bytes, number);

    position = MARGIN;
    ET_ERROR(MPI_Pack_external("external32", typed + origin, n, type, seen, MARGIN + size - 1,
                               &position), MPI_ERR_ARG,
             "too small");
    ET_ERROR(MPI_Unpack_external("external32", packed, MARGIN + size - 1, &position, seen + origin,
                                 n, type),
             MPI_ERR_TRUNCATE, NULL);
    memset(expected, EMPTY, (size_t) bytes);
    compare("Pack_external into a short buffer", expected, bytes, number);
}

static void check_status(const MPI_Status * status, MPI_Datatype type, MPI_Aint right, int number)
{
    int count;

    ET_MPI(MPI_Get_elements(status, type, &count));
    ET_CHECK(count == right, "type %d, %d of them: the status has %d elements, not %ld", number, n,
             count, (long) right);
}

/* Of the data that a file has in front of its end `cut` bytes are missing. */
static MPI_Aint whole_elements(const struct model *model, MPI_Aint cut)
{
    MPI_Aint at = 0;

    for (MPI_Aint i = 0; i < elements; i++) {
        at += external_bytes(model->basic[i % model->count], model->bytes[i % model->count]);
        if (at > packed_bytes - cut)
            return i;
    }
    return elements;
}

static void check_file(MPI_Datatype type, const struct model *model, int number)
{
    const int gaps = draw(0, 1);
    const MPI_Aint cut = draw(1, (int) (packed_bytes < 40 ? packed_bytes : 40));
    const char *const mode = draw(0, 1) ? "external32" : "EXTERNAL32";
    MPI_Datatype view = MPI_BYTE, block;
    MPI_Status status;
    MPI_Offset end, size;

    if (gaps) {
        ET_MPI(MPI_Type_contiguous(3, MPI_BYTE, &block));
        ET_MPI(MPI_Type_create_resized(block, 0, 5, &view));
        ET_MPI(MPI_Type_commit(&view));
        ET_MPI(MPI_Type_free(&block));
    }
    ET_MPI(MPI_File_set_size(file, 0));
    ET_MPI(MPI_File_set_view(file, 7, MPI_BYTE, view, mode, MPI_INFO_NULL));
    ET_MPI(MPI_File_write(file, typed + origin, n, type, &status));
    check_status(&status, type, elements, number);
    ET_MPI(MPI_File_get_position(file, &end));
    ET_CHECK(end == packed_bytes, "type %d: position %ld in the file", number, (long) end);
    ET_MPI(MPI_File_read_at(file, 0, seen + origin, n, type, &status));
    check_status(&status, type, elements, number);
    compare("Read", expected, bytes, number);

    ET_MPI(MPI_File_set_view(file, 7, MPI_BYTE, view, "native", MPI_INFO_NULL));
    ET_MPI(MPI_File_read_at(file, 0, seen + MARGIN, (int) packed_bytes, MPI_BYTE, &status));
    check_status(&status, MPI_BYTE, packed_bytes, number);
    ET_MPI(MPI_File_get_byte_offset(file, packed_bytes - 1, &end));
    ET_MPI(MPI_File_get_size(file, &size));
    ET_CHECK(size == end + 1, "type %d: the file has %ld bytes, not %ld", number, (long) size,
             (long) end + 1);
    compare("Write", packed, MARGIN + packed_bytes + MARGIN, number);

    ET_MPI(MPI_File_get_byte_offset(file, packed_bytes - cut, &end));
    ET_MPI(MPI_File_set_size(file, end));
    ET_MPI(MPI_File_set_view(file, 7, MPI_BYTE, view, mode, MPI_INFO_NULL));
    expect_elements(model, whole_elements(model, cut));
    ET_MPI(MPI_File_read_at(file, 0, seen + origin, n, type, &status));
    check_status(&status, type, whole_elements(model, cut), number);
    compare("Read at the end", expected, bytes, number);
    free_derived(&view);
}

static void check_type(MPI_Datatype type, const struct model *model, int number)
{
    MPI_Aint lb, begin, span = span_of(model, &begin);
    int size;

    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_Type_size(type, &size));
    ET_MPI(MPI_Type_get_extent(type, &lb, &extent));
    n = extent >= span || -extent >= span ? draw(1, 3) : 1;
    if (n > 1 && draw(0, 3) == 0)
        n = LONG_DATA / size;
    allocate(model);
    expect_elements(model, elements);
    check_pack(type, number);
    expect_elements(model, elements);
    check_file(type, model, number);
    free(typed);
    free(expected);
    free(packed);
    free(seen);
}

/* A copy begins before the one in front of it. */
static void check_backwards(struct model *model)
{
    const MPI_Aint at[] = { 0, -20, 6 };
    const MPI_Datatype members[] = { MPI_INT, MPI_DOUBLE, MPI_SHORT };
    MPI_Datatype type, backwards;

    ET_MPI(MPI_Type_create_struct(3, (int[]) {1, 1, 1}, at, members, &type));
    ET_MPI(MPI_Type_create_resized(type, 5, -40, &backwards));
    model->count = 3;
    for (int i = 0; i < 3; i++) {
        model->at[i] = at[i];
        model->basic[i] = members[i];
        ET_MPI(MPI_Type_size(members[i], &model->bytes[i]));
    }
    check_type(backwards, model, -1);
    ET_MPI(MPI_Type_free(&type));
    ET_MPI(MPI_Type_free(&backwards));
}

/* ---- known data ------------------------------------------------------------------------------ */

static void check_known(const char *name, MPI_Datatype type, const void *data, const char *right,
                        int length)
{
    char known[64], back[64];
    MPI_Aint position = 0, end = 0;
    int size;

    ET_MPI(MPI_Type_size(type, &size));
    memset(known, EMPTY, sizeof(known));
    memset(back, 0, sizeof(back));
    ET_MPI(MPI_Pack_external("external32", data, 1, type, known, sizeof(known), &position));
    ET_CHECK(position == length, "%s: %ld bytes", name, (long) position);
    for (int i = 0; i < length; i++)
        ET_CHECK(known[i] == right[i], "%s: byte %d is %d, not %d", name, i, known[i], right[i]);
    ET_CHECK(known[length] == EMPTY, "%s: a byte after the data is written", name);
    ET_MPI(MPI_Unpack_external("external32", known, length, &end, back, 1, type));
    if (!strncmp(name, "long double", 11))
        size = 10;              /* the rest of the first one is undefined */
    ET_CHECK(!memcmp(back, data, (size_t) size), "%s: other data come back", name);
}

static void check_known_data(void)
{
    static const struct {
        long double parts[2];
    } numbers = { {1.5L, -2} };
    static const char quads[] =
        "\x3f\xff\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    static const char floats[] = "\x3f\xc0\0\0\xc0\0\0\0", doubles[] =
        "\x3f\xf8\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0";
    MPI_Datatype real;

    check_known("long double", MPI_LONG_DOUBLE, numbers.parts, quads, 16);
    check_known("long double complex", MPI_C_LONG_DOUBLE_COMPLEX, numbers.parts, quads, 32);
    check_known("float complex", MPI_C_FLOAT_COMPLEX, (float[]) { 1.5F, -2 }, floats, 8);
    check_known("double complex", MPI_C_DOUBLE_COMPLEX, (double[]) { 1.5, -2 }, doubles, 16);
    check_known("long", MPI_LONG, (long[]) { -2 }, "\xff\xff\xff\xfe", 4);
    check_known("unsigned long", MPI_UNSIGNED_LONG, (unsigned long[]) { 0xfffffffe },
                "\xff\xff\xff\xfe", 4);
    check_known("wchar_t", MPI_WCHAR, (wchar_t[]) { 0xabcd }, "\xab\xcd", 2);
    check_known("2INT", MPI_2INT, (int[]) { 1, -2 }, "\0\0\0\1\xff\xff\xff\xfe", 8);
    if (MPI_COMPLEX != MPI_DATATYPE_NULL) {
        check_known("COMPLEX", MPI_COMPLEX, (float[]) {1.5F, -2}, floats, 8);
        check_known("DOUBLE COMPLEX", MPI_DOUBLE_COMPLEX, (double[]) {1.5, -2}, doubles, 16);
        ET_MPI(MPI_Type_create_f90_real(12, MPI_UNDEFINED, &real));
        check_known("selected real", real, (double[]) {1.5}, doubles, 8);
    }
}

/* In a view of elements that are shorter in the file, offsets count these. */
static void check_long_view(void)
{
    static long numbers[2 * LONGS], back[2 * LONGS + 1];
    MPI_Status status;
    MPI_Offset size, offset;
    MPI_Aint in_file;

    for (int i = 0; i < 2 * LONGS; i++)
        numbers[i] = i - LONGS;
    ET_MPI(MPI_File_set_size(file, 0));
    ET_MPI(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    ET_MPI(MPI_File_get_type_extent(file, MPI_LONG, &in_file));
    ET_MPI(MPI_File_write(file, numbers, LONGS, MPI_LONG, &status));
    ET_MPI(MPI_File_write_at_all(file, LONGS, numbers + LONGS, LONGS, MPI_LONG, &status));
    ET_MPI(MPI_File_get_size(file, &size));
    ET_MPI(MPI_File_get_position(file, &offset));
    ET_CHECK(in_file == 4 && size == 8 * LONGS &&
             offset == LONGS, "%ld bytes of a long, %ld in the file, position %ld", (long) in_file,
             (long) size, (long) offset);
    ET_MPI(MPI_File_read_at(file, 1, back, 2 * LONGS, MPI_LONG, &status));
    check_status(&status, MPI_LONG, 2 * LONGS - 1, 0);
    ET_CHECK(!memcmp(back, numbers + 1, (2 * LONGS - 1) * sizeof(long)), "other numbers are read");
}

int main(int argc, char **argv)
{
    static struct model model;
    int types;

    et_options(&argc, &argv);
    types = (int) et_number(argc, argv, "types", 400);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    state = et.seed;
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_File_open(MPI_COMM_SELF, path,
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                         &file));
    check_known_data();
    check_long_view();
    check_backwards(&model);
    for (int i = 0; i < types; i++) {
        MPI_Datatype type = draw_type(&model, 1 + i % 4);
        if (model.count > 0 && model.count < MOST)
            check_type(type, &model, i);
        MPI_Type_free(&type);
    }
    ET_MPI(MPI_File_close(&file));
    et_log("PASS types external32");
    ET_MPI(MPI_Finalize());
    return 0;
}
