/*
 * C6: a request still pending on the old world at commit is reported, not a hang.  --how states
 * which and what then:
 *   return  receives are pending on all; commit returns the error; without them it succeeds.  A
 *           leaving process has its attributes of MPI_COMM_SELF until then
 *   one     only rank 0 has one; all are notified, and a second commit succeeds
 *   fatal   under the default error handler the job ends with the report
 *   file    only rank 0 has one, of a file: reading from a named pipe
 *   coll    the pending request is a nonblocking barrier that one process never entered
 */

#include "elastic_test.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void return_errors(MPI_Errhandler handler)
{
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
}

static int deleted;

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void) comm, (void) key, (void) value, (void) extra;
    deleted++;
    return MPI_SUCCESS;
}

static void check_deleted(void)
{
    if (et.status == MPI_ADAPT_STATUS_LEAVING && deleted != 1) {
        fprintf(stderr, "FAIL %d callbacks on a leaving process\n", deleted);
        _Exit(ET_FAILED);
    }
}

static void pend_and_return(void)
{
    int got, key;
    MPI_Request request;

    ET_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
    ET_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
    return_errors(MPI_ERRORS_RETURN);
    ET_MPI(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 61, MPI_COMM_WORLD, &request));
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_LASTCODE, "pending");
    ET_CHECK(deleted == 0, "%d callbacks in a refused commit", deleted);
    if (et.status != MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPI_Comm_delete_attr(MPI_COMM_SELF, key));
    ET_MPI(MPI_Comm_free_keyval(&key));
    deleted = 0;
    ET_MPI(MPI_Cancel(&request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return_errors(MPI_ERRORS_ARE_FATAL);
    et_exercise(MPI_COMM_WORLD, "the old world after the error");
}

static void pend_on_one(void)
{
    int got, mine = et.status != MPI_ADAPT_STATUS_JOINING && et.rank == 0;
    MPI_Request request;

    return_errors(MPI_ERRORS_RETURN);
    if (mine)
        ET_MPI(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 61, MPI_COMM_WORLD, &request));
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_LASTCODE,
             mine ? "pending" : "rocess 0 of the window");
    if (mine) {
        ET_MPI(MPI_Cancel(&request));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    return_errors(MPI_ERRORS_ARE_FATAL);
    et_exercise(MPI_COMM_WORLD, "the old world after the error");
}

/* Also: an operation that is complete but not waited for does not hold the commit up, nor does a
 * generalized request of the program's own. */
static MPI_Request done_request = MPI_REQUEST_NULL, own_request = MPI_REQUEST_NULL;
static int done_value;

static int query(void *extra, MPI_Status * status)
{
    (void) extra;
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int free_nothing(void *extra)
{
    (void) extra;
    return MPI_SUCCESS;
}

static int cancel_nothing(void *extra, int complete)
{
    (void) extra, (void) complete;
    return MPI_SUCCESS;
}

static void complete_but_keep(MPI_File data)
{
    int value = 99, done = 0, all;

    ET_MPI(MPI_File_write_at_all(data, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Grequest_start(query, free_nothing, cancel_nothing, NULL, &own_request));
    ET_MPI(MPI_File_iread_at(data, 0, &done_value, 1, MPI_INT, &done_request));
    while (!done) {
        MPI_Request both[2] = { done_request, own_request };
        ET_MPI(MPI_Testall(2, both, &all, MPI_STATUSES_IGNORE));
        ET_MPI(MPI_Request_get_status(done_request, &done, MPI_STATUS_IGNORE));
    }
}

static void write_pipe(const char *name)
{
    int fd = open(name, O_RDWR), word = 4712;

    ET_CHECK(fd >= 0 && write(fd, &word, sizeof(word)) == sizeof(word), "cannot write %s", name);
    close(fd);
}

static void pend_on_file(void)
{
    int got = 0, mine = et.status != MPI_ADAPT_STATUS_JOINING && et.rank == 0;
    MPI_File file, data;
    MPI_Request request;

    if (et.status != MPI_ADAPT_STATUS_JOINING) {
        if (mine)
            ET_CHECK(mkfifo("pipe", 0600) == 0, "cannot make a pipe");
        ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
        ET_MPI(MPI_File_open(MPI_COMM_WORLD, "pipe", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
        ET_MPI(MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                             &data));
        complete_but_keep(data);
    }
    return_errors(MPI_ERRORS_RETURN);
    if (mine)
        ET_MPI(MPI_File_iread_at(file, 0, &got, 1, MPI_INT, &request));
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_LASTCODE,
             mine ? "on a file" : "rocess 0 of the window");
    if (mine) {
        write_pipe("pipe");
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        ET_CHECK(got == 4712, "the pipe gives %d", got);
        ET_CHECK(unlink("pipe") == 0, "cannot remove the pipe");
    }
    return_errors(MPI_ERRORS_ARE_FATAL);
}

static void after_file(void)
{
    if (done_request == MPI_REQUEST_NULL)       /* a process that has joined */
        return;
    ET_MPI(MPI_Wait(&done_request, MPI_STATUS_IGNORE));
    ET_CHECK(done_value == 99, "the file gave %d", done_value);
    ET_MPI(MPI_Grequest_complete(own_request));
    ET_MPI(MPI_Wait(&own_request, MPI_STATUS_IGNORE));
}

static void pend(void)
{
    static int got;
    MPI_Request request;

    ET_MPI(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 61, MPI_COMM_WORLD, &request));
}

static void pend_collective(void)
{
    MPI_Request request;

    if (et.status != MPI_ADAPT_STATUS_JOINING && et.rank == 0)
        ET_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &request));
}

int main(int argc, char **argv)
{
    const char *how = et_argument(argc, argv, "how", "return");

    et_init(&argc, &argv);
    et.window = strcmp(how, "return") == 0 ? pend_and_return :
        strcmp(how, "one") == 0 ? pend_on_one :
        strcmp(how, "file") == 0 ? pend_on_file : strcmp(how, "coll") == 0 ? pend_collective : pend;
    if (strcmp(how, "return") == 0)
        atexit(check_deleted);
    if (strcmp(how, "file") == 0)
        et.after = after_file;
    return et_run();
}
