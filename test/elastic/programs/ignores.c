/*
 * Programs that forget their part of an adaptation and finish (what mpiexec then prints is the
 * test). --what states which:
 *   true     all see TRUE and call MPI_Finalize
 *   begin    joining processes do not come to begin; the others finish when they are there
 *   end      joining processes call MPI_Finalize without begin; the others then finish
 */

#include "elastic_test.h"
#include <unistd.h>

static void join(const char *what)
{
    if (strcmp(what, "true") == 0)
        et_begin();
    if (et.rank == 0)
        et_make_file("joining_here");
    if (strcmp(what, "end") == 0) {
        MPI_Finalize();
        exit(0);
    }
    sleep(1000);                /* the launcher ends it */
}

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "what", "true");
    double end = et_seconds() + et.patience_s;

    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        join(what);
    if (strcmp(what, "true") == 0) {
        while (!et_probe()) {
            ET_CHECK(et_seconds() < end, "no adaptation");
            et_idle();
        }
    } else {
        et_await_file("joining_here");
        if (strcmp(what, "end") == 0)
            et_await_file("failed");    /* the harness has seen it fail */
    }
    if (et.rank == 0)
        et_log("PASS epoch=0 size=%d", et.size);
    ET_MPI(MPI_Finalize());
    return 0;
}
