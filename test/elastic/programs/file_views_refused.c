/*
 * MPI_File_set_view refuses types whose displacements decrease, are negative or overlap, and the
 * file keeps its view.
 */

#include "elastic_test.h"

enum { NUMBERS = 6 };

static MPI_File file;

static MPI_Datatype pair_at(int first, int second)
{
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_indexed_block(2, 1, (int[]) { first, second }, MPI_INT, &type));
    ET_MPI(MPI_Type_commit(&type));
    return type;
}

/* In the view every second number is accessible. */
static void check_view(const char *mode)
{
    static const int numbers[NUMBERS] = { 1, 2, 3, 4, 5, 6 };
    int seen[NUMBERS] = { 0 };
    MPI_Offset offset;

    ET_MPI(MPI_File_write_at(file, 0, numbers, NUMBERS, MPI_INT, MPI_STATUS_IGNORE));
    ET_MPI(MPI_File_read_at(file, 0, seen, NUMBERS, MPI_INT, MPI_STATUS_IGNORE));
    ET_MPI(MPI_File_get_byte_offset(file, NUMBERS - 1, &offset));
    ET_CHECK(!memcmp(seen, numbers, sizeof(seen)), "%s: other numbers are read", mode);
    ET_CHECK(offset == 4 + 8 * (NUMBERS - 1), "%s: the last number is at %ld", mode,
             (long) offset);
}

static void check_refused(const char *mode, MPI_Datatype etype, MPI_Datatype filetype)
{
    ET_ERROR(MPI_File_set_view(file, 0, etype, filetype, mode, MPI_INFO_NULL), MPI_ERR_IO, NULL);
    check_view(mode);
}

int main(int argc, char **argv)
{
    static const char *const modes[] = { "native", "external32" };
    MPI_Datatype every_second, refused[3], number;

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    ET_MPI(MPI_File_open(MPI_COMM_SELF, "file_views_refused.data",
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                         &file));
    ET_MPI(MPI_Type_contiguous(1, MPI_INT, &number));
    ET_MPI(MPI_Type_commit(&number));
    ET_MPI(MPI_Type_create_resized(MPI_INT, 0, 8, &every_second));
    ET_MPI(MPI_Type_commit(&every_second));
    refused[0] = pair_at(3, 0);
    refused[1] = pair_at(-2, 0);
    refused[2] = pair_at(2, 2);
    for (int mode = 0; mode < 2; mode++) {
        ET_MPI(MPI_File_set_view(file, 4, number, every_second, modes[mode], MPI_INFO_NULL));
        for (int i = 0; i < 3; i++) {
            check_refused(modes[mode], refused[i], refused[i]);
            check_refused(modes[mode], MPI_INT, refused[i]);
        }
    }
    ET_MPI(MPI_File_close(&file));
    for (int i = 0; i < 3; i++)
        ET_MPI(MPI_Type_free(&refused[i]));
    ET_MPI(MPI_Type_free(&every_second));
    ET_MPI(MPI_Type_free(&number));
    et_log("PASS file_views_refused");
    ET_MPI(MPI_Finalize());
    return 0;
}
