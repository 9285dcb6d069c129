/*
 * C6 and C4 for requests.  Not pending, so that the commit succeeds: inactive persistent requests
 * of all kinds, which were started or never were, requests that are complete but not yet waited
 * for.  Afterwards the former cannot be started (MPI_ERR_REQUEST, the message names the
 * adaptation), both can be completed and freed.  Requests on MPI_COMM_SELF go on, even a receive
 * that is pending over the commit.  Pending, each reported by kind, communicator, and what is known
 * of peer and tag: see reports().
 */

#include "elastic_test.h"

enum { SEND, RECV, BARRIER, ALLREDUCE, PARTITIONED, N_STARTED = PARTITIONED,
    IDLE_SEND, IDLE_RECV, IDLE_BARRIER, IDLE_BCAST, IDLE_PARTITIONED, N_PERSISTENT
};
static MPI_Request persistent[N_PERSISTENT], done, self_recv, self_persistent;
static int out = 7, in, self_in, self_again, sum;
static double part[4];

static void make(void)
{
    int right = (et.rank + 1) % et.size, left = (et.rank + et.size - 1) % et.size;
    MPI_Status statuses[N_STARTED];

    ET_MPI(MPI_Send_init(&out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &persistent[SEND]));
    ET_MPI(MPI_Recv_init(&in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &persistent[RECV]));
    ET_MPI(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &persistent[BARRIER]));
    ET_MPI(MPI_Allreduce_init(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &persistent[ALLREDUCE]));
    ET_MPI(MPI_Psend_init(part, 1, 4, MPI_DOUBLE, right, 4, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &persistent[PARTITIONED]));
    ET_MPI(MPI_Startall(N_STARTED, persistent));
    ET_MPI(MPI_Waitall(N_STARTED, persistent, statuses));
    ET_CHECK(in == 7 && sum == 7 * et.size, "persistent operations give %d and %d", in, sum);
}

/* Never started. */
static void make_idle(void)
{
    int right = (et.rank + 1) % et.size, left = (et.rank + et.size - 1) % et.size;

    ET_MPI(MPI_Ssend_init(&out, 1, MPI_INT, right, 6, MPI_COMM_WORLD, &persistent[IDLE_SEND]));
    ET_MPI(MPI_Recv_init(&in, 1, MPI_INT, left, 6, MPI_COMM_WORLD, &persistent[IDLE_RECV]));
    ET_MPI(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &persistent[IDLE_BARRIER]));
    ET_MPI(MPI_Bcast_init(&sum, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &persistent[IDLE_BCAST]));
    ET_MPI(MPI_Precv_init(part, 1, 4, MPI_DOUBLE, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &persistent[IDLE_PARTITIONED]));
}

static void make_on_self(void)
{
    ET_MPI(MPI_Irecv(&self_in, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &self_recv));
    ET_MPI(MPI_Recv_init(&self_again, 1, MPI_INT, 0, 8, MPI_COMM_SELF, &self_persistent));
}

/* A request that must be reported: text that the message must hold. */
static void reports(MPI_Request * request, const char *const *words)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, error, class;

    error = MPI_Comm_adapt_commit();
    ET_CHECK(error != MPI_SUCCESS, "the commit did not see a pending request (%s)", words[0]);
    ET_MPI(MPI_Error_class(error, &class));
    ET_CHECK(class == MPI_ERR_PENDING, "error class %d", class);
    ET_MPI(MPI_Error_string(error, text, &length));
    for (; *words; words++)
        ET_CHECK(strstr(text, *words), "the report does not contain '%s': %s", *words, text);
    if (request) {
        ET_MPI(MPI_Cancel(request));
        ET_MPI(MPI_Wait(request, MPI_STATUS_IGNORE));
    }
}

/* A persistent collective operation that is not complete before the first process starts it, after
 * the others. */
static void report_collective(void)
{
    const char *const started[] = { "started persistent collective", "MPI_COMM_WORLD", NULL };
    MPI_Request request;

    if (et.size == 1)
        return;
    ET_MPI(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    if (et.rank == 0) {
        ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_PENDING, NULL);
        ET_MPI(MPI_Start(&request));
    } else {
        ET_MPI(MPI_Start(&request));
        reports(NULL, started);
    }
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Request_free(&request));
}

/* Whether all processes are in the memory of one host: the network keeps the tag of a pending
 * receive to itself. */
static int share_memory(void)
{
    int size;
    MPI_Comm node;

    ET_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    ET_MPI(MPI_Comm_size(node, &size));
    ET_MPI(MPI_Comm_free(&node));
    return size == et.size;
}

/* All processes do the same, so that no one goes on into the commit. */
static void pending_in_turn(void)
{
    const char *const receive[] =
        { "receive", "MPI_COMM_WORLD", "and 0 more", share_memory()? "tag 77" : NULL, NULL };
    const char *const started[] =
        { "started persistent receive", "named", "peer 0", "tag 78", NULL };
    const char *const matched[] = { "matched but unreceived message", NULL };
    const char *const epoch[] = { "access epoch", "window cells", NULL };
    int got, cell = 0;
    MPI_Request request;
    MPI_Message message;
    MPI_Comm copy;
    MPI_Win win;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Irecv(&got, 1, MPI_INT, (et.rank + 1) % et.size, 77, MPI_COMM_WORLD, &request));
    reports(&request, receive);

    report_collective();
    ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    ET_MPI(MPI_Comm_set_name(copy, "named"));
    ET_MPI(MPI_Recv_init(&got, 1, MPI_INT, 0, 78, copy, &request));
    ET_MPI(MPI_Start(&request));
    reports(&request, started);
    ET_MPI(MPI_Request_free(&request));

    ET_MPI(MPI_Isend(&out, 1, MPI_INT, (et.rank + 1) % et.size, 79, copy, &request));
    ET_MPI(MPI_Mprobe(MPI_ANY_SOURCE, 79, copy, &message, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    reports(NULL, matched);
    ET_MPI(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));

    ET_MPI(MPI_Win_create(&cell, sizeof(cell), sizeof(cell), MPI_INFO_NULL, copy, &win));
    ET_MPI(MPI_Win_set_name(win, "cells"));
    ET_MPI(MPI_Win_lock_all(0, win));
    reports(NULL, epoch);
    ET_MPI(MPI_Win_unlock_all(win));
    ET_MPI(MPI_Win_free(&win));
    ET_MPI(MPI_Comm_free(&copy));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    et_exercise(MPI_COMM_WORLD, "the old world after the reports");
}

static void window(void)
{
    int right = (et.rank + 1) % et.size;
    MPI_Request freed;

    if (et.status != MPI_ADAPT_STATUS_JOINING && et.joining == 0)
        pending_in_turn();
    /* complete, not waited for; and a send that was given up before it is complete */
    ET_MPI(MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &done));
    ET_MPI(MPI_Issend(&out, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &freed));
    ET_MPI(MPI_Request_free(&freed));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void after(void)
{
    MPI_Status status;
    int flag;

    ET_MPI(MPI_Wait(&done, &status));
    ET_CHECK(in == 7 && status.MPI_TAG == 5, "the completed receive has %d", in);

    ET_MPI(MPI_Send(&out, 1, MPI_INT, 0, 9, MPI_COMM_SELF));
    ET_MPI(MPI_Wait(&self_recv, MPI_STATUS_IGNORE));
    ET_CHECK(self_in == 7, "the receive on MPI_COMM_SELF has %d", self_in);
    ET_MPI(MPI_Start(&self_persistent));
    ET_MPI(MPI_Send(&out, 1, MPI_INT, 0, 8, MPI_COMM_SELF));
    ET_MPI(MPI_Wait(&self_persistent, MPI_STATUS_IGNORE));
    ET_CHECK(self_again == 7, "the persistent receive on MPI_COMM_SELF has %d", self_again);
    ET_MPI(MPI_Request_free(&self_persistent));

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (persistent[SEND] != MPI_REQUEST_NULL) {
        for (int i = 0; i < N_PERSISTENT; i++) {
            ET_ERROR(MPI_Start(&persistent[i]), MPI_ERR_REQUEST, "adaptation");
            ET_MPI(MPI_Test(&persistent[i], &flag, &status));
            ET_CHECK(flag, "an inactive request is not complete");
            ET_MPI(MPI_Wait(&persistent[i], &status));
        }
        ET_ERROR(MPI_Startall(N_PERSISTENT, persistent), MPI_ERR_REQUEST, "adaptation");
        for (int i = 0; i < N_PERSISTENT; i++)
            ET_MPI(MPI_Request_free(&persistent[i]));
    }
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    in = self_in = self_again = 0;
    make();
    make_idle();
    make_on_self();
}

static void release_all(void)
{
    for (int i = 0; i < N_PERSISTENT; i++)
        ET_MPI(MPI_Request_free(&persistent[i]));
    ET_MPI(MPI_Request_free(&self_persistent));
    ET_MPI(MPI_Send(&out, 1, MPI_INT, 0, 9, MPI_COMM_SELF));
    ET_MPI(MPI_Wait(&self_recv, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    for (int i = 0; i < N_PERSISTENT; i++)
        persistent[i] = MPI_REQUEST_NULL;
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        make();
        make_idle();
    }
    make_on_self();
    et.window = window;
    et.after = after;
    et_loop();
    release_all();
    return et_finish();
}
