/*
 * A read or write that fails on one process: all processes of a collective one return, and with an
 * error; the error handler of the file is called, not that of a communicator.  The process that
 * accesses the file for all (an aggregator) loses its descriptor: instead is one of the same file
 * that cannot be read, or not be written.
 */

#include "elastic_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#define ELEMENTS 64

static const char *const path = "file_errors.data";

/* The descriptors of files whose name contains `part` are replaced by ones of the file of this
 * mode; how many. */
static int replace_descriptors(const char *part, int mode)
{
    DIR *folder = opendir("/proc/self/fd");
    int found = 0, other = open(path, mode), fd;
    char link[64], target[4096];
    struct dirent *entry;

    ET_CHECK(folder != NULL && other >= 0, "no descriptors");
    while ((entry = readdir(folder))) {
        fd = atoi(entry->d_name);
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof(target) - 1);
        if (length < 0 || fd == other)
            continue;
        target[length] = '\0';
        if (!strstr(target, part))
            continue;
        ET_CHECK(dup2(other, fd) == fd, "descriptor %d", fd);
        found++;
    }
    closedir(folder);
    close(other);
    return found;
}

/* Blocks of 8 bytes for each process in turn, and as many that are left out. */
static MPI_File open_file(MPI_Info hints, int gaps)
{
    MPI_File file;
    MPI_Datatype block, type;

    ET_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &file));
    ET_MPI(MPI_Type_contiguous(2, MPI_INT, &block));
    ET_MPI(MPI_Type_create_resized(block, 0, 8 * (et.size + gaps), &type));
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_File_set_view(file, 8 * et.rank, MPI_INT, type, "native", hints));
    ET_MPI(MPI_Type_free(&type));
    ET_MPI(MPI_Type_free(&block));
    return file;
}

static int handled;

static void count_errors(MPI_File * file, int *error, ...)
{
    handled++;
}

/* A collective transfer from or to the begin of the file. */
enum form { BLOCKING, NONBLOCKING, TESTED, SPLIT, FORMS };
static const char *const form_names[FORMS] = { "blocking", "nonblocking", "tested", "split" };

static int complete(MPI_Request * request, enum form form, MPI_Status * status)
{
    int error = MPI_SUCCESS, flag = 0;

    if (form == NONBLOCKING)
        return MPI_Wait(request, status);
    while (!flag && error == MPI_SUCCESS)
        error = MPI_Test(request, &flag, status);
    return error;
}

static int read_by(enum form form, MPI_File file, int buf[])
{
    MPI_Request request;
    MPI_Status status;
    int error;

    switch (form) {
        case BLOCKING:
            return MPI_File_read_at_all(file, 0, buf, ELEMENTS, MPI_INT, &status);
        case SPLIT:
            error = MPI_File_read_at_all_begin(file, 0, buf, ELEMENTS, MPI_INT);
            if (error == MPI_SUCCESS)
                error = MPI_File_read_at_all_end(file, buf, &status);
            return error;
        default:
            ET_MPI(MPI_File_iread_at_all(file, 0, buf, ELEMENTS, MPI_INT, &request));
            return complete(&request, form, &status);
    }
}

static int write_by(enum form form, MPI_File file, const int buf[])
{
    MPI_Request request;
    MPI_Status status;
    int error;

    switch (form) {
        case BLOCKING:
            return MPI_File_write_at_all(file, 0, buf, ELEMENTS, MPI_INT, &status);
        case SPLIT:
            error = MPI_File_write_at_all_begin(file, 0, buf, ELEMENTS, MPI_INT);
            if (error == MPI_SUCCESS)
                error = MPI_File_write_at_all_end(file, buf, &status);
            return error;
        default:
            ET_MPI(MPI_File_iwrite_at_all(file, 0, buf, ELEMENTS, MPI_INT, &request));
            return complete(&request, form, &status);
    }
}

/* MODIFY: what lies between the data is read before both are written. */
enum what { READ, WRITE, MODIFY, WHATS };
static const char *const what_names[WHATS] = { "read", "write", "write with gaps" };

/* The aggregator is the first process: all are on one host. */
static void fail(MPI_Info hints, enum form form, enum what what)
{
    int buf[ELEMENTS], class = MPI_SUCCESS;
    MPI_File file = open_file(hints, what == MODIFY);
    MPI_Errhandler handler;

    for (int i = 0; i < ELEMENTS; i++)
        buf[i] = i;
    ET_MPI(write_by(form, file, buf));
    ET_MPI(read_by(form, file, buf));
    if (et.rank == 0)
        ET_CHECK(replace_descriptors(path, what == WRITE ? O_RDONLY : O_WRONLY) > 0,
                 "the file is not open");
    ET_MPI(MPI_File_create_errhandler(count_errors, &handler));
    ET_MPI(MPI_File_set_errhandler(file, handler));
    ET_MPI(MPI_Errhandler_free(&handler));
    handled = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Error_class(what == READ ? read_by(form, file, buf) : write_by(form, file, buf), &class);
    ET_CHECK(class == MPI_ERR_IO, "%s %s: class %d", form_names[form], what_names[what], class);
    ET_CHECK(handled == 1, "%s %s: %d calls of the error handler", form_names[form],
             what_names[what], handled);
    ET_MPI(MPI_File_close(&file));
}

/* One process cannot use the shared pointer: it has an error, and the others end. */
static void fail_ordered(int split, int writes)
{
    int buf[ELEMENTS] = { 0 }, error, class, failing = et.size - 1;
    MPI_Status status;
    MPI_File file;

    ET_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    ET_MPI(MPI_File_write_ordered(file, buf, ELEMENTS, MPI_INT, &status));
    if (et.rank == failing)
        ET_CHECK(replace_descriptors(".shfp", O_WRONLY) > 0, "no shared pointer");
    MPI_Barrier(MPI_COMM_WORLD);
    if (split) {
        error = writes ? MPI_File_write_ordered_begin(file, buf, ELEMENTS, MPI_INT) :
            MPI_File_read_ordered_begin(file, buf, ELEMENTS, MPI_INT);
        if (error == MPI_SUCCESS)
            error = writes ? MPI_File_write_ordered_end(file, buf, &status) :
                MPI_File_read_ordered_end(file, buf, &status);
    } else {
        error = writes ? MPI_File_write_ordered(file, buf, ELEMENTS, MPI_INT, &status) :
            MPI_File_read_ordered(file, buf, ELEMENTS, MPI_INT, &status);
    }
    MPI_Error_class(error, &class);
    ET_CHECK((class != MPI_SUCCESS) == (et.rank == failing), "ordered %s: class %d",
             writes ? "write" : "read", class);
    ET_MPI(MPI_File_close(&file));
}

/* Each process alone, by the system's asynchronous operations. */
static void fail_alone(enum form form, int writes)
{
    int buf[ELEMENTS] = { 0 }, class = MPI_SUCCESS;
    MPI_Request request;
    MPI_Status status;
    MPI_File file;

    ET_MPI(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    ET_CHECK(replace_descriptors(path, writes ? O_RDONLY : O_WRONLY) > 0, "the file is not open");
    if (writes)
        ET_MPI(MPI_File_iwrite_at(file, 0, buf, ELEMENTS, MPI_INT, &request));
    else
        ET_MPI(MPI_File_iread_at(file, 0, buf, ELEMENTS, MPI_INT, &request));
    MPI_Error_class(complete(&request, form, &status), &class);
    ET_CHECK(class == MPI_ERR_IO, "%s %s alone: class %d", form_names[form],
             writes ? "write" : "read", class);
    ET_MPI(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    /* in one round, and in several */
    static const char *const sizes[] = {"4096", "128"};
    MPI_Info hints;

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    ET_MPI(MPI_Info_create(&hints));
    ET_MPI(MPI_Info_set(hints, "romio_cb_read", "enable"));
    ET_MPI(MPI_Info_set(hints, "romio_cb_write", "enable"));
    for (int i = 0; i < 2; i++) {
        ET_MPI(MPI_Info_set(hints, "cb_buffer_size", sizes[i]));
        for (enum form form = 0; form < FORMS; form++) {
            for (enum what what = 0; what < WHATS; what++)
                fail(hints, form, what);
        }
    }
    for (enum form form = NONBLOCKING; form <= TESTED; form++) {
        fail_alone(form, 0);
        fail_alone(form, 1);
    }
    for (int split = 0; split < 2; split++) {
        fail_ordered(split, 0);
        fail_ordered(split, 1);
    }
    ET_MPI(MPI_Info_free(&hints));
    MPI_Barrier(MPI_COMM_WORLD);
    if (et.rank == 0)
        remove(path);
    if (et.rank == 0)
        et_log("PASS file_errors");
    MPI_Finalize();
    return 0;
}
