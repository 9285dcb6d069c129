/*
 * Datatypes that are freed while a nonblocking operation on a file uses them, as MPI permits.
 * Other types may get their handles.  --hints NAME=VALUE,...
 */

#include "file_calls.h"

#define ELEMENTS 64
#define ROOM (2 * ELEMENTS)     /* every other element is a gap */

static const char *const path = "files_freed_types.data";

static MPI_Datatype every_other(void)
{
    MPI_Datatype type;

    ET_MPI(MPI_Type_vector(ELEMENTS, 1, 2, MPI_INT, &type));
    ET_MPI(MPI_Type_commit(&type));
    return type;
}

/* The other type may get its handle. */
static MPI_Datatype freed(MPI_Datatype type)
{
    MPI_Datatype other;

    ET_MPI(MPI_Type_free(&type));
    ET_MPI(MPI_Type_contiguous(3, MPI_DOUBLE, &other));
    ET_MPI(MPI_Type_commit(&other));
    return other;
}

typedef int start(int *data, MPI_Datatype type, MPI_Request * request);

static int iwrite_own(int *data, MPI_Datatype type, MPI_Request * request)
{
    return MPI_File_iwrite(file, data, 1, type, request);
}

static int iwrite_all(int *data, MPI_Datatype type, MPI_Request * request)
{
    return MPI_File_iwrite_all(file, data, 1, type, request);
}

static int iread_own(int *data, MPI_Datatype type, MPI_Request * request)
{
    return MPI_File_iread(file, data, 1, type, request);
}

static int iread_all(int *data, MPI_Datatype type, MPI_Request * request)
{
    return MPI_File_iread_all(file, data, 1, type, request);
}

static void transfer_by_freed_type(start * function, int *data, const char *name)
{
    MPI_Datatype type = every_other(), other;
    MPI_Request request;
    MPI_Status status;
    int count;

    ET_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
    ET_MPI(function(data, type, &request));
    other = freed(type);
    ET_MPI(MPI_Wait(&request, &status));
    ET_MPI(MPI_Get_count(&status, MPI_INT, &count));
    ET_CHECK(count == ELEMENTS, "%s: %d elements", name, count);
    ET_MPI(MPI_Type_free(&other));
}

static void check_pair(start * write, start * read, const char *name)
{
    int written[ROOM], found[ROOM];

    for (int i = 0; i < ROOM; i++) {
        written[i] = 1000 * et.rank + i;
        found[i] = -1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    transfer_by_freed_type(write, written, name);
    MPI_Barrier(MPI_COMM_WORLD);
    transfer_by_freed_type(read, found, name);
    for (int i = 0; i < ROOM; i++)
        ET_CHECK(found[i] == (i % 2 ? -1 : written[i]), "%s: element %d is %d", name, i, found[i]);
}

/* Elements of the processes alternate in the file. */
static void check_all(void)
{
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_resized(MPI_INT, 0, et.size * (MPI_Aint) sizeof(int), &type));
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_File_set_view(file, et.rank * (MPI_Offset) sizeof(int), MPI_INT, type, "native",
                             MPI_INFO_NULL));
    ET_MPI(MPI_Type_free(&type));
    check_pair(iwrite_all, iread_all, "all");
    check_pair(iwrite_own, iread_own, "own");
}

int main(int argc, char **argv)
{
    return check_file_calls(argc, argv, path, check_all, "files freed types");
}
