/*
 * How long a program stands still for a change through process sets: mpiexec -n P --adapt-schedule
 * ... session_change N
 *
 * For each of N changes {"from":P,"to":Q,"us":[...],"parts":[...],"heap":B}: of each process that
 * stays, from the step of the notification of rank 0 to the communicator of those who go on:
 * notified, operation, accept, news to others, group and communicator.  Parts: what each of these
 * took of rank 0; with the news the former communicator is freed.  Heap: the bytes that rank 0 has
 * allocated.
 */

#include "measure.h"
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#ifndef MPIX_RC_NONE

int main(void)
{
    fprintf(stderr, "session_change: this MPI has no process sets that change\n");
    return 1;
}

#else

#define PAUSE_US 2000

struct news {
    int type, tag;
    char delta[MPI_MAX_PSET_NAME_LEN], set[MPI_MAX_PSET_NAME_LEN];
};

static MPI_Session session;
static char set[MPI_MAX_PSET_NAME_LEN] = "mpi://WORLD";
static MPI_Comm comm = MPI_COMM_NULL;
static int taken;               /* changes so far */

enum part { TOLD, OPERATION, ACCEPT, NEWS, GROUP, CREATE, PARTS };
static double part_us[PARTS], mark_us;

static void note(enum part part)
{
    double now = now_us();

    part_us[part] = now - mark_us;
    mark_us = now;
}

static void connect_set(void)
{
    MPI_Group group;
    char tag[32];

    snprintf(tag, sizeof(tag), "change %d", taken);
    MPI_Group_from_session_pset(session, set, &group);
    note(GROUP);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    note(CREATE);
    MPI_Group_free(&group);
}

static void begin(void)
{
    MPI_Info info;
    int flag;
    char value[32];

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpix_dynamic", "true");
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    MPI_Session_get_info(session, &info);
    MPI_Info_get(info, "bench_set", sizeof(set) - 1, set, &flag);
    if (flag) {
        MPI_Info_get(info, "bench_taken", sizeof(value) - 1, value, &flag);
        taken = atoi(value);
    }
    MPI_Info_free(&info);
    connect_set();
}

static void send_news(struct news *news)
{
    MPI_Info info, keys;
    char made[1][MPI_MAX_PSET_NAME_LEN], value[32];
    const char *operands[] = { set, news->delta };
    int n = 1;

    MPIX_Session_rc_get(session, NULL, &news->type, news->delta, &news->tag, &info);
    if (news->type == MPIX_RC_NONE)
        MPI_Abort(comm, 1);
    note(TOLD);
    MPI_Info_free(&info);
    MPIX_Session_pset_op(session,
                         news->type == MPIX_RC_ADD ? MPIX_PSETOP_UNION : MPIX_PSETOP_DIFFERENCE,
                         operands, 2, MPI_INFO_NULL, made, &n);
    strcpy(news->set, made[0]);
    note(OPERATION);
    MPI_Info_create(&keys);
    snprintf(value, sizeof(value), "%d", taken + 1);
    MPI_Info_set(keys, "bench_set", news->set);
    MPI_Info_set(keys, "bench_taken", value);
    MPIX_Session_rc_accept(session, news->tag, keys);
    note(ACCEPT);
    MPI_Info_free(&keys);
}

/* Whether there is a change, in all processes. */
static int poll_change(int rank)
{
    int flag = 0;

    usleep(PAUSE_US);
    if (rank == 0)
        MPIX_Session_rc_test(session, NULL, &flag);
    MPI_Bcast(&flag, 1, MPI_INT, 0, comm);
    return flag;
}

static void report(double took, int stays, int from, int to)
{
    double mine = stays ? took : -1, all[64];
    int rank, size, stayed = 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size > 64)
        MPI_Abort(comm, 2);
    MPI_Gather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, comm);
    for (int i = 0; i < size && rank == 0; i++)
        if (all[i] >= 0)
            all[stayed++] = all[i];
    if (rank > 0)
        return;
    printf("{\"from\":%d,\"to\":%d", from, to);
    print_numbers("us", all, stayed);
    print_numbers("parts", part_us, PARTS);
    printf(",\"heap\":%zu}\n", mallinfo2().uordblks);
    fflush(stdout);
}

/* Whether this process goes on. */
static int change(int rank, int size)
{
    struct news news = { 0 };
    int leaves = 0, next;

    MPI_Barrier(comm);
    double start = now_us();
    mark_us = start;
    if (rank == 0)
        send_news(&news);
    MPI_Bcast(&news, sizeof(news), MPI_BYTE, 0, comm);
    if (news.type == MPIX_RC_SUB)
        MPIX_Session_pset_included(session, news.delta, &leaves);
    MPI_Comm_free(&comm);
    if (leaves)
        return 0;
    strcpy(set, news.set);
    taken++;
    note(NEWS);
    connect_set();
    double took = now_us() - start;
    MPI_Comm_size(comm, &next);
    report(took, 1, size, next);
    return 1;
}

int main(int argc, char **argv)
{
    int changes = argc > 1 ? atoi(argv[1]) : 1, goes_on = 1, rank, size;

    begin();
    if (taken > 0)
        report(0, 0, 0, 0);
    while (goes_on && taken < changes) {
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        bind_to_core(rank);
        if (poll_change(rank))
            goes_on = change(rank, size);
    }
    if (goes_on)
        MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return 0;
}

#endif
