/*
 * I3: an adaptive program without the extended process manager (a singleton, or under a launcher
 * that lacks the extension): status NEW, probe always FALSE, a size request is refused at once,
 * everything else as usual.
 */

#include "elastic_test.h"

static void is_refused(void)
{
    int size_info = 0, state = -1, flag, n = 256;
    char reason[256];
    MPI_Info info;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "size", "2"));
    ET_MPI(MPIX_Adapt_request(info, &size_info));
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPIX_Adapt_request_state(size_info, &state, &info));
    ET_CHECK(state == MPIX_ADAPT_REQUEST_REFUSED, "state %d", state);
    ET_MPI(MPI_Info_get_string(info, "reason", &n, reason, &flag));
    ET_CHECK(flag && strstr(reason, "no process manager"), "%s", reason);
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPIX_Adapt_request_withdraw(size_info));
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    is_refused();
    ET_CHECK(et.status == MPI_ADAPT_STATUS_NEW, "status %d", et.status);
    for (int i = 0; i < 10000; i++)
        ET_CHECK(!et_probe(), "an adaptation without an extended process manager");
    et_exercise(MPI_COMM_WORLD, "the world");
    et_exercise(MPI_COMM_SELF, "myself");
    if (et.rank == 0)
        et_log("PASS alone size=%d", et.size);
    ET_MPI(MPI_Finalize());
    return 0;
}
