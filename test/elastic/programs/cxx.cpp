/*
 * The operations in a C++ program, compiled by mpicxx: declarations have C linkage and all types
 * fit. Argument: the number of adaptations.
 */

#include <mpi.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

void check(bool ok, const char *what)
{
    if (ok)
        return;
    std::fprintf(stderr, "FAIL cxx: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 99);
}

int adapt(int epoch, bool joining)
{
    MPI_Comm intercomm = MPI_COMM_NULL, next = MPI_COMM_NULL;
    int staying = -1, leaving = -1, joined = -1, sum = 0, one = 1;

    check(MPI_Comm_adapt_begin(&intercomm, &next, &staying, &leaving, &joined) == MPI_SUCCESS,
          "begin");
    if (next != MPI_COMM_NULL) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, next);
        check(sum == staying + joined, "size of the new world");
    }
    if (joined > 0) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        int root = joining ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
        MPI_Bcast(&epoch, 1, MPI_INT, root, intercomm);
    }
    check(MPI_Comm_adapt_commit() == MPI_SUCCESS, "commit");
    return epoch + 1;
}

}  // namespace

int main(int argc, char **argv)
{
    int status = -1, epoch = 0, rank = 0, size = 0;
    const int epochs = argc > 1 ? std::atoi(argv[1]) : 1;

    check(MPI_Init_adapt(&argc, &argv, &status) == MPI_SUCCESS, "init");
    if (status == MPI_ADAPT_STATUS_JOINING)
        epoch = adapt(epoch, true);
    while (epoch < epochs) {
        int pending = -1;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        check(MPI_Probe_adapt(&pending, &status, nullptr) == MPI_SUCCESS, "probe");
        if (pending == MPI_ADAPT_TRUE)
            epoch = adapt(epoch, false);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        std::printf("PASS epoch=%d size=%d\n", epoch, size);
    MPI_Finalize();
    return 0;
}
