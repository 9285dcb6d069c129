/*
 * Nobody waits for ever: calls that wait, and the process that is waited for ends; and sets that
 * are freed under the feet of a creation.  Run by 3 processes, of which rank 2 ends, or by fewer or
 * more and additions; --case
 *   disconnect  SL4: MPI_Comm_disconnect of a communicator with a member that has ended
 *   freed       SO8: a set is freed while some of its members wait in MPI_Comm_create_from_group
 *   objects     SX9, SI8: windows and a file of a group one of whose members ends before it comes
 *   query       SC6: MPIX_Session_get_pset_op, which all members of a set call, and with a request
 *   data        SD2, SC4: keys of a set that ends before they are written, requested in four ways
 *   fails       SC6: the process that a growth adds dies, which gives a request; the next growth
 *               works
 *   proposed    SI8: all make a communicator with a process that is proposed, which is declined,
 *               and then accepted
 *   last        SF1, SF2: the only process is notified of an addition and ends; nobody is left that
 *               could accept it
 *   quits       SF3: the only process of the launch exits with its session open; the one that was
 *               added waits for it
 *   exits       SF3: one that is alone on its host exits with its session open, without a query; it
 *               prints LEAVES
 *   never       SF4: prints WAITS in front of a call that waits for what does not come, in each
 *               process another one
 */

#include "session_changes.h"
#include <mpi_session_dyn.h>
#include <signal.h>
#include <unistd.h>

static MPI_Comm comm;
static int rank;

static void finish(void)
{
    ET_MPI(MPI_Session_finalize(&session));
    exit(0);
}

static void expect_aborted(int error, const char *clause)
{
    int class;

    ET_MPI(MPI_Error_class(error, &class));
    ET_CHECK(class == MPI_ERR_PROC_ABORTED, "%s: class %d, not MPI_ERR_PROC_ABORTED", clause,
             class);
}

static void make_world(pset_name made)
{
    if (rank == 0)
        make_set(MPIX_PSETOP_UNION, "mpi://WORLD", "mpi://SELF", made);
    ET_MPI(MPI_Bcast(made, sizeof(pset_name), MPI_BYTE, 0, comm));
}

static void case_disconnect(void)
{
    pset_name world;

    make_world(world);
    if (rank == 2)
        finish();
    await_state(world, "ended");
    if (rank == 1)
        et_sleep_ms(100);
    ET_MPI(MPI_Comm_disconnect(&comm));
}

/* Rank 1 waits for the others, who come when the set is freed. */
static void case_freed(void)
{
    pset_name world;
    MPI_Group group;
    MPI_Comm made;
    int running = 1;

    make_world(world);
    ET_MPI(MPI_Group_from_session_pset(session, world, &group));
    ET_MPI(MPI_Barrier(comm));
    if (rank == 0) {
        et_sleep_ms(100);
        ET_MPI(MPIX_Session_pset_free(session, world));
    }
    while (rank == 2 && running)
        ET_MPI(MPIX_Session_pset_exists(session, world, &running, NULL));
    ET_MPI(MPI_Comm_create_from_group(group, "freed", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    et_exercise(made, "a communicator of a set that is freed");
    ET_MPI(MPI_Comm_free(&made));
    ET_MPI(MPI_Group_free(&group));
    ET_ERROR(MPI_Group_from_session_pset(session, world, &group), MPI_ERR_ARG, world);
    ET_CHECK(group == MPI_GROUP_EMPTY, "SI7: no MPI_GROUP_EMPTY");
    ET_MPI(MPI_Comm_free(&comm));
}

static void case_objects(void)
{
    pset_name world;
    MPI_Group group;
    MPI_Win win;
    MPI_File file;
    void *memory;
    int here;

    make_world(world);
    ET_MPI(MPI_Group_from_session_pset(session, world, &group));
    if (rank == 2) {
        et_sleep_ms(100);
        finish();
    }
    expect_aborted(MPIX_Win_create_from_group(group, "create", &here, sizeof(here), 1,
                                              MPI_INFO_NULL, MPI_ERRORS_RETURN, &win), "SX9");
    expect_aborted(MPIX_Win_allocate_from_group(group, "allocate", 8, 1, MPI_INFO_NULL,
                                                MPI_ERRORS_RETURN, &memory, &win), "SX9");
    expect_aborted(MPIX_Win_allocate_shared_from_group(group, "shared", 8, 1, MPI_INFO_NULL,
                                                       MPI_ERRORS_RETURN, &memory, &win), "SX9");
    expect_aborted(MPIX_Win_create_dynamic_from_group(group, "dynamic", MPI_INFO_NULL,
                                                      MPI_ERRORS_RETURN, &win), "SX9");
    ET_CHECK(win == MPI_WIN_NULL, "SX9: a window is left");
    expect_aborted(MPIX_File_open_from_group(group, "file", "never",
                                             MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                                             MPI_ERRORS_RETURN, &file), "SX9");
    ET_CHECK(file == MPI_FILE_NULL, "SX9: a file is left");
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Comm_free(&comm));
}

static void case_query(void)
{
    pset_name world, names[3];
    MPI_Request request;
    char **later = NULL;
    int op, n = 3;

    make_world(world);
    if (rank == 2) {
        et_sleep_ms(100);
        finish();
    }
    if (rank == 0) {
        expect_aborted(MPIX_Session_get_pset_op(session, world, world, &op, names, &n), "SC6");
    } else {
        ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        ET_MPI(MPIX_Session_iget_pset_op(session, world, world, &op, &later, &n, &request));
        expect_aborted(MPI_Wait(&request, MPI_STATUS_IGNORE), "SC6");
    }
    ET_MPI(MPI_Comm_free(&comm));
}

static void case_data(void)
{
    static const char *const keys[] = { "never" };
    pset_name world;
    MPI_Request request;
    MPI_Info data;

    make_world(world);
    if (rank == 2) {
        et_sleep_ms(100);
        finish();
    }
    expect_aborted(MPIX_Session_get_pset_data(session, world, world, keys, 1, 1, &data), "SD2");
    if (rank == 0) {
        expect_aborted(MPIX_Session_get_pset_data(session, "mpi://SELF", world, keys, 1, 1, &data),
                       "SD2");
        expect_aborted(MPI_Session_Get_PSet_Info(session, world, &data), "SC4");
    } else {
        ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        ET_MPI(MPIX_Session_iget_pset_data(session, "mpi://SELF", world, keys, 1, 1, &data,
                                           &request));
        expect_aborted(MPI_Wait(&request, MPI_STATUS_IGNORE), "SD2");
    }
    ET_MPI(MPI_Comm_free(&comm));
}

/* Before MPI can return it. */
static int uid_of_process(void)
{
    const char *given = getenv("PMI_ADAPT"), *uid = given ? strstr(given, " uid=") : NULL;

    ET_CHECK(uid, "PMI_ADAPT is %s", given ? given : "not set");
    return atoi(uid + strlen(" uid="));
}

static void join_last(const char *delta)
{
    static const char *const keys[] = { "app_set" };
    pset_name whole;
    MPI_Info data;

    ET_MPI(MPIX_Session_get_pset_data(session, "mpi://SELF", delta, keys, 1, 1, &data));
    ET_CHECK(value_of(data, keys[0], whole), "no %s", keys[0]);
    ET_MPI(MPI_Info_free(&data));
    comm = connect_set(whole, "whole");
    ET_MPI(MPI_Comm_free(&comm));
    finish();
}

static void case_failed(void)
{
    const char *bound = "app://main";
    pset_name names[2], whole = "";
    MPI_Info one, data;
    MPI_Request request;
    char **failed = NULL;
    int op = MPIX_PSETOP_GROW, n = 2;

    ET_MPI(MPI_Info_create(&one));
    ET_MPI(MPI_Info_set(one, "mpi_num_procs_add", "1"));
    if (rank == 0) {
        ET_MPI(MPIX_Session_ipset_op(session, &op, &bound, 1, one, &failed, &n, &request));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        ET_CHECK(op == MPIX_PSETOP_NULL && n == 0 &&
                 !failed, "SC6: %d sets of a process that has died", n);
        n = 2;
        ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_GROW, &bound, 1, one, names, &n));
        ET_CHECK(n == 2, "SC6: the next growth makes %d sets", n);
        memcpy(whole, names[1], sizeof(whole));
        ET_MPI(MPI_Info_create(&data));
        ET_MPI(MPI_Info_set(data, "app_set", whole));
        ET_MPI(MPIX_Session_set_pset_data(session, names[0], data));
        ET_MPI(MPI_Info_free(&data));
    }
    ET_MPI(MPI_Info_free(&one));
    ET_MPI(MPI_Bcast(whole, sizeof(whole), MPI_BYTE, 0, comm));
    ET_MPI(MPI_Comm_free(&comm));
    comm = connect_set(whole, "whole");
    ET_MPI(MPI_Comm_free(&comm));
}

/* Rank 0 is notified of an addition, and makes the set that all pass to
 * MPI_Comm_create_from_group. */
static struct change propose(pset_name whole)
{
    struct change change = { 0 };
    MPI_Comm made;

    if (rank == 0) {
        change = await_change(NULL);
        set_after("mpi://WORLD", &change, whole);
        check_state(whole, "proposed");
        ET_ERROR(try_connect(whole, "whole", &made), MPI_ERR_GROUP, "accept");
    }
    ET_MPI(MPI_Bcast(whole, sizeof(pset_name), MPI_BYTE, 0, comm));
    if (rank == 0)              /* the others wait, or come to what they would have waited for */
        et_sleep_ms(100);
    return change;
}

static void case_proposed(void)
{
    struct change change;
    pset_name whole;
    MPI_Comm made;

    change = propose(whole);
    if (rank == 0)
        decline_change(&change);
    else
        expect_aborted(try_connect(whole, "whole", &made), "SI8");
    ET_MPI(MPI_Barrier(comm));
    change = propose(whole);
    if (rank == 0)
        accept_change(&change, "app_set", whole);
    made = connect_set(whole, "whole");
    et_exercise(made, "a communicator of a set that was proposed");
    ET_MPI(MPI_Comm_free(&made));
    ET_MPI(MPI_Comm_free(&comm));
}

static void join_whole(void)
{
    pset_name whole;

    ET_CHECK(session_value("app_set", whole), "SR7: the keys of the accept");
    comm = connect_set(whole, "whole");
    et_exercise(comm, "a communicator of a set that was proposed");
    ET_MPI(MPI_Comm_free(&comm));
    finish();
}

/* A child has nothing but its connection until the proxy has ended, so that the process' end alone
 * shows what has happened. */
static void quit(void)
{
    const char *connection = getenv("PMI_FD");
    pid_t proxy = getppid(), child = fork();

    ET_CHECK(child >= 0 && connection, "there is no child");
    if (child == 0) {
        for (int fd = 0; fd < 1024; fd++)
            if (fd != atoi(connection))
                close(fd);
        while (kill(proxy, 0) == 0)
            et_sleep_ms(10);
    }
    _exit(3);
}

static void case_quits(void)
{
    struct change change = await_change(NULL);
    pset_name whole;

    set_after("mpi://WORLD", &change, whole);
    accept_change(&change, "app_set", whole);
    ET_MPI(MPI_Comm_free(&comm));
    comm = connect_set(whole, "whole");
    quit();
}

static void case_exits(void)
{
    ET_MPI(MPI_Barrier(comm));
    if (rank == 0) {
        fprintf(stderr, "LEAVES\n");
        _exit(0);
    }
    ET_MPI(MPI_Comm_free(&comm));
}

static void join_quits(void)
{
    pset_name whole;
    int never;

    ET_CHECK(session_value("app_set", whole), "SR7: the keys of the accept");
    comm = connect_set(whole, "whole");
    et_log("WAITS");
    ET_MPI(MPI_Recv(&never, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
    et_log("CAME");
}

static void case_last(void)
{
    struct change change = await_change(NULL);

    ET_CHECK(change.type == MPIX_RC_ADD, "type %d", change.type);
    ET_MPI(MPI_Info_free(&change.info));
    ET_MPI(MPI_Comm_free(&comm));
    et_log("PASS session_waits");
    finish();
}

/* An error is an end, too.  A joining process waits to be accepted, in its MPI_Session_init. */
static void case_never(void)
{
    static const char *const keys[] = { "never" };
    MPI_Request request;
    pset_name text = "";
    MPI_Group group;
    MPI_Info data;
    int flag, error = MPI_SUCCESS;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));

    ET_MPI(MPI_Comm_group(comm, &group));
    et_log("WAITS");
    if (rank == 0) {
        error = MPIX_Session_get_pset_data(session, "mpi://SELF", "mpi://WORLD", keys, 1, 1, &data);
    } else if (rank == 1) {
        error = MPI_Comm_create_from_group(group, "never", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    } else if (rank == 2) {
        ET_MPI(MPIX_Session_iget_pset_data(session, "mpi://SELF", "mpi://WORLD", keys, 1, 1, &data,
                                           &request));
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        do {
            error = MPIX_Session_bcast_pset_info(session, "mpi://SELF", text, sizeof(text), 0);
            if (error == MPI_SUCCESS)
                error = MPIX_Session_rc_test(session, NULL, &flag);
        } while (error == MPI_SUCCESS && !text[0]);
    }
    if (error == MPI_SUCCESS)
        et_log("CAME");
}

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "case", "");
    pset_name delta;

    et_options(&argc, &argv);
    if (!strcmp(what, "fails") && uid_of_process() == 2)
        raise(SIGKILL);
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    if (is_joining_process(delta) && !strcmp(what, "proposed"))
        join_whole();
    if (is_joining_process(delta) && !strcmp(what, "quits"))
        join_quits();
    if (is_joining_process(delta) && strcmp(what, "fails")) {
        et_log("CAME");
        finish();
    }
    if (is_joining_process(delta))
        join_last(delta);
    comm = connect_set("mpi://WORLD", "launch");
    ET_MPI(MPI_Comm_rank(comm, &rank));
    if (!strcmp(what, "disconnect"))
        case_disconnect();
    else if (!strcmp(what, "freed"))
        case_freed();
    else if (!strcmp(what, "objects"))
        case_objects();
    else if (!strcmp(what, "query"))
        case_query();
    else if (!strcmp(what, "data"))
        case_data();
    else if (!strcmp(what, "proposed"))
        case_proposed();
    else if (!strcmp(what, "quits"))
        case_quits();
    else if (!strcmp(what, "exits"))
        case_exits();
    else if (!strcmp(what, "last"))
        case_last();
    else if (!strcmp(what, "never"))
        case_never();
    else
        case_failed();
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_waits");
    return 0;
}
