/*
 * SC1, SC2, SI2, SI4, SN3: every routine of libmpidynres' interface, used as its programs do, by
 * the processes of a launch of 2.  Changes are dynres_changes' and the example's.
 */

#include "elastic_test.h"
#include "mpidynres_sim.h"

static int rank, entered;
static MPI_Session session;

/* The published types and values. */
static int (*const init)(MPI_Info, MPI_Errhandler, MPI_Session *) = MPI_Session_init;
static int (*const finalize)(MPI_Session *) = MPI_Session_finalize;
static int (*const get_info)(MPI_Session, MPI_Info *) = MPI_Session_get_info;
static int (*const get_psets)(MPI_Session, MPI_Info, MPI_Info *) = MPI_Session_get_psets;
static int (*const get_pset_info)(MPI_Session, char const *, MPI_Info *) =
    MPI_Session_get_pset_info;
static int (*const from_pset)(MPI_Session, const char *, MPI_Group *) = MPI_Group_from_session_pset;
static int (*const from_group)(MPI_Group, const char *, MPI_Info, MPI_Errhandler, MPI_Comm *) =
    MPI_Comm_create_from_group;
static int (*const create_op)(MPI_Session, MPI_Info, char const[], char const[], MPIDYNRES_pset_op,
                              char[]) = MPIDYNRES_pset_create_op;
static int (*const pset_free)(MPI_Session, char[]) = MPIDYNRES_pset_free;
static int (*const rc_get)(MPI_Session, MPIDYNRES_RC_type *, char[], MPIDYNRES_RC_tag *,
                           MPI_Info *) = MPIDYNRES_RC_get;
static int (*const rc_accept)(MPI_Session, MPIDYNRES_RC_tag, MPI_Info) = MPIDYNRES_RC_accept;
static int (*const add_hints)(MPI_Session, MPI_Info, MPI_Info *) = MPIDYNRES_add_scheduling_hints;
static int (*const from_strings)(size_t, char const *const[], MPI_Info *) =
    MPIDYNRES_Info_create_strings;

static int value_is(MPI_Info info, const char *key, const char *expected)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag;

    ET_MPI(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    return flag && !strcmp(value, expected);
}

static int has_key(MPI_Info info, const char *key)
{
    int length, flag;

    ET_MPI(MPI_Info_get_valuelen(info, key, &length, &flag));
    return flag;
}

static void check_values(void)
{
    ET_CHECK(MPIDYNRES_PSET_UNION == 0 && MPIDYNRES_PSET_INTERSECT == 1 &&
             MPIDYNRES_PSET_DIFFERENCE == 2, "SC1");
    ET_CHECK(MPIDYNRES_RC_NONE == 0 && MPIDYNRES_RC_ADD == 1 && MPIDYNRES_RC_SUB == 2, "SC1");
    ET_CHECK(MPIDYNRES_NO_ORIGIN_RC_TAG == -1 && MPIDYNRES_INVALID_SESSION_ID == INT_MAX, "SC1");
    ET_CHECK(MPI_MAX_PSET_NAME_LEN == MPI_MAX_INFO_KEY && MPI_SESSION_NULL == NULL, "SC1");
}

static void check_strings(void)
{
    const char *const pairs[] = { "colour", "blue", "size", "7" };
    MPI_Info info;
    int n;

    ET_MPI(from_strings(4, pairs, &info));
    ET_MPI(MPI_Info_get_nkeys(info, &n));
    ET_CHECK(n == 2 && value_is(info, "colour", "blue") &&
             value_is(info, "size", "7"), "%d keys", n);
    ET_MPI(MPI_Info_free(&info));
    ET_CHECK(from_strings(3, pairs, &info) != 0 &&
             info == MPI_INFO_NULL, "SC1: three strings are two pairs");
}

/* SI4; the error handler is not called. */
static void check_session(void)
{
    const char *const given[] = { "colour", "blue" };
    MPI_Session none = MPI_SESSION_NULL;
    MPI_Info info;
    char id[16];

    ET_MPI(from_strings(2, given, &info));
    ET_MPI(init(info, MPI_ERRORS_ARE_FATAL, &session));
    ET_MPI(MPI_Info_free(&info));
    ET_CHECK(session != MPI_SESSION_NULL &&
             session->session_id != MPIDYNRES_INVALID_SESSION_ID, "SC1: no session");
    ET_CHECK(value_is(session->info, "colour", "blue"), "SC1: what was given is not stored");
    ET_MPI(get_info(session, &info));
    snprintf(id, sizeof(id), "%d", rank);
    ET_CHECK(value_is(info, "colour", "blue") && value_is(info, "mpidynres", "yes"), "SI4");
    ET_CHECK(value_is(info, "mpidynres_process_id", id) &&
             value_is(info, "mpidynres_dynamic_start", "no"), "SI4");
    ET_CHECK(value_is(info, "mpidynres_origin_rc_tag", "-1"), "SI4");
    ET_MPI(MPI_Info_free(&info));
    ET_CHECK(get_info(none, &info) != 0 && info == MPI_INFO_NULL, "SC1: info of no session");
    ET_CHECK(finalize(&none) == 0, "SC1: no session cannot be finalised");
}

static MPI_Comm connect(const char *set, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;

    ET_MPI(from_pset(session, set, &group));
    ET_MPI(from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    ET_MPI(MPI_Group_free(&group));
    return comm;
}

static void check_sets(void)
{
    char mine[MPI_MAX_PSET_NAME_LEN] =
        "mpi://SELF", rest[MPI_MAX_PSET_NAME_LEN], proposed[MPI_MAX_PSET_NAME_LEN];
    const char *const hints[] = { "mpidynres_proposed_name", rank ? "app://one" : "app://zero" };
    MPI_Info sets, info;
    MPI_Group group;

    ET_MPI(get_psets(session, MPI_INFO_NULL, &sets));
    ET_CHECK(value_is(sets, "mpi://WORLD", "2") && value_is(sets, "mpi://SELF", "1"), "SI2");
    ET_MPI(MPI_Info_free(&sets));

    /* the result may replace an operand */
    ET_MPI(create_op(session, MPI_INFO_NULL, mine, "mpi://WORLD", MPIDYNRES_PSET_INTERSECT, mine));
    ET_CHECK(!strncmp(mine, "mpidynres://op_", 15), "SN3: %s", mine);
    ET_MPI(get_psets(session, MPI_INFO_NULL, &sets));
    ET_CHECK(value_is(sets, mine, "1"), "SN3: %s is not listed by this name", mine);
    ET_MPI(MPI_Info_free(&sets));
    ET_MPI(create_op(session, MPI_INFO_NULL, "mpi://WORLD", mine, MPIDYNRES_PSET_DIFFERENCE, rest));
    ET_MPI(get_pset_info(session, rest, &info));
    ET_CHECK(value_is(info, "mpi_size", "1") && value_is(info, "mpidynres_name", rest), "SI3");
    ET_CHECK(value_is(info, "mpidynres_op", "difference") &&
             value_is(info, "mpidynres_op_parent1", "mpi://WORLD") &&
             value_is(info, "mpidynres_op_parent2", mine), "SI3: what it was made of");
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(from_strings(2, hints, &info));
    ET_MPI(create_op(session, info, mine, rest, MPIDYNRES_PSET_UNION, proposed));
    ET_CHECK(!strcmp(proposed, hints[1]), "SN6: %s", proposed);
    ET_MPI(MPI_Info_free(&info));

    ET_MPI(pset_free(session, rest));
    ET_CHECK(pset_free(session, rest) != 0, "SO8: freed twice");
    ET_MPI(get_pset_info(session, rest, &info));
    ET_CHECK(info == MPI_INFO_NULL, "SC1: a set that was freed is described");
    ET_CHECK(from_pset(session, rest, &group) != 0 &&
             group == MPI_GROUP_EMPTY, "SC1: a freed set gives a group");
    ET_CHECK(create_op(session, MPI_INFO_NULL, mine, rest, MPIDYNRES_PSET_UNION, proposed) != 0 &&
             !proposed[0], "SO5");
    ET_MPI(pset_free(session, mine));
}

static void check_comms(void)
{
    MPI_Comm comm = connect("mpi://WORLD", NULL), other = connect("mpi://world", "tag");
    MPI_Errhandler handler;
    int size, sum = 0, one = 1;

    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other));
    ET_CHECK(size == 2 && sum == 2, "%d processes, %d", size, sum);
    ET_MPI(MPI_Comm_get_errhandler(comm, &handler));
    ET_CHECK(handler == MPI_ERRORS_RETURN, "SC1: the communicator has another error handler");
    ET_MPI(MPI_Errhandler_free(&handler));
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Comm_free(&other));
}

/* SR2, as in SC1. */
static void check_no_change(void)
{
    char delta[MPI_MAX_PSET_NAME_LEN] = "untouched";
    MPIDYNRES_RC_type type;
    MPIDYNRES_RC_tag tag;
    MPI_Info info;

    ET_MPI(rc_get(session, &type, delta, &tag, &info));
    ET_CHECK(type == MPIDYNRES_RC_NONE && tag == -1 && info == MPI_INFO_NULL &&
             !delta[0], "SR2: %d %s", type, delta);
    ET_CHECK(rc_accept(session, tag, MPI_INFO_NULL) != 0, "SR7: no change was accepted");
    ET_CHECK(rc_accept(session, 77, MPI_INFO_NULL) != 0,
             "SR7: a change that is not there was accepted");
}

/* No resource manager and no policy: nobody answers (SR10). */
static void check_hints(void)
{
    const char *const wanted[] = { "mpix_size_max", "4" };
    MPI_Info hints, answer;

    ET_MPI(from_strings(2, wanted, &hints));
    ET_MPI(add_hints(session, hints, &answer));
    ET_CHECK(answer == MPI_INFO_NULL, "SR10: somebody answers");
    ET_MPI(MPI_Info_free(&hints));
}

static void leave(void)
{
    ET_MPI(finalize(&session));
    ET_CHECK(session == MPI_SESSION_NULL, "SC1: the session is still there");
    MPIDYNRES_exit();
}

static int program(int argc, char **argv)
{
    ET_CHECK(argc == 2 && !strcmp(argv[1], "argument"), "SC2: %d arguments", argc);
    entered++;
    check_values();
    check_strings();
    check_session();
    check_sets();
    check_comms();
    check_no_change();
    check_hints();
    leave();
    ET_CHECK(0, "SC2: MPIDYNRES_exit has returned");
    return 0;
}

int main(int argc, char **argv)
{
    const char *const manager[] = { "manager_initial_number", "1" };
    MPIDYNRES_SIM_config config;

    ET_MPI(MPI_Init(&argc, &argv));
    ET_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    ET_MPI(MPIDYNRES_SIM_get_default_config(&config));
    ET_CHECK(config.base_communicator == MPI_COMM_WORLD &&
             config.manager_config == MPI_INFO_NULL, "SC2");
    ET_MPI(from_strings(2, manager, &config.manager_config));
    ET_MPI(MPIDYNRES_SIM_start(config, argc, argv, program));
    ET_CHECK(entered == 1, "SC2: the program ran %d times", entered);
    ET_MPI(MPI_Info_free(&config.manager_config));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    ET_MPI(MPI_Finalize());
    if (rank == 0)
        et_log("PASS dynres_calls");
    return 0;
}
