/*
 * The way that elastic programs of the literature are written: two phases, plain calls, no check of
 * anything but MPI_ADAPT_TRUE; joining processes go to the phase that the world is in, state comes
 * by broadcast after the commit; info is never freed, helper communicators neither.
 */

#include "elastic_test.h"

static int phase, count, limit = 0;

static void bring_state(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &et.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &et.size);
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&phase, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&et.epoch, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static void adapt(void)
{
    MPI_Comm inter, next;
    int staying, leaving, joining;

    MPI_Comm_adapt_begin(&inter, &next, &staying, &leaving, &joining);
    et.epoch++;
    MPI_Comm_adapt_commit();
    bring_state();
}

static void run_phase(int until_epoch)
{
    double end = et_seconds() + et.patience_s;

    while (et.epoch < until_epoch) {
        int pending, status, sum;
        MPI_Info info;

        MPI_Probe_adapt(&pending, &status, &info);
        if (pending == MPI_ADAPT_TRUE) {
            adapt();
            /* joining processes start with a probe, so the others do, too (P3) */
            continue;
        }
        et_sleep_ms(1);
        MPI_Allreduce(&et.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        ET_CHECK(sum == et.size * (et.size - 1) / 2, "the sum is %d in a world of %d", sum,
                 et.size);
        ET_CHECK(et_seconds() < end, "no adaptation");
        count++;
    }
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    MPI_Init_adapt(&argc, &argv, &et.status);
    MPI_Comm_rank(MPI_COMM_WORLD, &et.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &et.size);
    limit = et.epochs / 2;
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        adapt();
    if (phase == 0) {
        run_phase(limit);
        phase++;
    }
    run_phase(et.epochs);
    if (et.rank == 0)
        et_log("PASS epoch=%d size=%d", et.epoch, et.size);
    MPI_Finalize();
    return 0;
}
