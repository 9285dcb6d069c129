/*
 * Stops in a phase of an adaptation and stays there, so that the harness can send signals to
 * mpiexec and see that nothing is left: --hold start (nothing pending), joining (initialised, not
 * in begin), slow (one rank never reaches the agreed probe), notified (TRUE seen, no begin),
 * window, committed.
 */

#include "elastic_test.h"

static const char *phase;

static void hold(const char *here)
{
    if (strcmp(phase, here) != 0)
        return;
    et_log("HOLD %s rank=%d", here, et.rank);
    et_sleep_ms(1000 * et.patience_s);
    ET_CHECK(0, "nobody ended this job");
}

static void compute(void)
{
    et_idle();
    if (et.rank == 0 && et.step == 50)
        hold("slow");
}

static void before(void)
{
    hold("notified");
}

static void window(void)
{
    hold("window");
}

static void after(void)
{
    hold("committed");
}

int main(int argc, char **argv)
{
    phase = et_argument(argc, argv, "hold", "window");
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_NEW)
        hold("start");
    else
        hold("joining");
    et.compute = compute;
    et.before = before;
    et.window = window;
    et.after = after;
    return et_run();
}
