/*
 * P6: a probe of a joining process before its begin returns TRUE and JOINING, as often as it
 * probes, and is optional: only some of them probe.  C8: its first probe after commit returns
 * STAYING.
 */

#include "elastic_test.h"

static void after(void)
{
    int pending = -1, status = -1;
    MPI_Info info = MPI_INFO_NULL;

    ET_MPI(MPI_Probe_adapt(&pending, &status, &info));
    et.probes++;
    if (pending == MPI_ADAPT_TRUE) {    /* the next adaptation is here already */
        ET_CHECK(status != MPI_ADAPT_STATUS_JOINING, "still joining after commit");
        ET_MPI(MPI_Info_free(&info));
        return;
    }
    ET_CHECK(pending == MPI_ADAPT_FALSE && status == MPI_ADAPT_STATUS_STAYING &&
             info == MPI_INFO_NULL, "first probe after commit: %d, status %d", pending, status);
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.after = after;
    for (int i = 0; et.status == MPI_ADAPT_STATUS_JOINING && i < 3 * (et.rank + 1) % 4; i++) {
        int pending = -1, status = -1;
        MPI_Info info = MPI_INFO_NULL;

        ET_MPI(MPI_Probe_adapt(&pending, &status, &info));
        ET_CHECK(pending == MPI_ADAPT_TRUE, "joining: pending %d", pending);
        ET_CHECK(status == MPI_ADAPT_STATUS_JOINING, "joining: status %d", status);
        if (info != MPI_INFO_NULL)
            ET_MPI(MPI_Info_free(&info));
        ET_MPI(MPI_Probe_adapt(&pending, &status, NULL));
        ET_CHECK(pending == MPI_ADAPT_TRUE && status == MPI_ADAPT_STATUS_JOINING,
                 "joining, without info: %d, status %d", pending, status);
    }
    return et_run();
}
