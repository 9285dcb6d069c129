/*
 * I3: an adaptive program without the extended process manager (a singleton, or under a launcher
 * that lacks the extension): status NEW, probe always FALSE, everything else as usual.
 */

#include "elastic_test.h"

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    ET_CHECK(et.status == MPI_ADAPT_STATUS_NEW, "status %d", et.status);
    for (int i = 0; i < 10000; i++)
        ET_CHECK(!et_probe(), "an adaptation without an extended process manager");
    et_exercise(MPI_COMM_WORLD, "the world");
    et_exercise(MPI_COMM_SELF, "myself");
    if (et.rank == 0)
        et_say("PASS alone size=%d", et.size);
    ET_MPI(MPI_Finalize());
    return 0;
}
