/*
 * A world by a session, beside the one of MPI_Init: mpiexec -n P session_world [--world] [--create]
 *
 * Prints samples as world_speed does: "start" until there is a communicator of all processes, of the slowest one (a
 * session for one thread, group, communicator; --world: MPI_Init), then "latency:8" and "allreduce:8" on it.  With
 * --create "create" in their place: MPI_Comm_create_from_group over all processes, and its end.  Any MPI 4.0.
 */

#include "measure.h"
#include <string.h>

#define BUDGET_US 60e3
#define BYTES 8

static struct {
    MPI_Comm comm;
    MPI_Group group;
    int rank, peer;
} all;

static void latency(const void *what, int count)
{
    char out[BYTES] = "", in[BYTES];

    (void) what;
    for (int i = 0; i < count && all.rank < 2; i++) {
        if (all.rank == 0)
            MPI_Send(out, BYTES, MPI_CHAR, all.peer, 0, all.comm);
        MPI_Recv(in, BYTES, MPI_CHAR, all.peer, 0, all.comm, MPI_STATUS_IGNORE);
        if (all.rank == 1)
            MPI_Send(out, BYTES, MPI_CHAR, all.peer, 0, all.comm);
    }
}

static void allreduce(const void *what, int count)
{
    double out = all.rank, in;

    (void) what;
    for (int i = 0; i < count; i++)
        MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, all.comm);
}

static void create(const void *what, int count)
{
    (void) what;
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;

        MPI_Comm_create_from_group(all.group, "bench", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
        MPI_Comm_free(&comm);
    }
}

static void open_session(MPI_Session * session)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, session);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(*session, "mpi://WORLD", &all.group);
    MPI_Comm_create_from_group(all.group, "world", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all.comm);
}

static void report_start(double took)
{
    double longest = 0;

    MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, all.comm);
    if (all.rank == 0)
        printf("{\"what\":\"start\",\"us\":[%.1f]}\n", longest);
}

int main(int argc, char **argv)
{
    int by_init = 0, creates = 0;
    double start = now_us();
    MPI_Session session;

    for (int i = 1; i < argc; i++) {
        by_init = by_init || strcmp(argv[i], "--world") == 0;
        creates = creates || strcmp(argv[i], "--create") == 0;
    }
    if (by_init) {
        MPI_Init(&argc, &argv);
        all.comm = MPI_COMM_WORLD;
    } else {
        open_session(&session);
    }
    double took = now_us() - start;
    MPI_Comm_rank(all.comm, &all.rank);
    all.peer = !all.rank;
    report_start(took);
    bind_to_core(all.rank);
    if (creates) {
        measure("create", create, NULL, 1, all.comm, BUDGET_US);
    } else {
        measure("latency:8", latency, NULL, 2, all.comm, BUDGET_US);
        measure("allreduce:8", allreduce, NULL, 1, all.comm, BUDGET_US);
    }
    if (by_init) {
        MPI_Finalize();
    } else {
        MPI_Group_free(&all.group);
        MPI_Comm_free(&all.comm);
        MPI_Session_finalize(&session);
    }
    return 0;
}
