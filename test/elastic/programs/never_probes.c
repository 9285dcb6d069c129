/*
 * The application that never probes (P4, P7, E3): an expansion is launched and waits for it; it
 * ends as if nothing had been, and the expansion is removed.  With --probes N it makes N probes
 * first.
 */

#include "elastic_test.h"

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_JOINING) {
        if (et.rank == 0)
            et_make_file("joining_here");
        et_begin();
        ET_CHECK(0, "an adaptation without a probe");
    }
    for (long i = et_number(argc, argv, "probes", 0); i > 0; i--)
        ET_CHECK(!et_probe(), "there cannot be an adaptation yet");
    if (et_number(argc, argv, "expect-joining", 1)) {
        double end = et_seconds() + et.patience_s;
        while (1) {
            FILE *file = fopen("joining_here", "r");
            if (file) {
                fclose(file);
                break;
            }
            ET_CHECK(et_seconds() < end, "no expansion was launched");
            et_sleep_ms(2);
        }
    }
    et_exercise(MPI_COMM_WORLD, "the world");
    if (et.rank == 0)
        et_log("PASS epoch=%d size=%d", et.epoch, et.size);
    ET_MPI(MPI_Finalize());
    return 0;
}
