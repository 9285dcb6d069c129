/*
 * W5, messages on the way: sent on the old world before begin (some eager, some rendezvous),
 * received in the window; a receive posted before begin and met in the window; messages on
 * new_comm_world and intercomm sent as the first thing after begin, while slow receivers are not
 * there yet.
 */

#include "elastic_test.h"

#define BIG 500000

static char *early_out, *early_in, small_out[128], small_in[128], posted_in[64];
static MPI_Request sends[2], posted;

static void before(void)
{
    int to = (et.rank + 1) % et.size, from = (et.rank + et.size - 1) % et.size;

    ET_MPI(MPI_Irecv(posted_in, sizeof(posted_in), MPI_BYTE, from, 43, MPI_COMM_WORLD, &posted));
    et_fill(small_out, sizeof(small_out), et.rank, 41);
    et_fill(early_out, BIG, et.rank, 42);
    ET_MPI(MPI_Isend(small_out, sizeof(small_out), MPI_BYTE, to, 41, MPI_COMM_WORLD, &sends[0]));
    ET_MPI(MPI_Isend(early_out, BIG, MPI_BYTE, to, 42, MPI_COMM_WORLD, &sends[1]));
    if (et.rank % 2)
        et_sleep_ms(30);        /* the others are in the window already */
}

static void receive_early(void)
{
    int to = (et.rank + 1) % et.size, from = (et.rank + et.size - 1) % et.size;
    char word[64];

    et_fill(word, sizeof(word), et.rank, 43);
    ET_MPI(MPI_Send(word, sizeof(word), MPI_BYTE, to, 43, MPI_COMM_WORLD));
    ET_MPI(MPI_Recv(early_in, BIG, MPI_BYTE, from, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Recv(small_in, sizeof(small_in), MPI_BYTE, MPI_ANY_SOURCE, 41, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    ET_MPI(MPI_Wait(&posted, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
    et_verify(small_in, sizeof(small_in), from, 41, "sent before begin");
    et_verify(early_in, BIG, from, 42, "sent before begin, large");
    et_verify(posted_in, sizeof(posted_in), from, 43, "received since before begin");
}

/* Nothing synchronises begin: a message may be there before its receiver has left it. */
static void first_words(MPI_Comm comm, int peers, const char *name)
{
    int rank;
    MPI_Request *request = calloc((size_t) peers * 2, sizeof(*request));
    char *out = malloc(70000), *in = malloc((size_t) peers * 70000);

    ET_MPI(MPI_Comm_rank(comm, &rank));
    et_fill(out, 70000, rank, 51);
    for (int i = 0; i < peers; i++)
        ET_MPI(MPI_Isend(out, i % 2 ? 70000 : 100, MPI_BYTE, i, 51, comm, &request[i]));
    for (int i = 0; i < peers; i++)
        ET_MPI(MPI_Irecv(in + 70000 * i, 70000, MPI_BYTE, i, 51, comm, &request[peers + i]));
    ET_MPI(MPI_Waitall(2 * peers, request, MPI_STATUSES_IGNORE));
    for (int i = 0; i < peers; i++)
        et_verify(in + 70000 * i, rank % 2 ? 70000 : 100, i, 51, name);
    free(request);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    early_out = malloc(BIG);
    early_in = malloc(BIG);
    et_init(&argc, &argv);
    et.light = 1;       /* the general checks would synchronise what must not be synchronised */
    double last = et_seconds();
    while (et.epoch < et.epochs) {
        int joining_rank = et.status == MPI_ADAPT_STATUS_JOINING, state[1] = { et.epoch };
        et_idle();
        ET_CHECK(et_seconds() < last + et.patience_s, "no adaptation");
        if (!joining_rank && !et_probe())
            continue;
        if (!joining_rank)
            before();
        ET_MPI(MPI_Comm_adapt_begin(&et.inter, &et.next, &et.staying, &et.leaving, &et.joining));
        et.in_window = 1;
        if (et.next != MPI_COMM_NULL)
            first_words(et.next, et.staying + et.joining, "first words on new_comm_world");
        if (et.inter != MPI_COMM_NULL)
            first_words(et.inter, joining_rank ? et.staying + et.leaving : et.joining,
                        "first words on intercomm");
        if (!joining_rank)
            receive_early();
        if (et.inter != MPI_COMM_NULL)
            ET_MPI(MPI_Bcast(state, 1, MPI_INT, joining_rank ? 0 : et.rank == 0 ? MPI_ROOT :
                             MPI_PROC_NULL, et.inter));
        et.epoch = state[0];
        et_commit();
        first_words(MPI_COMM_WORLD, et.size, "first words on the new world");
        last = et_seconds();
    }
    free(early_out);
    free(early_in);
    return et_finish();
}
