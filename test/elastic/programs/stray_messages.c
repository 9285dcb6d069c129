/*
 * C4: what nobody received in one world is received in no later one.  In each world and each window
 * every process leaves messages behind for every other one on each kind of communicator: the world,
 * a copy that lives until commit, a copy that is freed before (its context id is given out again),
 * in the window intercomm, new_comm_world and a copy of that.  Their tags and contents have the
 * epoch.  In each new world the same communicators are made anew and nothing may lie there, whoever
 * probes and however long it took to arrive; then one message of the present epoch is sent and
 * received with wildcards.  Partitioned operations of which only one side exists are left over,
 * too, with --partitioned 1.
 */

#include "elastic_test.h"

#define TAG 77
#define WORDS 32

static int partitioned;
static MPI_Comm copy = MPI_COMM_NULL;
static MPI_Request half[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
static double part[4];

/* One eager message for each process on the other side. */
static void leave_unreceived(MPI_Comm comm)
{
    int peers, inter, rank, words[WORDS];

    ET_MPI(MPI_Comm_test_inter(comm, &inter));
    ET_MPI(inter ? MPI_Comm_remote_size(comm, &peers) : MPI_Comm_size(comm, &peers));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    for (int i = 0; i < WORDS; i++)
        words[i] = -1 - et.epoch;
    for (int peer = 0; peer < peers; peer++) {
        if (inter || peer != rank)      /* one to itself would be pending (C6) */
            ET_MPI(MPI_Send(words, WORDS, MPI_INT, peer, TAG, comm));
    }
}

static void expect_nothing(MPI_Comm comm, const char *name)
{
    int there;
    MPI_Status status;

    ET_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &there, &status));
    ET_CHECK(!there, "%s of epoch %d holds a message from rank %d with tag %d", name, et.epoch,
             status.MPI_SOURCE, status.MPI_TAG);
}

/* A message of now is what a receive with wildcards gets. */
static void ring(MPI_Comm comm, const char *name)
{
    int out[WORDS], in[WORDS], size, rank;
    MPI_Request request;

    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    for (int i = 0; i < WORDS; i++)
        out[i] = et.epoch;
    ET_MPI(MPI_Isend(out, WORDS, MPI_INT, (rank + 1) % size, TAG, comm, &request));
    ET_MPI(MPI_Recv(in, WORDS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    ET_CHECK(in[0] == et.epoch && in[WORDS - 1] == et.epoch, "%s of epoch %d received %d", name,
             et.epoch, in[0]);
}

/* On a world, when everybody is in it. */
static void use_world(void)
{
    MPI_Comm freed;

    expect_nothing(MPI_COMM_WORLD, "the world");
    ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &freed));
    ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    et_exercise(MPI_COMM_WORLD, "the world");   /* and what is under way arrives */
    expect_nothing(MPI_COMM_WORLD, "the world");
    expect_nothing(freed, "the first copy");
    expect_nothing(copy, "the second copy");
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));        /* nobody sends anything before all have probed */
    ring(MPI_COMM_WORLD, "the world");
    ring(freed, "the first copy");
    ring(copy, "the second copy");
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));

    leave_unreceived(MPI_COMM_WORLD);
    leave_unreceived(copy);
    leave_unreceived(freed);
    ET_MPI(MPI_Comm_free(&freed));
    if (partitioned && et.size > 1) {
        int right = (et.rank + 1) % et.size, left = (et.rank + et.size - 1) % et.size;
        ET_MPI(MPI_Psend_init(part, 1, 4, MPI_DOUBLE, right, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &half[0]));
        ET_MPI(MPI_Precv_init(part, 1, 4, MPI_DOUBLE, left, TAG + 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &half[1]));
    }
}

static void window(void)
{
    MPI_Comm next_copy;

    if (et.inter != MPI_COMM_NULL) {
        expect_nothing(et.inter, "intercomm");
        ET_MPI(MPI_Barrier(et.inter));
        leave_unreceived(et.inter);
    }
    if (et.next == MPI_COMM_NULL)
        return;
    expect_nothing(et.next, "new_comm_world");
    ET_MPI(MPI_Comm_dup(et.next, &next_copy));
    ET_MPI(MPI_Barrier(et.next));       /* what was sent before arrives */
    expect_nothing(next_copy, "a copy of new_comm_world");
    ET_MPI(MPI_Barrier(et.next));
    ring(next_copy, "a copy of new_comm_world");
    ET_MPI(MPI_Barrier(et.next));
    leave_unreceived(et.next);
    leave_unreceived(next_copy);
}

static void after(void)
{
    for (int i = 0; i < 2; i++) {
        if (half[i] != MPI_REQUEST_NULL)
            ET_MPI(MPI_Request_free(&half[i]));
    }
    use_world();
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    partitioned = (int) et_number(argc, argv, "partitioned", 0);
    et.window = window;
    et.after = after;
    if (et.status == MPI_ADAPT_STATUS_NEW)
        use_world();
    return et_run();
}
