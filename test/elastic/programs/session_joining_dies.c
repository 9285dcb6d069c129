/*
 * SF2, SR3: a joining process dies, at each step of the addition that has started it.  Run by 2
 * processes, of which rank 0 requests; the first addition brings the uids 2 and 3, of which --stage
 *   launching  3 dies before its session
 *   joining    2 waits in MPI_Session_init, and 3 does not come there
 *   offered    both wait
 *   notified   rank 0 has been notified
 *   taken      and has accepted, and 3 has not returned from MPI_Session_init
 *   rendezvous and the others wait for 3 in MPI_Comm_create_from_group
 * The harness kills, and makes the files that are awaited here.  Then another addition comes, and
 * all is well.
 */

#include "session_changes.h"
#include <signal.h>
#include <unistd.h>

static const char *stage;
static MPI_Comm comm;
static int rank;

static int at_stage(const char *name)
{
    return !strcmp(stage, name);
}

/* Before MPI can return it. */
static int uid_of_process(void)
{
    const char *given = getenv("PMI_ADAPT"), *uid = given ? strstr(given, " uid=") : NULL;

    ET_CHECK(uid, "PMI_ADAPT is %s", given ? given : "not set");
    return atoi(uid + strlen(" uid="));
}

static void before_session(int uid)
{
    if (uid == 3 && at_stage("launching"))
        raise(SIGKILL);
    while (uid == 3 && at_stage("joining"))
        et_sleep_ms(100);
    et_log("OPENING %d", uid);
}

/* The processes of the first addition end when they are killed, or notified that the others are. */
static void join(void)
{
    pset_name set, last;
    int is_last = session_value("app_last", last);

    ET_CHECK(is_last || session_value("app_set", set), "SR7: the keys of the accept");
    if (is_last) {
        comm = connect_set(last, "last");
        ET_MPI(MPI_Comm_free(&comm));
    } else {
        try_connect(set, "first", &comm);
        for (;;)
            et_sleep_ms(100);
    }
    ET_MPI(MPI_Session_finalize(&session));
    exit(0);
}

static void check_nothing(void)
{
    struct change change;
    int flag;

    ET_MPI(MPIX_Session_rc_test(session, NULL, &flag));
    change = get_change(NULL);
    ET_CHECK(!flag && change.type == MPIX_RC_NONE, "SF2: it is seen, type %d", change.type);
}

/* Operations of both processes with a set of all four that has ended, or will. */
static void check_failed_now(const char *whole)
{
    MPI_Comm failed;

    ET_ERROR(try_connect(whole, "first", &failed), MPI_ERR_PROC_ABORTED, NULL);
    check_state(whole, "ended");
}

static void lose_first(pset_name whole)
{
    struct change change;
    MPI_Info keys;

    whole[0] = '\0';
    if (at_stage("launching") || at_stage("joining") || at_stage("offered")) {
        et_await_file("over");
        check_nothing();
        return;
    }
    change = await_change("mpi://WORLD");
    ET_CHECK(change.type == MPIX_RC_ADD, "type %d", change.type);
    set_after("mpi://WORLD", &change, whole);
    et_log("NOTIFIED");
    et_await_file(at_stage("notified") ? "over" : "accept");
    if (!at_stage("notified")) {
        accept_change(&change, "app_set", whole);
        return;
    }
    check_state(change.delta, "ended");         /* so it is known here */
    ET_MPI(MPI_Info_create(&keys));
    ET_ERROR(MPIX_Session_rc_accept(session, change.tag, keys), MPI_ERR_SPAWN, NULL);
    ET_ERROR(MPIX_Session_rc_accept(session, change.tag, keys), MPI_ERR_ARG, "tag");
    ET_MPI(MPI_Info_free(&keys));
    ET_MPI(MPI_Info_free(&change.info));
}

static void take_second(pset_name whole)
{
    struct change change = await_change("mpi://WORLD");

    set_after("mpi://WORLD", &change, whole);
    accept_change(&change, "app_last", whole);
}

int main(int argc, char **argv)
{
    int uid = uid_of_process();
    pset_name whole, delta;

    stage = et_argument(argc, argv, "stage", "notified");
    et_options(&argc, &argv);
    et_log("STARTED %d %ld", uid, (long) getpid());
    before_session(uid);
    open_session();
    if (is_joining_process(delta))
        join();
    comm = connect_set("mpi://WORLD", "launch");
    ET_MPI(MPI_Comm_rank(comm, &rank));
    if (rank == 0)
        lose_first(whole);
    ET_MPI(MPI_Bcast(whole, sizeof(whole), MPI_BYTE, 0, comm));
    if (at_stage("taken"))
        et_await_file("over");
    if (whole[0])
        check_failed_now(whole);
    if (rank == 0)
        take_second(whole);
    ET_MPI(MPI_Bcast(whole, sizeof(whole), MPI_BYTE, 0, comm));
    ET_MPI(MPI_Comm_free(&comm));
    comm = connect_set(whole, "last");
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_joining_dies");
    return 0;
}
