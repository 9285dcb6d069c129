/*
 * Defects 57 and 64 of the base (doc/developer/known-defects.md): messages proceed while a process
 * only probes MPI_COMM_SELF, or waits for a request that is polled, as those of files are.  Rank 0
 * has posted a receive and waits, until rank 1 has completed a large synchronous send to it.  Rank
 * 1 then makes a file.
 *
 * --call Iprobe|Improbe|Probe|Mprobe|Wait.  MPI_Probe and MPI_Mprobe block in one thread.  A second
 * thread waits for the file and sends the message that they return with.
 */

#include "elastic_test.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define INTEGERS 1000000        /* more than the library buffers */

static int words[INTEGERS];
static const char *call;

static void *send_to_self(void *unused)
{
    et_await_file("arrived");
    ET_MPI(MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF));
    return unused;
}

/* ---- a request that is polled, as those of files are */

static int query_file(void *unused, MPI_Status * status)
{
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int free_file(void *unused)
{
    return MPI_SUCCESS;
}

static int cancel_file(void *unused, int complete)
{
    return MPI_SUCCESS;
}

static int poll_file(void *request, MPI_Status * status)
{
    return access("arrived", F_OK) == 0 ? MPI_Grequest_complete(*(MPI_Request *) request) :
        MPI_SUCCESS;
}

/* Only for several requests. */
static int wait_files(int count, void **requests, double timeout_s, MPI_Status * statuses)
{
    ET_CHECK(0, "MPI_Wait does not wait for %d files", count);
    return MPI_ERR_OTHER;
}

static void wait_for_file(void)
{
    static MPI_Request request;

    ET_MPI(MPIX_Grequest_start(query_file, free_file, cancel_file, poll_file, wait_files, &request,
                               &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* ---- probes */

static void probe_self(void)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    pthread_t thread;
    int flag = 0;

    if (!strcmp(call, "Probe") || !strcmp(call, "Mprobe")) {
        ET_CHECK(pthread_create(&thread, NULL, send_to_self, NULL) == 0, "there is no thread");
        if (!strcmp(call, "Probe"))
            ET_MPI(MPI_Probe(0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        else
            ET_MPI(MPI_Mprobe(0, 1, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE));
        if (message != MPI_MESSAGE_NULL)
            ET_MPI(MPI_Mrecv(NULL, 0, MPI_INT, &message, MPI_STATUS_IGNORE));
        else
            ET_MPI(MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        pthread_join(thread, NULL);
        return;
    }
    while (access("arrived", F_OK) != 0) {
        if (!strcmp(call, "Iprobe"))
            ET_MPI(MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
        else
            ET_MPI(MPI_Improbe(0, 1, MPI_COMM_SELF, &flag, &message, MPI_STATUS_IGNORE));
        ET_CHECK(!flag, "a message that nobody has sent");
    }
}

int main(int argc, char **argv)
{
    MPI_Request request;
    int rank, provided;

    call = et_argument(argc, argv, "call", "Iprobe");
    ET_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        ET_MPI(MPI_Irecv(words, INTEGERS, MPI_INT, 1, 2, MPI_COMM_WORLD, &request));
        ET_MPI(MPI_Send(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD));
        if (!strcmp(call, "Wait"))
            wait_for_file();
        else
            probe_self();
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        ET_CHECK(words[INTEGERS - 1] == INTEGERS - 1, "%d", words[INTEGERS - 1]);
    } else {
        for (int i = 0; i < INTEGERS; i++)
            words[i] = i;
        ET_MPI(MPI_Recv(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        ET_MPI(MPI_Ssend(words, INTEGERS, MPI_INT, 0, 2, MPI_COMM_WORLD));
        et_make_file("arrived");
    }
    MPI_Finalize();
    if (rank == 0)
        printf("PASS self_probes\n");
    return 0;
}
