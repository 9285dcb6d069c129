/*
 * An awaited process ends, or an awaited operation is undone, while others wait for it already;
 * --case
 *   disconnect  SL4: a process ends when the others are in MPI_Comm_disconnect
 *   freed       SD2, SO8: a set is freed while others wait for its data
 *   declined    SD2, SR8: data of processes that were to join, and are declined
 *   orphaned    SF1, SI8: the process that was notified of an addition, and is in no set with the
 *               joining ones, ends without accepting it, and others make a communicator with these
 *   asker       SC6: who has requested a growth ends before there is one; another one requests, and
 *               gets it
 *   replaced    SC6, SF2: the process that replaces another one dies; the next one replaces it
 */

#include "session_changes.h"
#include <signal.h>
#include <unistd.h>

static const char *const data_key[] = { "app_set" };
static const char *const never_key[] = { "never" };
static MPI_Comm comm;
static int rank;

static void finish(void)
{
    ET_MPI(MPI_Session_finalize(&session));
    exit(0);
}

static void make_union(const char *first, const char *second, pset_name made)
{
    if (rank == 0)
        make_set(MPIX_PSETOP_UNION, first, second, made);
    ET_MPI(MPI_Bcast(made, sizeof(pset_name), MPI_BYTE, 0, comm));
}

static void case_disconnect(void)
{
    if (rank == 2) {
        et_sleep_ms(500);
        finish();
    }
    ET_MPI(MPI_Comm_disconnect(&comm));
}

static void case_freed(void)
{
    MPI_Request request;
    pset_name made;
    MPI_Info data;

    make_union("mpi://WORLD", "mpi://SELF", made);
    if (rank == 0) {
        et_sleep_ms(300);
        ET_MPI(MPIX_Session_pset_free(session, made));
    } else if (rank == 1) {
        ET_ERROR(MPIX_Session_get_pset_data(session, "mpi://SELF", made, never_key, 1, 1, &data),
                 MPI_ERR_ARG, made);
    } else {
        ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
        ET_MPI(MPIX_Session_iget_pset_data(session, "mpi://SELF", made, never_key, 1, 1, &data,
                                           &request));
        ET_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_ARG, made);
    }
    ET_MPI(MPI_Barrier(comm));
    ET_MPI(MPI_Comm_free(&comm));
}

static void case_declined(void)
{
    struct change change = { 0 };
    MPI_Info data;

    if (rank == 0)
        change = await_change(NULL);
    ET_MPI(MPI_Bcast(change.delta, sizeof(change.delta), MPI_BYTE, 0, comm));
    if (rank == 0) {
        et_sleep_ms(300);
        decline_change(&change);
    } else {
        ET_ERROR(MPIX_Session_get_pset_data(session, "mpi://SELF", change.delta, never_key, 1, 1,
                                            &data), MPI_ERR_ARG,
                 change.delta);
    }
    ET_MPI(MPI_Barrier(comm));
    ET_MPI(MPI_Comm_free(&comm));
}

/* Ranks 1 and 2 wait for what rank 0 could have accepted. */
static void case_orphaned(void)
{
    pset_name rest = "", whole = "";
    struct change change;
    MPI_Comm made;
    int error, class;

    if (rank == 0) {
        change = await_change(NULL);
        make_set(MPIX_PSETOP_DIFFERENCE, "mpi://WORLD", "mpi://SELF", rest);
        make_set(MPIX_PSETOP_UNION, rest, change.delta, whole);
        ET_MPI(MPI_Info_free(&change.info));
    }
    ET_MPI(MPI_Bcast(whole, sizeof(whole), MPI_BYTE, 0, comm));
    if (rank == 0) {
        et_sleep_ms(300);
        finish();
    }
    error = try_connect(whole, "whole", &made);
    ET_MPI(MPI_Error_class(error, &class));
    ET_CHECK(class == MPI_ERR_PROC_ABORTED, "SI8: class %d", class);
    ET_MPI(MPI_Comm_free(&comm));
}

/* Before MPI can return it. */
static int uid_of_process(void)
{
    const char *given = getenv("PMI_ADAPT"), *uid = given ? strstr(given, " uid=") : NULL;

    ET_CHECK(uid, "PMI_ADAPT is %s", given ? given : "not set");
    return atoi(uid + strlen(" uid="));
}

static MPI_Info one(const char *key, const char *other)
{
    MPI_Info info;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, key, "1"));
    if (other)
        ET_MPI(MPI_Info_set(info, other, "1"));
    return info;
}

/* A joining process reads the set of all in the data of its own. */
static void notify_joining(const char *delta, const char *whole)
{
    MPI_Info data;

    ET_MPI(MPI_Info_create(&data));
    ET_MPI(MPI_Info_set(data, data_key[0], whole));
    ET_MPI(MPIX_Session_set_pset_data(session, delta, data));
    ET_MPI(MPI_Info_free(&data));
}

static void join(const char *delta)
{
    pset_name whole;
    MPI_Info data;

    ET_MPI(MPIX_Session_get_pset_data(session, "mpi://SELF", delta, data_key, 1, 1, &data));
    ET_CHECK(value_of(data, data_key[0], whole), "no %s", data_key[0]);
    ET_MPI(MPI_Info_free(&data));
    comm = connect_set(whole, "whole");
    ET_MPI(MPI_Comm_free(&comm));
    finish();
}

static void case_asker(void)
{
    MPI_Info info = one("mpi_num_procs_add", NULL);
    pset_name names[2], whole, own;
    const char *bound = whole;
    MPI_Request request;
    int n = 2, op = MPIX_PSETOP_GROW;

    make_union("mpi://WORLD", "mpi://SELF", whole);
    make_set(MPIX_PSETOP_UNION, "mpi://SELF", "mpi://SELF", own);
    if (rank == 0) {
        ET_MPI(MPIX_Session_ipset_op(session, &op, &bound, 1, info, names, &n, &request));
        finish();
    }
    await_state(whole, "ended");
    bound = "mpi://SELF";
    ET_ERROR(MPIX_Session_pset_op(session, op, &bound, 1, info, names, &n), MPI_ERR_ARG,
             "create a set");
    bound = own;
    n = 2;
    ET_MPI(MPIX_Session_pset_op(session, op, &bound, 1, info, names, &n));
    ET_CHECK(n == 2, "SC6: the growth makes %d sets", n);
    ET_MPI(MPI_Info_free(&info));
    notify_joining(names[0], names[1]);
    ET_MPI(MPI_Comm_free(&comm));
    comm = connect_set(names[1], "whole");
    ET_MPI(MPI_Comm_free(&comm));
}

static void case_replaced(void)
{
    MPI_Info info = one("mpi_num_procs_add", "mpi_num_procs_sub");
    pset_name names[3] = { "" };
    pset_name whole;
    const char *bound = whole;
    int n = 3, leaves;

    make_union("mpi://WORLD", "mpi://SELF", whole);
    if (rank == 0) {
        ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_REPLACE, &bound, 1, info, names, &n));
        ET_CHECK(n == 0, "SC6: %d sets of a process that has died", n);
        check_state(whole, "running");
        n = 3;
        ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_REPLACE, &bound, 1, info, names, &n));
        ET_CHECK(n == 3 && names[0][0] && names[1][0], "SC6: the next one makes %d sets", n);
        notify_joining(names[1], names[2]);
    }
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Bcast(names, sizeof(names), MPI_BYTE, 0, comm));
    ET_MPI(MPIX_Session_pset_included(session, names[0], &leaves));
    ET_CHECK(leaves == (rank == 1), "SC6: rank %d is to leave: %d", rank, leaves);
    ET_MPI(MPI_Comm_free(&comm));
    if (leaves)
        finish();
    comm = connect_set(names[2], "whole");
    ET_MPI(MPI_Comm_free(&comm));
}

static const struct {
    const char *name;
    void (*run) (void);
} cases[] = {
    {"disconnect", case_disconnect}, {"freed", case_freed}, {"declined", case_declined},
        {"orphaned", case_orphaned}, {"asker", case_asker}, {"replaced", case_replaced}
};

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "case", "");
    pset_name delta;

    et_options(&argc, &argv);
    if (!strcmp(what, "replaced") && uid_of_process() == 2)
        raise(SIGKILL);
    if (!strcmp(what, "asker") && uid_of_process() == 2)        /* not there when its asker ends */
        et_sleep_ms(2000);
    open_session();
    if (is_joining_process(delta))
        join(delta);
    comm = connect_set("mpi://WORLD", "launch");
    ET_MPI(MPI_Comm_rank(comm, &rank));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (!strcmp(cases[i].name, what))
            cases[i].run();
    ET_MPI(MPI_Session_finalize(&session));
    et_log("PASS session_awaited");
    return 0;
}
