/*
 * Files in the data representation external32: each call that reads gets what was written, and each call that writes
 * writes it.  Processes have blocks in turn, so that collective operations exchange data.
 */

#include "elastic_test.h"

#define ELEMENTS 5000

static const char *const path = "file_external32.data";
static int numbers[ELEMENTS], buf[ELEMENTS];
static MPI_File file;
static MPI_Status status;
static MPI_Request request;

static void view(int is_ordered)
{
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_resized(MPI_INT, 0, (is_ordered ? 1 : et.size) * 4, &type));
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_File_set_view(file, is_ordered ? 0 : 4 * et.rank, MPI_INT, type, "external32", MPI_INFO_NULL));
    ET_MPI(MPI_Type_free(&type));
}

static void wait_for_request(void)
{
    ET_MPI(MPI_Wait(&request, &status));
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static void read_here(void)
{
    ET_MPI(MPI_File_read_at(file, 0, buf, ELEMENTS, MPI_INT, &status));
}

static void read_all(void)
{
    ET_MPI(MPI_File_read_all(file, buf, ELEMENTS, MPI_INT, &status));
}

static void read_split(void)
{
    ET_MPI(MPI_File_read_at_all_begin(file, 0, buf, ELEMENTS, MPI_INT));
    ET_MPI(MPI_File_read_at_all_end(file, buf, &status));
}

static void iread_here(void)
{
    ET_MPI(MPI_File_iread_at(file, 0, buf, ELEMENTS, MPI_INT, &request));
    wait_for_request();
}

static void iread(void)
{
    ET_MPI(MPI_File_iread(file, buf, ELEMENTS, MPI_INT, &request));
    wait_for_request();
}

static void iread_all(void)
{
    ET_MPI(MPI_File_iread_all(file, buf, ELEMENTS, MPI_INT, &request));
    wait_for_request();
}

static void read_ordered(void)
{
    ET_MPI(MPI_File_read_ordered(file, buf, ELEMENTS, MPI_INT, &status));
}

static void read_ordered_split(void)
{
    ET_MPI(MPI_File_read_ordered_begin(file, buf, ELEMENTS, MPI_INT));
    ET_MPI(MPI_File_read_ordered_end(file, buf, &status));
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void write_here(void)
{
    ET_MPI(MPI_File_write_at(file, 0, numbers, ELEMENTS, MPI_INT, &status));
}

static void write_all(void)
{
    ET_MPI(MPI_File_write_all(file, numbers, ELEMENTS, MPI_INT, &status));
}

static void iwrite_here(void)
{
    ET_MPI(MPI_File_iwrite_at(file, 0, numbers, ELEMENTS, MPI_INT, &request));
    wait_for_request();
}

static void iwrite(void)
{
    ET_MPI(MPI_File_iwrite(file, numbers, ELEMENTS, MPI_INT, &request));
    wait_for_request();
}

static void iwrite_all(void)
{
    ET_MPI(MPI_File_iwrite_all(file, numbers, ELEMENTS, MPI_INT, &request));
    wait_for_request();
}

static void write_ordered(void)
{
    ET_MPI(MPI_File_write_ordered(file, numbers, ELEMENTS, MPI_INT, &status));
}

static const struct call {
    const char *name;
    void (*call) (void);
    int writes, is_ordered;
} calls[] = {
    {"read_at", read_here, 0, 0}, {"read_all", read_all, 0, 0}, {"read_at_all_begin", read_split, 0, 0},
    {"iread_at", iread_here, 0, 0}, {"iread", iread, 0, 0}, {"iread_all", iread_all, 0, 0},
    {"read_ordered", read_ordered, 0, 1}, {"read_ordered_begin", read_ordered_split, 0, 1},
    {"write_at", write_here, 1, 0}, {"write_all", write_all, 1, 0}, {"iwrite_at", iwrite_here, 1, 0},
    {"iwrite", iwrite, 1, 0}, {"iwrite_all", iwrite_all, 1, 0}, {"write_ordered", write_ordered, 1, 1},
};

static void check(const struct call *call)
{
    view(call->is_ordered);
    for (int i = 0; i < ELEMENTS; i++)
        buf[i] = -1;
    if (call->writes)           /* something else than what is written */
        ET_MPI(MPI_File_write_ordered(file, buf, ELEMENTS, MPI_INT, &status));
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
        ET_CHECK(buf[i] == numbers[i], "%s: number %d is %d, not %d", call->name, i, buf[i], numbers[i]);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    for (int i = 0; i < ELEMENTS; i++)
        numbers[i] = 100000 * (et.rank + 1) + i;
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
    for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        check(&calls[i]);
    ET_MPI(MPI_File_close(&file));
    if (et.rank == 0)
        et_log("PASS file_external32");
    MPI_Finalize();
    return 0;
}
