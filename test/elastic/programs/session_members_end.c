/*
 * SO4, SI2, SI6, SI7, SD2: rank 2 ends while the others wait for data of sets that hold it.  They
 * are notified so, the sets are ended for everybody and stay listed, and the algebra goes on.
 * --threads 1: many threads of each process wait and another one writes (ST1).  Run by 3 processes
 * without a world.
 */

#include "elastic_test.h"
#include <pthread.h>
#include <stdbool.h>

#define THREADS 80

static MPI_Session session;

typedef char pset_name[MPI_MAX_PSET_NAME_LEN];

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, key, value));
    return info;
}

static int get_alone(const char *set, const char *key, int wait, MPI_Info * data)
{
    return MPIX_Session_get_pset_data(session, "mpi://SELF", set, &key, 1, wait, data);
}

/* Somebody makes it, and may have ended then. */
static void await_set(const char *name)
{
    MPI_Info info;
    int running;

    do {
        ET_MPI(MPIX_Session_pset_exists(session, name, &running, &info));
    } while (info == MPI_INFO_NULL);
    ET_MPI(MPI_Info_free(&info));
}

static void make_set(const char *set, const char *of)
{
    MPI_Info name = info_of("mpix_name", set);
    pset_name made;
    int n = 1;

    ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &of, 1, name, &made, &n));
    ET_CHECK(!strcmp(made, set), "%s is called %s", set, made);
    ET_MPI(MPI_Info_free(&name));
}

static void check_ended(const char *set)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Info info;
    char value[32];
    const char *operands[] = { set, "app://two" };
    pset_name rest;
    int flag, running, size, n = 1;

    ET_MPI(MPIX_Session_pset_exists(session, set, &running, &info));
    ET_CHECK(!running, "%s is running", set);
    ET_MPI(MPI_Info_get(info, "mpix_state", 31, value, &flag));
    ET_CHECK(flag && !strcmp(value, "ended"), "%s is %s", set, value);
    ET_MPI(MPI_Info_free(&info));
    ET_ERROR(MPI_Group_from_session_pset(session, set, &group), MPI_ERR_PROC_ABORTED, set);
    ET_CHECK(group == MPI_GROUP_EMPTY, "the group of %s is not MPI_GROUP_EMPTY", set);
    ET_MPI(MPIX_Session_get_psets(session, MPI_INFO_NULL, &info));
    ET_MPI(MPI_Info_get(info, set, 31, value, &flag));
    ET_CHECK(flag && atoi(value) == 3, "SI2: %s is not listed", set);
    ET_MPI(MPI_Info_free(&info));

    ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_DIFFERENCE, operands, 2, MPI_INFO_NULL, &rest,
                                &n));
    ET_MPI(MPI_Group_from_session_pset(session, rest, &group));
    ET_MPI(MPI_Group_size(group, &size));
    ET_CHECK(size == 2, "SO4: %d processes are left", size);
    ET_MPI(MPI_Group_free(&group));
}

/* It runs when all of them have begun.  A state that was cached does not outlive the process. */
static void expect_world(bool expected)
{
    int running;

    do
        ET_MPI(MPIX_Session_pset_exists(session, "mpi://WORLD", &running, NULL));
    while (expected && !running);
    ET_CHECK(running == expected, "SO4: mpi://WORLD %s", running ? "runs on" : "has ended");
}

/* SI7: programs of MPI 4.0 take the group of mpi://WORLD at any time. */
static void use_rest_of_world(void)
{
    MPI_Group world, rest;
    MPI_Comm comm;
    int size;

    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    ET_MPI(MPI_Group_size(world, &size));
    ET_CHECK(size == 3, "SI7: mpi://WORLD has %d processes", size);
    ET_ERROR(MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
             MPI_ERR_PROC_ABORTED, "A process of the group has ended");
    ET_MPI(MPI_Group_excl(world, 1, (const int[]) {2}, &rest));
    ET_MPI(MPI_Comm_create_from_group(rest, "rest", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    et_exercise(comm, "the rest of mpi://WORLD");
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Group_free(&rest));
    ET_MPI(MPI_Group_free(&world));
}

static void *write_late(void *unused)
{
    MPI_Info data = info_of("late", "here");

    et_sleep_ms(50);
    ET_MPI(MPIX_Session_set_pset_data(session, "mpi://WORLD", data));
    ET_MPI(MPI_Info_free(&data));
    return NULL;
}

static void *query_much(void *unused)
{
    MPI_Info data;
    int running;

    for (int i = 0; i < 5; i++)
        ET_MPI(MPIX_Session_pset_exists(session, "mpix://WORLD/0", &running, NULL));
    ET_MPI(get_alone("mpi://WORLD", "late", 1, &data));
    ET_MPI(MPI_Info_free(&data));
    return NULL;
}

/* More than the proxy keeps answers for. */
static void wait_for_other_thread(void)
{
    pthread_t threads[THREADS], writer;

    for (int i = 0; i < THREADS; i++)
        ET_CHECK(!pthread_create(&threads[i], NULL, query_much, NULL), "no thread");
    ET_CHECK(!pthread_create(&writer, NULL, write_late, NULL), "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(writer, NULL);
}

int main(int argc, char **argv)
{
    MPI_Group group;
    MPI_Info data, late;
    MPI_Request request;
    const char *never = "never";
    int rank;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    ET_MPI(MPI_Group_rank(group, &rank));
    ET_MPI(MPI_Group_free(&group));
    if (et_number(argc, argv, "threads", 0))
        wait_for_other_thread();

    if (rank == 2) {
        make_set("app://all", "mpi://WORLD");
        await_set("app://ready");
        ET_MPI(MPI_Session_finalize(&session));
        return 0;
    }
    await_set("app://all");
    expect_world(true);
    make_set(rank ? "app://seen-1" : "app://seen-0", "mpi://SELF");
    await_set("app://seen-1");
    if (rank == 0) {
        pset_name two;
        MPI_Info name = info_of("mpix_name", "app://two");
        MPI_Group world;
        ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
        ET_MPI(MPI_Group_incl(world, 1, (const int[]) {2}, &group));
        ET_MPI(MPIX_Session_pset_from_group(session, group, name, two));
        ET_MPI(MPI_Info_free(&name));
        ET_MPI(MPI_Group_free(&group));
        ET_MPI(MPI_Group_free(&world));
        make_set("app://ready", "mpi://SELF");
    }
    ET_MPI(MPIX_Session_iget_pset_data(session, "mpi://SELF", "app://all", &never, 1, 1, &late,
                                       &request));
    ET_ERROR(get_alone("app://all", never, 1, &data), MPI_ERR_PROC_ABORTED, "app://all");
    ET_CHECK(data == MPI_INFO_NULL, "there is data");
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    ET_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED, "app://all");
    ET_CHECK(late == MPI_INFO_NULL, "there is data");
    ET_MPI(get_alone("app://all", "never", 0, &data));
    ET_MPI(MPI_Info_free(&data));
    check_ended("app://all");
    expect_world(false);
    use_rest_of_world();
    /* a set that holds this process is read over there */
    make_set(rank ? "app://one" : "app://zero", "mpi://SELF");
    await_set(rank ? "app://zero" : "app://one");
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_members_end");
    return 0;
}
