/*
 * A collective read or write that fails on one process: all processes return, and with an error.  The
 * process that accesses the file for all (an aggregator) loses its descriptor: instead is one of
 * the same file that cannot be read, or not be written.
 */

#include "elastic_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#define ELEMENTS 64

static const char *const path = "file_errors.data";

/* The descriptors of the file are replaced by ones of this mode; how many. */
static int replace_descriptors(int mode)
{
    DIR *folder = opendir("/proc/self/fd");
    int found = 0, other = open(path, mode), fd;
    char link[64], target[4096], name[4096];
    struct dirent *entry;

    ET_CHECK(folder != NULL && other >= 0, "no descriptors");
    while ((entry = readdir(folder))) {
        fd = atoi(entry->d_name);
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, target, sizeof(target) - 1);
        if (length < 0 || fd == other)
            continue;
        target[length] = '\0';
        if (strcmp(target, realpath(path, name)) != 0)
            continue;
        ET_CHECK(dup2(other, fd) == fd, "descriptor %d", fd);
        found++;
    }
    closedir(folder);
    close(other);
    return found;
}

static MPI_File open_file(MPI_Info hints)
{
    MPI_File file;
    MPI_Datatype block, type;

    ET_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &file));
    ET_MPI(MPI_Type_contiguous(2, MPI_INT, &block));
    ET_MPI(MPI_Type_create_resized(block, 0, 8 * et.size, &type));
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_File_set_view(file, 8 * et.rank, MPI_INT, type, "native", hints));
    ET_MPI(MPI_Type_free(&type));
    ET_MPI(MPI_Type_free(&block));
    return file;
}

/* The aggregator is the first process: all are on one host. */
static void fail(MPI_Info hints, int writes)
{
    int buf[ELEMENTS], class = MPI_SUCCESS;
    MPI_File file = open_file(hints);
    MPI_Status status;

    for (int i = 0; i < ELEMENTS; i++)
        buf[i] = i;
    ET_MPI(MPI_File_write_at_all(file, 0, buf, ELEMENTS, MPI_INT, &status));
    ET_MPI(MPI_File_read_at_all(file, 0, buf, ELEMENTS, MPI_INT, &status));
    if (et.rank == 0)
        ET_CHECK(replace_descriptors(writes ? O_RDONLY : O_WRONLY) > 0, "the file is not open");
    MPI_Barrier(MPI_COMM_WORLD);
    if (writes)
        MPI_Error_class(MPI_File_write_at_all(file, 0, buf, ELEMENTS, MPI_INT, &status), &class);
    else
        MPI_Error_class(MPI_File_read_at_all(file, 0, buf, ELEMENTS, MPI_INT, &status), &class);
    ET_CHECK(class == MPI_ERR_IO, "%s: class %d", writes ? "write" : "read", class);
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
        fail(hints, 0);
        fail(hints, 1);
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
