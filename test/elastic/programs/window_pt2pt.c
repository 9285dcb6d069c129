/*
 * W5, point to point: from nothing to 4 MiB (eager and rendezvous), blocking, nonblocking,
 * synchronous, buffered, ready, persistent, probed and from any source, between all pairs of the
 * old world, of intercomm, of new_comm_world, of the joining world, and of the new world after
 * commit.
 */

#include "elastic_test.h"

static const size_t sizes[] = { 0, 1, 8, 1024, 16 << 10, 64 << 10, 300000, 4 << 20 };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define LARGEST (4u << 20)

static unsigned char *out, *in;

static void exchange(MPI_Comm comm, int me, int peer, size_t bytes, int tag, const char *name)
{
    MPI_Request request[2];
    MPI_Status status[2];
    int count = -1;

    et_fill(out, bytes, me, tag);
    memset(in, 0xee, bytes);
    ET_MPI(MPI_Irecv(in, (int) bytes, MPI_BYTE, peer, tag, comm, &request[0]));
    ET_MPI(MPI_Isend(out, (int) bytes, MPI_BYTE, peer, tag, comm, &request[1]));
    ET_MPI(MPI_Waitall(2, request, status));
    ET_MPI(MPI_Get_count(&status[0], MPI_BYTE, &count));
    ET_CHECK(count == (int) bytes && status[0].MPI_SOURCE == peer && status[0].MPI_TAG == tag,
             "%s: %d bytes from %d, tag %d", name, count, status[0].MPI_SOURCE, status[0].MPI_TAG);
    et_verify(in, bytes, peer, tag, name);
}

/* All sizes with the neighbours; small ones with everybody. */
static void all_pairs(MPI_Comm comm, const char *name)
{
    int rank, size;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    for (int step = 0; step < size; step++)
        for (size_t i = 0; i < SIZES; i++) {
            int peer = (step - rank + size) % size;     /* pairs: rank + peer == step */
            if (sizes[i] > 65536 && step > 2)
                continue;
            exchange(comm, rank, peer, sizes[i], 100 + (int) i, name);
        }
}

static void all_pairs_inter(MPI_Comm inter, const char *name)
{
    int rank, size, remote;

    ET_MPI(MPI_Comm_rank(inter, &rank));
    ET_MPI(MPI_Comm_size(inter, &size));
    ET_MPI(MPI_Comm_remote_size(inter, &remote));
    int steps = size > remote ? size : remote;
    for (int step = 0; step < steps; step++)
        for (size_t i = 0; i < SIZES; i++) {
            int peer = (step - rank + steps) % steps;
            if (peer < remote && (sizes[i] <= 65536 || step < 2))
                exchange(inter, rank, peer, sizes[i], 200 + (int) i, name);
        }
}

static void modes(MPI_Comm comm, const char *name)
{
    int rank, size, to, from, flag, done = 0, capacity = 4096 + MPI_BSEND_OVERHEAD;
    char *attached = malloc((size_t) capacity), small[64], got[64];
    MPI_Request request, persistent[2];
    MPI_Message message;
    MPI_Status status;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;

    et_fill(small, sizeof(small), rank, 1);
    ET_MPI(MPI_Irecv(got, sizeof(got), MPI_BYTE, MPI_ANY_SOURCE, 1, comm, &request));
    ET_MPI(MPI_Ssend(small, sizeof(small), MPI_BYTE, to, 1, comm));
    ET_MPI(MPI_Wait(&request, &status));
    ET_CHECK(status.MPI_SOURCE == from, "%s: any source is %d", name, status.MPI_SOURCE);
    et_verify(got, sizeof(got), from, 1, name);

    ET_MPI(MPI_Buffer_attach(attached, capacity));
    et_fill(small, sizeof(small), rank, 2);
    ET_MPI(MPI_Bsend(small, sizeof(small), MPI_BYTE, to, 2, comm));
    ET_MPI(MPI_Mprobe(from, 2, comm, &message, &status));
    ET_MPI(MPI_Mrecv(got, sizeof(got), MPI_BYTE, &message, &status));
    et_verify(got, sizeof(got), from, 2, name);
    ET_MPI(MPI_Buffer_detach(&attached, &capacity));

    ET_MPI(MPI_Irecv(got, sizeof(got), MPI_BYTE, from, 3, comm, &request));
    ET_MPI(MPI_Barrier(comm));
    et_fill(small, sizeof(small), rank, 3);
    ET_MPI(MPI_Rsend(small, sizeof(small), MPI_BYTE, to, 3, comm));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    et_verify(got, sizeof(got), from, 3, name);

    ET_MPI(MPI_Send_init(small, sizeof(small), MPI_BYTE, to, 4, comm, &persistent[0]));
    ET_MPI(MPI_Recv_init(got, sizeof(got), MPI_BYTE, from, 4, comm, &persistent[1]));
    for (int i = 0; i < 3; i++) {
        et_fill(small, sizeof(small), rank + i, 4);
        ET_MPI(MPI_Startall(2, persistent));
        ET_MPI(MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE));
        et_verify(got, sizeof(got), from + i, 4, name);
    }
    ET_MPI(MPI_Request_free(&persistent[0]));
    ET_MPI(MPI_Request_free(&persistent[1]));

    /* a receive that nobody answers can be cancelled */
    ET_MPI(MPI_Irecv(got, sizeof(got), MPI_BYTE, from, 5, comm, &request));
    ET_MPI(MPI_Iprobe(from, 5, comm, &flag, MPI_STATUS_IGNORE));
    ET_CHECK(!flag, "%s: a message that nobody sent", name);
    ET_MPI(MPI_Cancel(&request));
    ET_MPI(MPI_Wait(&request, &status));
    ET_MPI(MPI_Test_cancelled(&status, &done));
    ET_CHECK(done, "%s: the receive was not cancelled", name);
    free(attached);
}

static void window(void)
{
    int joining_rank = et.status == MPI_ADAPT_STATUS_JOINING;

    all_pairs(MPI_COMM_WORLD, joining_rank ? "joining world" : "old world");
    modes(MPI_COMM_WORLD, joining_rank ? "joining world" : "old world");
    if (et.inter != MPI_COMM_NULL)
        all_pairs_inter(et.inter, "intercomm");
    if (et.next != MPI_COMM_NULL) {
        all_pairs(et.next, "new_comm_world");
        modes(et.next, "new_comm_world");
    }
}

static void after(void)
{
    all_pairs(MPI_COMM_WORLD, "new world");
    modes(MPI_COMM_WORLD, "new world");
}

int main(int argc, char **argv)
{
    out = malloc(LARGEST);
    in = malloc(LARGEST);
    et_init(&argc, &argv);
    et.window = window;
    et.after = after;
    int result = et_run();
    free(out);
    free(in);
    return result;
}
