/*
 * SR1, SR4, SR7, SR8, SO6, SO8, SA2, SA3, SE1, SN2, SN4, SI4, SW1: who may answer a change, and how
 * often; what all processes agree on.  Run by 3 processes; --case
 *   changes  two additions of two processes: the first one is declined, the second taken by whoever
 *            is quickest
 *   leaves   rank 2 is to leave, and knows it
 *   adapt    MPI_Init_adapt in a job that changes through process sets
 *   other    the same, where only another process has stated so
 *   full     as many sets as there can be
 */

#include "session_changes.h"

#define SETS_MAX 65536

static MPI_Comm comm;
static int rank;

static void check_wrong_tags(int tag)
{
    ET_ERROR(MPIX_Session_rc_accept(session, tag, MPI_INFO_NULL), MPI_ERR_ARG, "tag");
    ET_ERROR(MPIX_Session_rc_decline(session, tag), MPI_ERR_ARG, "tag");
}

/* SE1 */
static void check_arguments(void)
{
    pset_name delta;
    MPI_Info info;
    int type, tag, flag;

    ET_ERROR(MPIX_Session_rc_test(session, "", &flag), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_rc_test(session, "app://nobody", &flag), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_rc_test(session, NULL, NULL), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_rc_get(session, NULL, NULL, delta, &tag, &info), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_rc_get(session, NULL, &type, delta, &tag, NULL), MPI_ERR_ARG, NULL);
    check_wrong_tags(77);
    check_wrong_tags(-1);
}

/* SN4: it can be read and worked with, but it is not agreed on.  A set that was made of it gives a
 * group if nobody ends meanwhile. */
static void check_all(int least, int nobody_ends)
{
    MPI_Group group;
    MPI_Info info;
    pset_name value, made;

    ET_MPI(MPI_Session_get_pset_info(session, "mpix://ALL", &info));
    ET_CHECK(value_of(info, "mpi_size", value) && atoi(value) >= least, "SN4: %s processes", value);
    ET_MPI(MPI_Info_free(&info));
    ET_ERROR(MPI_Group_from_session_pset(session, "mpix://ALL", &group), MPI_ERR_ARG, NULL);
    make_set(MPIX_PSETOP_UNION, "mpix://ALL", "mpi://SELF", made);
    if (!nobody_ends)
        return;
    ET_MPI(MPI_Group_from_session_pset(session, made, &group));
    ET_MPI(MPI_Group_free(&group));
}

/* SO6: in the group's order. */
static void check_order(void)
{
    MPI_Group world, reversed, again;
    pset_name made;
    int result;

    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    ET_MPI(MPI_Group_incl(world, 3, (const int[]) {2, 1, 0}, &reversed));
    ET_MPI(MPIX_Session_pset_from_group(session, reversed, MPI_INFO_NULL, made));
    ET_MPI(MPI_Group_from_session_pset(session, made, &again));
    ET_MPI(MPI_Group_compare(reversed, again, &result));
    ET_CHECK(result == MPI_IDENT, "SO6: the order of %s is another one", made);
    ET_MPI(MPI_Group_free(&again));
    ET_MPI(MPI_Group_free(&reversed));
    ET_MPI(MPI_Group_free(&world));
}

/* Rank 0 is notified of the first addition and declines it, as nobody else may. */
static void decline_first(void)
{
    struct change change = { 0 };
    MPI_Group group;

    if (rank == 0)
        change = await_change(NULL);
    MPI_Info info = change.info;
    ET_MPI(MPI_Bcast(&change, sizeof(change), MPI_BYTE, 0, comm));
    if (rank > 0) {
        struct change none = get_change(NULL);
        ET_CHECK(none.type == MPIX_RC_NONE, "SR4: it is notified twice");
        check_wrong_tags(change.tag);
        ET_ERROR(MPIX_Session_pset_free(session, change.delta), MPI_ERR_ARG, change.delta);
    }
    ET_MPI(MPI_Barrier(comm));
    if (rank > 0)
        return;
    check_wrong_tags(change.tag + 1);
    check_state(change.delta, "proposed");
    change.info = info;
    decline_change(&change);
    check_wrong_tags(change.tag);
    ET_ERROR(MPI_Group_from_session_pset(session, change.delta, &group), MPI_ERR_ARG, change.delta);
}

/* SA2: all query, one is notified; all accept, one may. */
static void race(pset_name whole)
{
    struct change change = { 0 };
    int notified = 0, sum = 0, tag, teller, accepted;

    while (sum == 0) {
        change = get_change(NULL);
        notified = change.type != MPIX_RC_NONE;
        ET_MPI(MPI_Allreduce(&notified, &sum, 1, MPI_INT, MPI_SUM, comm));
    }
    ET_CHECK(sum == 1, "SA2: %d processes have been notified", sum);
    int mine = notified ? rank : -1;
    ET_MPI(MPI_Allreduce(&mine, &teller, 1, MPI_INT, MPI_MAX, comm));
    MPI_Info info = change.info;
    ET_MPI(MPI_Bcast(&change, sizeof(change), MPI_BYTE, teller, comm));
    tag = change.tag;
    if (notified)
        set_after("mpi://WORLD", &change, whole);
    ET_MPI(MPI_Bcast(whole, sizeof(pset_name), MPI_BYTE, teller, comm));
    if (notified) {
        change.info = info;
        accept_change(&change, "app_set", whole);
        accepted = 1;
        check_wrong_tags(tag);  /* SR7: once */
    } else {
        accepted = MPIX_Session_rc_accept(session, tag, MPI_INFO_NULL) == MPI_SUCCESS;
    }
    ET_MPI(MPI_Allreduce(&accepted, &sum, 1, MPI_INT, MPI_SUM, comm));
    ET_CHECK(sum == 1, "SA2: %d processes have accepted", sum);
}

/* SA3: each has the position in the set that all others think it has. */
static void check_members(const char *set)
{
    MPI_Comm all = connect_set(set, "all");
    MPI_Group group;
    pset_name value;
    int size, position, own, uids[8];

    ET_MPI(MPI_Comm_size(all, &size));
    ET_CHECK(size == 5, "%d processes", size);
    ET_CHECK(session_value("mpidynres_process_id", value), "no mpidynres_process_id");
    own = atoi(value);
    ET_MPI(MPI_Allgather(&own, 1, MPI_INT, uids, 1, MPI_INT, all));
    ET_MPI(MPI_Group_from_session_pset(session, set, &group));
    ET_MPI(MPI_Group_rank(group, &position));
    ET_MPI(MPI_Group_free(&group));
    ET_CHECK(uids[position] == own, "SA3: uid %d at position %d of %s", uids[position], position,
             set);
    ET_MPI(MPI_Barrier(all));   /* who ends ends the set */
    ET_MPI(MPI_Comm_free(&all));
}

/* SN2: a joining process' world is its delta, and stays so. */
static void join(const char *delta)
{
    MPI_Group world, own;
    pset_name set;
    int result;

    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    ET_MPI(MPI_Group_from_session_pset(session, delta, &own));
    ET_MPI(MPI_Group_compare(world, own, &result));
    ET_CHECK(result == MPI_IDENT, "SN2: mpi://WORLD is not %s", delta);
    ET_MPI(MPI_Group_free(&world));
    ET_MPI(MPI_Group_free(&own));
    ET_CHECK(session_value("app_set", set), "SR7: the keys of the accept");
    check_members(set);
    ET_MPI(MPI_Session_finalize(&session));
    exit(0);
}

static void case_changes(void)
{
    pset_name whole;

    check_arguments();
    check_order();
    check_all(3, 1);
    ET_MPI(MPI_Barrier(comm));
    decline_first();
    race(whole);
    check_members(whole);
    check_all(3, 0);
    ET_MPI(MPI_Barrier(comm));
}

static int is_to_leave(void)
{
    pset_name value;

    ET_CHECK(session_value("mpidynres_pending_shutdown", value),
             "SI4: no mpidynres_pending_shutdown");
    return !strcmp(value, "yes");
}

static void case_leaves(void)
{
    struct change change = { 0 };

    ET_CHECK(!is_to_leave(), "nothing has been notified");
    ET_MPI(MPI_Barrier(comm));
    if (rank == 0)
        change = await_change(NULL);
    ET_MPI(MPI_Barrier(comm));
    ET_CHECK(is_to_leave() == (rank == 2), "SI4: rank %d", rank);
    int tag = change.tag;
    ET_MPI(MPI_Bcast(&tag, 1, MPI_INT, 0, comm));
    if (rank > 0)
        check_wrong_tags(tag);
    ET_MPI(MPI_Barrier(comm));
    if (rank > 0)
        return;
    accept_change(&change, NULL, NULL);
    check_wrong_tags(tag);      /* SR7: once */
}

static void case_adapt(int *argc, char ***argv)
{
    int status;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    ET_ERROR(MPI_Init_adapt(argc, argv, &status), MPI_ERR_OTHER, "process sets");
    check_all(1, 0);
}

/* One process states that the job changes through sets, and the others are notified of that. */
static void case_other(int *argc, char ***argv)
{
    int flag;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    comm = connect_set("mpi://WORLD", "launch");
    ET_MPI(MPI_Comm_rank(comm, &rank));
    if (rank == 0)
        ET_MPI(MPIX_Session_rc_test(session, NULL, &flag));
    ET_MPI(MPI_Barrier(comm));
    case_adapt(argc, argv);
}

/* SO9: beyond that nothing has changed, and when one is freed there is space for one. */
static void case_full(void)
{
    const char *world = "mpi://WORLD";
    pset_name made = "", last;
    int n, error = MPI_SUCCESS, count = -1;

    while (rank == 0 && error == MPI_SUCCESS) {
        ET_CHECK(++count <= SETS_MAX, "SO9: %d sets", count);
        strcpy(last, made);
        n = 1;
        error =
            MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &world, 1, MPI_INFO_NULL, &made, &n);
    }
    if (rank > 0) {
        ET_MPI(MPI_Barrier(comm));
        return;
    }
    ET_ERROR(error, MPI_ERR_NO_MEM, "free those that are not used");
    ET_CHECK(count > SETS_MAX - 16, "SO9: only %d sets", count);
    check_state(last, "running");
    ET_MPI(MPIX_Session_pset_free(session, last));
    n = 1;
    ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &world, 1, MPI_INFO_NULL, &made, &n));
    ET_MPI(MPI_Barrier(comm));
}

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "case", "changes");
    pset_name delta;

    et_options(&argc, &argv);
    if (strcmp(what, "other")) {
        open_session();
        if (is_joining_process(delta))
            join(delta);
        comm = connect_set("mpi://WORLD", "launch");
        ET_MPI(MPI_Comm_rank(comm, &rank));
    }
    if (!strcmp(what, "other"))
        case_other(&argc, &argv);
    else if (!strcmp(what, "changes"))
        case_changes();
    else if (!strcmp(what, "leaves"))
        case_leaves();
    else if (!strcmp(what, "adapt"))
        case_adapt(&argc, &argv);
    else
        case_full();
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_errors");
    return 0;
}
