/*
 * C4: files that are open at commit are closed with their data, deleted where that was requested; a
 * later use is MPI_ERR_FILE with a message that names the adaptation, MPI_File_close is allowed and
 * harmless.  A file over MPI_COMM_SELF remains open, with its position.  --dir FOLDER
 */

#include "elastic_test.h"
#include <fcntl.h>
#include <unistd.h>

static const char *dir;
static char data_name[512], ended_name[512], shared_name[512], own_name[512];
static MPI_File data, ended, shared, own;
static int open_files;          /* descriptors that this process has */

static void name_files(void)
{
    snprintf(data_name, sizeof(data_name), "%s/data.%d", dir, et.epoch);
    snprintf(ended_name, sizeof(ended_name), "%s/ended.%d", dir, et.epoch);
    snprintf(shared_name, sizeof(shared_name), "%s/shared.%d", dir, et.epoch);
}

static int descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            n++;
    return n;
}

static void make(void)
{
    int value = 100 + et.rank, create = MPI_MODE_CREATE | MPI_MODE_RDWR;
    MPI_Comm copy;

    name_files();
    ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    ET_MPI(MPI_File_open(MPI_COMM_WORLD, data_name, create, MPI_INFO_NULL, &data));
    ET_MPI(MPI_File_open(copy, ended_name, create | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                         &ended));
    ET_MPI(MPI_File_open(copy, shared_name, create, MPI_INFO_NULL, &shared));
    ET_MPI(MPI_Comm_free(&copy));
    ET_MPI(MPI_File_write_at_all(data, et.rank * sizeof(int), &value, 1, MPI_INT,
                                 MPI_STATUS_IGNORE));
    ET_MPI(MPI_File_write_at(ended, et.rank * sizeof(int), &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    ET_MPI(MPI_File_write_shared(shared, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    open_files = descriptors();
}

#define GONE(call) ET_ERROR(call, MPI_ERR_FILE, "adaptation")

static void is_stale(MPI_File file)
{
    int value = 0, amode;
    MPI_Offset offset;
    MPI_Group group;
    MPI_Info info;
    MPI_Request request;
    MPI_Errhandler handler;

    GONE(MPI_File_read_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    GONE(MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    GONE(MPI_File_read_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    GONE(MPI_File_write_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    GONE(MPI_File_iread(file, &value, 1, MPI_INT, &request));
    GONE(MPI_File_iwrite_all(file, &value, 1, MPI_INT, &request));
    GONE(MPI_File_read_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    GONE(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    GONE(MPI_File_write_all_begin(file, &value, 1, MPI_INT));
    GONE(MPI_File_seek(file, 0, MPI_SEEK_SET));
    GONE(MPI_File_get_position(file, &offset));
    GONE(MPI_File_get_size(file, &offset));
    GONE(MPI_File_set_size(file, 0));
    GONE(MPI_File_preallocate(file, 8));
    GONE(MPI_File_sync(file));
    GONE(MPI_File_get_amode(file, &amode));
    GONE(MPI_File_get_group(file, &group));
    GONE(MPI_File_get_info(file, &info));
    GONE(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    GONE(MPI_File_set_atomicity(file, 1));
    GONE(MPI_File_get_errhandler(file, &handler));
    GONE(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
    GONE(MPI_File_call_errhandler(file, MPI_ERR_OTHER));
}

static void release(MPI_File * file)
{
    MPI_File other;

    is_stale(*file);
    /* the handle means the same in Fortran */
    other = MPI_File_f2c(MPI_File_c2f(*file));
    ET_CHECK(other == *file || other == MPI_FILE_NULL, "the Fortran handle is another file");
    ET_MPI(MPI_File_close(file));
    ET_CHECK(*file == MPI_FILE_NULL, "closing left a handle");
}

static void holds(const char *name, int values)
{
    int fd = open(name, O_RDONLY), got[64], seen = 0;
    ssize_t bytes;

    ET_CHECK(fd >= 0, "%s is missing", name);
    bytes = read(fd, got, sizeof(got));
    close(fd);
    ET_CHECK(bytes == (ssize_t) (values * sizeof(int)), "%s has %ld bytes", name, (long) bytes);
    for (int i = 0; i < values; i++)
        if (got[i] >= 100 && got[i] < 100 + values)
            seen++;
    ET_CHECK(seen == values, "%s has %d of %d values", name, seen, values);
}

/* One process deletes it, perhaps a leaving one that is slower than this one. */
static void await_deleted(const char *name)
{
    double end = et_seconds() + et.patience_s;

    while (access(name, F_OK) == 0) {
        ET_CHECK(et_seconds() < end, "%s was not deleted", name);
        et_sleep_ms(2);
    }
}

static int old_size;

static void before(void)
{
    old_size = et.size;
}

static void window(void)
{
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPI_File_close(&own));
}

static void after(void)
{
    int value = et.epoch, got = -1;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (data != MPI_FILE_NULL) {
        ET_CHECK(descriptors() <= open_files - 2, "%d descriptors, %d with the files",
                 descriptors(), open_files);
        holds(data_name, old_size);
        holds(shared_name, old_size);
        await_deleted(ended_name);
        release(&data);
        release(&ended);
        release(&shared);
    }
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    ET_MPI(MPI_File_write(own, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    ET_MPI(MPI_File_seek(own, -(MPI_Offset) sizeof(int), MPI_SEEK_CUR));
    ET_MPI(MPI_File_read(own, &got, 1, MPI_INT, MPI_STATUS_IGNORE));
    ET_CHECK(got == value, "the file over MPI_COMM_SELF gives %d", got);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    make();
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    dir = et_argument(argc, argv, "dir", ".");
    snprintf(own_name, sizeof(own_name), "%s/own.%llx", dir, (unsigned long long) et_who());
    ET_MPI(MPI_File_open(MPI_COMM_SELF, own_name,
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                         &own));
    data = ended = shared = MPI_FILE_NULL;
    if (et.status == MPI_ADAPT_STATUS_NEW)
        make();
    et.before = before;
    et.window = window;
    et.after = after;
    et_loop();
    ET_MPI(MPI_File_close(&data));
    ET_MPI(MPI_File_close(&ended));
    ET_MPI(MPI_File_close(&shared));
    ET_MPI(MPI_File_close(&own));
    return et_finish();
}
