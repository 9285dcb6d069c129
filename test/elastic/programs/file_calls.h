/*
 * Calls of MPI-IO that read and write, by explicit offset, for programs that try each of them on
 * the same data; and the file that they use, with hints of the command line (--hints
 * NAME=VALUE,...).  One program includes it.
 */

#ifndef FILE_CALLS_H_INCLUDED
#define FILE_CALLS_H_INCLUDED

#include "elastic_test.h"

static MPI_File file;

static void write_at(MPI_Offset offset, void *buf, int count, MPI_Datatype type)
{
    ET_MPI(MPI_File_write_at(file, offset, buf, count, type, MPI_STATUS_IGNORE));
}

static void write_at_all(MPI_Offset offset, void *buf, int count, MPI_Datatype type)
{
    ET_MPI(MPI_File_write_at_all(file, offset, buf, count, type, MPI_STATUS_IGNORE));
}

static void write_pointer(MPI_Offset offset, void *buf, int count, MPI_Datatype type)
{
    ET_MPI(MPI_File_seek(file, offset, MPI_SEEK_SET));
    ET_MPI(MPI_File_write(file, buf, count, type, MPI_STATUS_IGNORE));
}

static void iwrite_at_all(MPI_Offset offset, void *buf, int count, MPI_Datatype type)
{
    MPI_Request request;

    ET_MPI(MPI_File_iwrite_at_all(file, offset, buf, count, type, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void read_at(MPI_Offset offset, void *buf, int count, MPI_Datatype type)
{
    ET_MPI(MPI_File_read_at(file, offset, buf, count, type, MPI_STATUS_IGNORE));
}

static void read_at_all(MPI_Offset offset, void *buf, int count, MPI_Datatype type)
{
    ET_MPI(MPI_File_read_at_all(file, offset, buf, count, type, MPI_STATUS_IGNORE));
}

static void read_pointer(MPI_Offset offset, void *buf, int count, MPI_Datatype type)
{
    ET_MPI(MPI_File_seek(file, offset, MPI_SEEK_SET));
    ET_MPI(MPI_File_read(file, buf, count, type, MPI_STATUS_IGNORE));
}

static void iread_at_all(MPI_Offset offset, void *buf, int count, MPI_Datatype type)
{
    MPI_Request request;

    ET_MPI(MPI_File_iread_at_all(file, offset, buf, count, type, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

typedef void transfer(MPI_Offset offset, void *buf, int count, MPI_Datatype type);

#define CALLS 4
static const char *const names[CALLS] = { "at", "at_all", "pointer", "iat_all" };
static transfer *const writes[CALLS] = { write_at, write_at_all, write_pointer, iwrite_at_all };
static transfer *const reads[CALLS] = { read_at, read_at_all, read_pointer, iread_at_all };

static void open_file(const char *path, int argc, char **argv)
{
    const char *text = et_argument(argc, argv, "hints", NULL);
    char *copy = strdup(text ? text : "");
    MPI_Info hints;

    ET_MPI(MPI_Info_create(&hints));
    for (char *word = strtok(copy, ","); word; word = strtok(NULL, ",")) {
        char *value = strchr(word, '=');

        ET_CHECK(value != NULL, "%s", word);
        *value = '\0';
        ET_MPI(MPI_Info_set(hints, word, value + 1));
    }
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, path,
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, hints, &file));
    ET_MPI(MPI_Info_free(&hints));
    free(copy);
}

/* The whole program: `check` runs with the file open. */
static int check_file_calls(int argc, char **argv, const char *path, void (*check)(void),
                            const char *title)
{
    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    open_file(path, argc, argv);
    check();
    ET_MPI(MPI_File_close(&file));
    if (et.rank == 0)
        et_log("PASS %s", title);
    ET_MPI(MPI_Finalize());
    return 0;
}

#endif /* FILE_CALLS_H_INCLUDED */
