/*
 * SX3, SX11: a session for one thread (MPI_THREAD_SINGLE) is alone in its process; then the same
 * thread opens one for several, or calls MPI_Init_thread, and several threads communicate at once.
 * Run by 2 processes.
 */

#include "elastic_test.h"
#include <pthread.h>

#define THREADS 4
#define MESSAGES 4000

static int rank, size;

static MPI_Session open_at(const char *level)
{
    MPI_Session session;
    MPI_Info info;
    char value[64];
    int flag;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "thread_level", level));
    ET_MPI(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Session_get_info(session, &info));
    ET_MPI(MPI_Info_get(info, "thread_level", 63, value, &flag));
    ET_CHECK(flag && !strcmp(value, level), "a session for %s is %s", level, value);
    ET_MPI(MPI_Info_free(&info));
    return session;
}

static MPI_Comm connect_all(MPI_Session session, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;

    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    ET_MPI(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    ET_MPI(MPI_Group_free(&group));
    return comm;
}

static void add_up(MPI_Comm comm)
{
    int sum;

    ET_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    ET_CHECK(sum == size * (size - 1) / 2, "the sum of %d ranks is %d", size, sum);
}

/* The other one gets all messages, in this order. */
static void *talk(void *state)
{
    MPI_Comm comm = *(MPI_Comm *) state;

    for (int i = 0; i < MESSAGES; i++) {
        int got = -1;
        ET_MPI(MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, 0, &got, 1, MPI_INT, 1 - rank, 0, comm,
                            MPI_STATUS_IGNORE));
        ET_CHECK(got == i, "message %d is %d", i, got);
    }
    return NULL;
}

static void talk_at_once(MPI_Comm comm)
{
    pthread_t threads[THREADS];
    MPI_Comm comms[THREADS];

    for (int i = 0; i < THREADS; i++)
        ET_MPI(MPI_Comm_dup(comm, &comms[i]));
    for (int i = 0; i < THREADS; i++)
        ET_CHECK(pthread_create(&threads[i], NULL, talk, &comms[i]) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        ET_MPI(MPI_Comm_free(&comms[i]));
}

int main(int argc, char **argv)
{
    int provided;

    et_options(&argc, &argv);
    MPI_Session one = open_at("MPI_THREAD_SINGLE");
    MPI_Comm comm = connect_all(one, "one");
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    add_up(comm);

    MPI_Session many = open_at("MPI_THREAD_MULTIPLE");
    MPI_Comm also = connect_all(many, "many");
    talk_at_once(also);
    add_up(comm);
    ET_MPI(MPI_Comm_free(&also));
    ET_MPI(MPI_Session_finalize(&many));
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&one));

    /* the library was parked meanwhile */
    one = open_at("MPI_THREAD_SINGLE");
    comm = connect_all(one, "again");
    add_up(comm);
    ET_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
    ET_CHECK(provided == MPI_THREAD_MULTIPLE, "provided: %d", provided);
    talk_at_once(MPI_COMM_WORLD);
    add_up(comm);
    ET_MPI(MPI_Finalize());
    add_up(comm);
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&one));
    if (rank == 0)
        et_log("PASS session_levels");
    return 0;
}
