/*
 * P4: until every joining process waits in begin, the application computes undisturbed.  The last
 * joining process stays away from begin until the old world has made a thousand probes, all
 * FALSE, that it counts from the moment when the joining process is known to be there.
 */

#include "elastic_test.h"

#define PROBES 1000

static char here[64], enough[64];
static int seen;

static void compute(void)
{
    FILE *file = NULL;

    et_sleep_ms(0.5);
    if (!seen && (file = fopen(here, "r"))) {
        fclose(file);
        seen = 1;
    }
}

int main(int argc, char **argv)
{
    int there = 0, more = 1, done;

    et_init(&argc, &argv);
    snprintf(here, sizeof(here), "joining_here");
    snprintf(enough, sizeof(enough), "probed_enough");
    et.compute = compute;
    if (et.status == MPI_ADAPT_STATUS_JOINING && et.rank == et.size - 1) {
        et_make_file(here);
        et_await_file(enough);
    }
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        for (double end = et_seconds() + et.patience_s; more; there += seen) {
            compute();
            ET_CHECK(!et_probe(), "TRUE while a joining process has not called begin");
            ET_CHECK(et_seconds() < end, "no joining process");
            more = there < PROBES;
        }
        done = 1;
        ET_MPI(MPI_Allreduce(MPI_IN_PLACE, &done, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
        if (et.rank == 0)
            et_make_file(enough);
    }
    return et_run();
}
