/*
 * A program with loops inside of the loop that probes, until the file "stop" exists: for those who
 * read it from outside.  All ranks sum in an inner loop, with messages in between on all but the
 * last; rank 0 alone has another one.
 */

#include "elastic_test.h"
#include <unistd.h>

#define INNER 5

static int shall_stop(void)
{
    int stop = et.rank == 0 && access("stop", F_OK) == 0;

    ET_MPI(MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return stop;
}

static void message_to_myself(void)
{
    int out = 1, in;

    ET_MPI(MPI_Sendrecv(&out, 1, MPI_INT, 0, 7, &in, 1, MPI_INT, 0, 7, MPI_COMM_SELF,
                        MPI_STATUS_IGNORE));
}

static void sum_in_a_loop(void)
{
    int one = 1, all;

    for (int i = 0; i < INNER; i++) {
        if (et.rank < et.size - 1)
            message_to_myself();
        usleep(200);
        ET_MPI(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    }
}

static void do_alone(void)
{
    for (int i = 0; et.rank == 0 && i < INNER; i++) {
        ET_MPI(MPI_Barrier(MPI_COMM_SELF));
        ET_MPI(MPI_Barrier(MPI_COMM_SELF));
    }
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        et_adapt();
    if (et.rank == 0)
        et_log("READY");
    while (!shall_stop()) {
        sum_in_a_loop();
        do_alone();
        if (et_probe())
            et_adapt();
    }
    return et_finish();
}
