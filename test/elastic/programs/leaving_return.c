/*
 * C3 with MPIR_CVAR_ADAPT_LEAVERS_RETURN=1: a leaving process comes back from commit with a world
 * that holds itself alone, computes with it, and finalises when it likes; the others do not wait
 * for it.
 */

#include "elastic_test.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    double last = et_seconds();
    while (et.epoch < et.epochs) {
        int leaving;
        et_idle();
        ET_CHECK(et_seconds() < last + et.patience_s, "no adaptation");
        if (et.status != MPI_ADAPT_STATUS_JOINING && !et_probe())
            continue;
        et_begin();
        leaving = et.status == MPI_ADAPT_STATUS_LEAVING;
        if (!leaving) {
            et_commit();
            last = et_seconds();
            continue;
        }
        int epoch = et.epoch + 1, rank = et.rank;
        ET_MPI(MPI_Comm_adapt_commit());
        et.in_window = 0;
        et.report = 0;
        et_world_changed();
        ET_CHECK(et.rank == 0 && et.size == 1, "after leaving I am %d of %d", et.rank, et.size);
        et_exercise(MPI_COMM_WORLD, "the world of one that left");
        et_exercise(MPI_COMM_SELF, "myself");
        if (rank % 2)   /* the others must not wait for this one */
            et_await_file("last_world_done");
        ET_MPI(MPI_Finalize());
        et_log("LEFT epoch=%d rank=%d", epoch, rank);
        return 0;
    }
    et_exercise(MPI_COMM_WORLD, "the last world");
    if (et.rank == 0) {
        et_make_file("last_world_done");
        et_log("PASS epoch=%d size=%d", et.epoch, et.size);
    }
    ET_MPI(MPI_Finalize());
    return 0;
}
