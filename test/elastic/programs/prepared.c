/*
 * Two processes that never communicate (P7, C9): one probes all the time, the other only when the
 * file "go" exists.  So an adaptation can be held, and withdrawn, when one has prepared for it and
 * nobody has been notified.  Both end when the file "stop" exists; joining processes do likewise.
 */

#include "elastic_test.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.epochs = (int) et_number(argc, argv, "epochs", 0);
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        et_adapt();
    else if (et.rank == 0)
        et_log("PID %d", (int) getpid());
    else
        et_await_file("go");
    while (access("stop", F_OK) != 0) {
        et_sleep_ms(1);
        if (et_probe())
            et_adapt();
    }
    ET_CHECK(et.epoch >= et.epochs, "only %d adaptations of %d", et.epoch, et.epochs);
    return et_finish();
}
