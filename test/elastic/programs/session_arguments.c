/*
 * SE1: every routine that has a session, called with MPI_SESSION_NULL, with a session that was
 * finalised, and with NULL where a result or a name is wanted: an error of its class, by the
 * session's handler or, where there is no session, by that of MPI_COMM_WORLD, and of MPI_COMM_SELF
 * where there is no world; and nothing has changed.  --world 1: after MPI_Init.  --manager 0: under
 * a launcher that knows no sets.
 */

#include "elastic_test.h"

#define NOTHING (-1)
#define WORLD "mpi://WORLD"

typedef char pset_name[MPI_MAX_PSET_NAME_LEN];

static struct {
    MPI_Info info;
    MPI_Group group;
    MPI_Errhandler errhandler;
    MPI_Request request;
    pset_name names[3];
    char **list;
    int a, b, n;
} out;
static MPI_Info data;           /* a key and a value */
static const char *operands[] = { WORLD, "mpi://SELF" }, *keys[] = { "key" };

/* The value for argument i, or NULL if that one is missing. */
#define GIVE(i, value) (missing == (i) ? NULL : (value))

/* ---- of MPI 4.0 ------------------------------------------------------------------------------ */

static int get_info(MPI_Session session, int missing)
{
    return MPI_Session_get_info(session, GIVE(0, &out.info));
}

static int get_num_psets(MPI_Session session, int missing)
{
    return MPI_Session_get_num_psets(session, MPI_INFO_NULL, GIVE(0, &out.n));
}

static int get_nth_pset(MPI_Session session, int missing)
{
    out.n = MPI_MAX_PSET_NAME_LEN;
    return MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, GIVE(0, &out.n),
                                    GIVE(1, out.names[0]));
}

static int get_pset_info(MPI_Session session, int missing)
{
    return MPI_Session_get_pset_info(session, GIVE(0, WORLD), GIVE(1, &out.info));
}

static int group_from_pset(MPI_Session session, int missing)
{
    return MPI_Group_from_session_pset(session, GIVE(0, WORLD), GIVE(1, &out.group));
}

static int get_errhandler(MPI_Session session, int missing)
{
    return MPI_Session_get_errhandler(session, GIVE(0, &out.errhandler));
}

static int set_errhandler(MPI_Session session, int missing)
{
    (void) missing;
    return MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN);
}

/* ---- sets ------------------------------------------------------------------------------------ */

static int get_psets(MPI_Session session, int missing)
{
    return MPIX_Session_get_psets(session, MPI_INFO_NULL, GIVE(0, &out.info));
}

static int get_default_pset(MPI_Session session, int missing)
{
    return MPIX_Session_get_default_pset(session, GIVE(0, out.names[0]), GIVE(1, &out.a));
}

static int get_primary(MPI_Session session, int missing)
{
    return MPIX_Session_get_primary_process(session, GIVE(0, WORLD), GIVE(1, &out.a));
}

static int pset_op(MPI_Session session, int missing)
{
    out.n = 1;
    return MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, GIVE(0, operands), 2, MPI_INFO_NULL,
                                GIVE(1, out.names), GIVE(2, &out.n));
}

static int pset_op_of_null(MPI_Session session, int missing)
{
    const char *two[] = { WORLD, GIVE(0, WORLD) };

    out.n = 1;
    return MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, two, 2, MPI_INFO_NULL, out.names,
                                &out.n);
}

static int pset_from_group(MPI_Session session, int missing)
{
    return MPIX_Session_pset_from_group(session, MPI_GROUP_EMPTY, MPI_INFO_NULL,
                                        GIVE(0, out.names[0]));
}

static int pset_move(MPI_Session session, int missing)
{
    return MPIX_Session_pset_move(session, GIVE(0, "app://one"), GIVE(1, "app://two"));
}

static int pset_free(MPI_Session session, int missing)
{
    return MPIX_Session_pset_free(session, GIVE(0, "app://one"));
}

static int pset_included(MPI_Session session, int missing)
{
    return MPIX_Session_pset_included(session, GIVE(0, WORLD), GIVE(1, &out.a));
}

static int pset_exists(MPI_Session session, int missing)
{
    return MPIX_Session_pset_exists(session, GIVE(0, WORLD), GIVE(1, &out.a), NULL);
}

/* ---- what belongs to sets -------------------------------------------------------------------- */

static int set_pset_data(MPI_Session session, int missing)
{
    return MPIX_Session_set_pset_data(session, GIVE(0, WORLD), data);
}

static int get_pset_data(MPI_Session session, int missing)
{
    return MPIX_Session_get_pset_data(session, GIVE(0, "mpi://SELF"), GIVE(1, WORLD), GIVE(2, keys),
                                      1, 0, GIVE(3, &out.info));
}

static int iget_pset_data(MPI_Session session, int missing)
{
    return MPIX_Session_iget_pset_data(session, GIVE(0, "mpi://SELF"), GIVE(1, WORLD),
                                       GIVE(2, keys), 1, 0,
                                       GIVE(3, &out.info), GIVE(4, &out.request));
}

static int bcast_pset_info(MPI_Session session, int missing)
{
    out.names[0][0] = '\0';
    return MPIX_Session_bcast_pset_info(session, GIVE(0, WORLD), GIVE(1, out.names[0]), 16, 0);
}

/* ---- changes --------------------------------------------------------------------------------- */

static int rc_test(MPI_Session session, int missing)
{
    return MPIX_Session_rc_test(session, NULL, GIVE(0, &out.a));
}

static int rc_get(MPI_Session session, int missing)
{
    return MPIX_Session_rc_get(session, NULL, GIVE(0, &out.a), GIVE(1, out.names[0]),
                               GIVE(2, &out.b), GIVE(3, &out.info));
}

static int rc_accept(MPI_Session session, int missing)
{
    (void) missing;
    return MPIX_Session_rc_accept(session, 1, MPI_INFO_NULL);
}

static int rc_decline(MPI_Session session, int missing)
{
    (void) missing;
    return MPIX_Session_rc_decline(session, 1);
}

static int add_hints(MPI_Session session, int missing)
{
    return MPIX_Session_add_scheduling_hints(session, data, GIVE(0, &out.info));
}

static int get_pset_op(MPI_Session session, int missing)
{
    out.n = 3;
    return MPIX_Session_get_pset_op(session, GIVE(0, "mpi://SELF"), GIVE(1, WORLD), GIVE(2, &out.a),
                                    GIVE(3, out.names), GIVE(4, &out.n));
}

static int iget_pset_op(MPI_Session session, int missing)
{
    return MPIX_Session_iget_pset_op(session, GIVE(0, "mpi://SELF"), GIVE(1, WORLD),
                                     GIVE(2, &out.a),
                                     GIVE(3, &out.list), GIVE(4, &out.n), GIVE(5, &out.request));
}

static int ipset_op(MPI_Session session, int missing)
{
    out.a = MPIX_PSETOP_ADD;
    return MPIX_Session_ipset_op(session, GIVE(0, &out.a), GIVE(1, operands), 1, MPI_INFO_NULL,
                                 GIVE(2, &out.list), GIVE(3, &out.n), GIVE(4, &out.request));
}

static int finish_pset_op(MPI_Session session, int missing)
{
    return MPIX_Session_finish_pset_op(session, GIVE(0, WORLD));
}

/* In the order of their first use; the number of arguments that GIVE counts. */
static const struct {
    const char *name;
    int (*call) (MPI_Session, int);
    int arguments;
} routines[] = {
    {"get_info", get_info, 1}, {"get_num_psets", get_num_psets, 1},
    {"get_nth_pset", get_nth_pset, 2},
    {"get_pset_info", get_pset_info, 2}, {"group_from_pset", group_from_pset, 2},
    {"get_errhandler", get_errhandler, 1}, {"set_errhandler", set_errhandler, 0},
    {"get_psets", get_psets, 1},
    {"get_default_pset", get_default_pset, 2}, {"get_primary", get_primary, 2},
    {"pset_op", pset_op, 3},
    {"pset_op_of_null", pset_op_of_null, 1}, {"pset_from_group", pset_from_group, 1},
    {"pset_move", pset_move, 2}, {"pset_free", pset_free, 1}, {"pset_included", pset_included, 2},
    {"pset_exists", pset_exists, 2},
    {"set_pset_data", set_pset_data, 1}, {"get_pset_data", get_pset_data, 4},
    {"iget_pset_data", iget_pset_data, 5},
    {"bcast_pset_info", bcast_pset_info, 2}, {"rc_test", rc_test, 1}, {"rc_get", rc_get, 4},
    {"rc_accept", rc_accept, 0}, {"rc_decline", rc_decline, 0}, {"add_hints", add_hints, 1},
    {"get_pset_op", get_pset_op, 5}, {"iget_pset_op", iget_pset_op, 6}, {"ipset_op", ipset_op, 5},
    {"finish_pset_op", finish_pset_op, 1}
};
enum { ROUTINES = sizeof(routines) / sizeof(routines[0]) };

static int handled, handled_without;

static void handler(MPI_Session * session, int *error, ...)
{
    (void) session, (void) error;
    handled++;
}

static void handler_without(MPI_Comm * comm, int *error, ...)
{
    (void) comm, (void) error;
    handled_without++;
}

static void expect_class(int i, int missing, int error, int expected)
{
    int class;

    ET_MPI(MPI_Error_class(error, &class));
    ET_CHECK(class == expected, "%s, argument %d: class %d, not %d", routines[i].name, missing,
             class, expected);
}

static int count_psets(MPI_Session session)
{
    int n;

    ET_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    return n;
}

static void check_no_session(MPI_Session closed)
{
    MPI_Session none = MPI_SESSION_NULL;

    for (int i = 0; i < ROUTINES; i++) {
        int before = handled_without;
        expect_class(i, NOTHING, routines[i].call(MPI_SESSION_NULL, NOTHING), MPI_ERR_SESSION);
        expect_class(i, NOTHING, routines[i].call(closed, NOTHING), MPI_ERR_SESSION);
        ET_CHECK(handled_without == before + 2, "%s: the handler of no session was called %d times",
                 routines[i].name, handled_without - before);
    }
    ET_ERROR(MPI_Session_finalize(&none), MPI_ERR_SESSION, NULL);
    ET_ERROR(MPI_Session_finalize(NULL), MPI_ERR_ARG, NULL);
    ET_ERROR(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL), MPI_ERR_ARG, NULL);
}

static void check_missing(MPI_Session session)
{
    for (int i = 0; i < ROUTINES; i++) {
        for (int missing = 0; missing < routines[i].arguments; missing++) {
            int before = handled;
            expect_class(i, missing, routines[i].call(session, missing), MPI_ERR_ARG);
            ET_CHECK(handled == before + 1,
                     "%s, argument %d: the session's handler was called %d times", routines[i].name,
                     missing, handled - before);
        }
    }
    ET_ERROR(MPIX_Session_bcast_pset_info(session, WORLD, out.names[0], -1, 0), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_set_pset_data(session, WORLD, MPI_INFO_NULL), MPI_ERR_INFO, NULL);
}

/* A process that makes sets, writes their data or waits for it gets at once that nobody knows
 * them. */
static void check_no_sets(MPI_Session session)
{
    const int ops[] = { MPIX_PSETOP_UNION, MPIX_PSETOP_DIFFERENCE, MPIX_PSETOP_INTERSECTION };
    const int refused = MPI_ERR_UNSUPPORTED_OPERATION;
    char text[16] = "";
    MPI_Group group;

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        out.n = 1;
        ET_ERROR(MPIX_Session_pset_op(session, ops[i], operands, 2, MPI_INFO_NULL, out.names,
                                      &out.n), refused,
                 "mpiexec");
        ET_CHECK(!out.names[0][0], "operation %d has given %s", ops[i], out.names[0]);
    }
    ET_MPI(MPI_Group_from_session_pset(session, WORLD, &group));
    ET_ERROR(MPIX_Session_pset_from_group(session, group, MPI_INFO_NULL, out.names[0]), refused,
             "mpiexec");
    ET_MPI(MPI_Group_free(&group));
    ET_ERROR(MPIX_Session_pset_move(session, "app://one", "app://two"), refused, "mpiexec");
    ET_ERROR(MPIX_Session_pset_free(session, "app://one"), refused, "mpiexec");
    ET_ERROR(MPIX_Session_set_pset_data(session, WORLD, data), refused, "mpiexec");
    ET_ERROR(MPIX_Session_get_pset_data(session, WORLD, WORLD, keys, 1, 1, &out.info), refused,
             "mpiexec");
    ET_ERROR(MPIX_Session_bcast_pset_info(session, WORLD, text, sizeof(text), 0), refused,
             "mpiexec");
    ET_ERROR(MPIX_Session_rc_accept(session, 1, MPI_INFO_NULL), refused, "mpiexec");
    ET_ERROR(MPIX_Session_rc_decline(session, 1), refused, "mpiexec");
    ET_ERROR(MPI_Group_from_session_pset(session, "app://one", &group), MPI_ERR_ARG, NULL);
    ET_MPI(MPIX_Session_pset_exists(session, "app://one", &out.a, NULL));
    ET_CHECK(!out.a, "app://one is there");
}

/* Nobody changes who is there: that is reported, and is no error. */
static void check_no_manager(MPI_Session session)
{
    const int ops[] =
        { MPIX_PSETOP_ADD, MPIX_PSETOP_SUB, MPIX_PSETOP_GROW, MPIX_PSETOP_SHRINK,
        MPIX_PSETOP_REPLACE, MPIX_PSETOP_MALLEABLE
    };

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        out.n = 3;
        ET_MPI(MPIX_Session_pset_op(session, ops[i], operands, 1, data, out.names, &out.n));
        ET_CHECK(out.n == 0, "operation %d has given %d names", ops[i], out.n);
        out.a = ops[i];
        ET_MPI(MPIX_Session_ipset_op(session, &out.a, operands, 1, data, &out.list, &out.n,
                                     &out.request));
        ET_MPI(MPI_Wait(&out.request, MPI_STATUS_IGNORE));
        ET_CHECK(out.a == MPIX_PSETOP_NULL &&
                 out.n == 0, "operation %d: %d with %d names", ops[i], out.a, out.n);
    }
    out.a = out.b = 7;
    ET_MPI(MPIX_Session_rc_get(session, NULL, &out.a, out.names[0], &out.b, &out.info));
    ET_CHECK(out.a == MPIX_RC_NONE && out.b == -1 && !out.names[0][0] &&
             out.info == MPI_INFO_NULL, "type %d", out.a);
    ET_MPI(MPIX_Session_rc_test(session, NULL, &out.a));
    ET_CHECK(!out.a, "there is a change");
    ET_MPI(MPIX_Session_add_scheduling_hints(session, data, &out.info));
    ET_CHECK(out.info == MPI_INFO_NULL, "somebody answers");
    ET_MPI(MPIX_Session_pset_included(session, WORLD, &out.a));
    ET_CHECK(out.a == 1, "not in the own world");
    ET_MPI(MPIX_Session_pset_exists(session, WORLD, &out.a, NULL));
    ET_CHECK(out.a == 1, "the own world does not run");
    ET_MPI(MPIX_Session_get_psets(session, MPI_INFO_NULL, &out.info));
    ET_MPI(MPI_Info_get_nkeys(out.info, &out.n));
    ET_CHECK(out.n == 3, "%d sets", out.n);
    ET_MPI(MPI_Info_free(&out.info));
}

/* Errors without a session are this communicator's. */
static MPI_Comm open_world(int *argc, char ***argv, int world)
{
    if (!world)
        return MPI_COMM_SELF;
    ET_MPI(MPI_Init(argc, argv));
    return MPI_COMM_WORLD;
}

/* The processes of the launch; all of them end together. */
static void rendezvous(MPI_Session session, int *rank, int *size)
{
    MPI_Group group;
    MPI_Comm comm;

    ET_MPI(MPI_Group_from_session_pset(session, WORLD, &group));
    ET_MPI(MPI_Comm_create_from_group(group, "rendezvous", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                      &comm));
    ET_MPI(MPI_Comm_rank(comm, rank));
    ET_MPI(MPI_Comm_size(comm, size));
    ET_MPI(MPI_Barrier(comm));
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
    int manager = (int) et_number(argc, argv, "manager", 1), world =
        (int) et_number(argc, argv, "world", 0);
    int rank, size;
    MPI_Session session, closed, other;
    MPI_Errhandler errhandler, without;
    MPI_Comm comm = open_world(&argc, &argv, world);

    ET_MPI(MPI_Session_create_errhandler(handler, &errhandler));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &closed));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, errhandler, &session));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other));
    ET_MPI(MPI_Comm_create_errhandler(handler_without, &without));
    ET_MPI(MPI_Comm_set_errhandler(comm, without));
    ET_MPI(MPI_Info_create(&data));
    ET_MPI(MPI_Info_set(data, "mpi_num_procs_add", "1"));
    ET_MPI(MPI_Info_set(data, "mpi_num_procs_sub", "1"));
    out.request = MPI_REQUEST_NULL;
    int before = count_psets(session);
    MPI_Session copy = closed;
    ET_MPI(MPI_Session_finalize(&closed));
    check_no_session(copy);
    check_missing(session);
    ET_CHECK(count_psets(session) == before, "SE1: there were %d sets, and are %d", before,
             count_psets(session));
    if (!manager) {
        check_no_manager(session);
        check_no_sets(session);
    }
    rendezvous(session, &rank, &size);
    ET_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL));
    ET_MPI(MPI_Errhandler_free(&errhandler));
    ET_MPI(MPI_Errhandler_free(&without));
    ET_MPI(MPI_Info_free(&data));
    ET_MPI(MPI_Session_finalize(&other));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_arguments size=%d", size);
    if (world)
        ET_MPI(MPI_Finalize());
    return 0;
}
