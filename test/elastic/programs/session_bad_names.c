/*
 * SN5, SN6, SN7, SE1: names that are too long, that are not printable, and that are the library's.
 * As a size request they are no error and not given; nobody can move a set to one; to all others no
 * set is called so.  The longest name that there may be works everywhere.  Run by 2 processes.
 */

#include "session_changes.h"

#define LONGEST (MPI_MAX_PSET_NAME_LEN - 2)     /* 254 characters */

static MPI_Comm all;
static int rank;
static char too_long[LONGEST + 2], far_too_long[4096];

static const char *const bad[] = {
    too_long, far_too_long, "app://a b", "app://a\tb", "app://\001", "app://\177", "app://\303\251",
        " app://a",
    "app://a ", "plain", "app:/a", "app://", "://a", "mpi://mine", "MPI://mine", "mpix://mine",
        "mpix://op/",
    "mpix://op/0.4294967297", "mpix://op/-1.1", "mpix://rc/-1", "mpix://rc/99999999999999999999",
    "mpix://WORLD/4294967296", "mpidynres://op_", "mpidynres://mine", "mpi:/WORLD", "mpi://WORLD/",
        "mpi://WORL"
};

enum { BAD = sizeof(bad) / sizeof(bad[0]) };

static void fill(char *name, size_t length)
{
    memset(name, 'a', length);
    memcpy(name, "app://", 6);
    name[length] = '\0';
}

/* By rank 0 of itself, with this size request. */
static void size_info(const char *name, pset_name made)
{
    const char *self = "mpi://SELF";
    MPI_Info info;
    int n = 1;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "mpix_name", name));
    ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &self, 1, info, (pset_name *) made,
                                &n));
    ET_CHECK(n == 1, "%d sets", n);
    ET_MPI(MPI_Info_free(&info));
}

static void check_not_given(const char *name)
{
    pset_name made;

    if (strlen(name) > MPI_MAX_INFO_VAL)
        return;
    size_info(name, made);
    ET_CHECK(!strncmp(made, "mpix://op/", 10), "SN6: '%s' was given", made);
    ET_MPI(MPIX_Session_pset_free(session, made));
}

/* As an operand, for data, for texts, for changes. */
static void check_not_used(const char *name)
{
    const char *operands[] = { "mpi://SELF", name }, *key = "key";
    pset_name made = "untouched", text = "";
    MPI_Info data;
    int n = 1, flag, type, tag;

    ET_ERROR(MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, operands, 2, MPI_INFO_NULL, &made,
                                  &n), MPI_ERR_ARG,
             NULL);
    ET_CHECK(!made[0], "SO5: the name is %s", made);
    ET_MPI(MPI_Info_create(&data));
    ET_MPI(MPI_Info_set(data, key, "value"));
    ET_ERROR(MPIX_Session_set_pset_data(session, name, data), MPI_ERR_ARG, NULL);
    ET_MPI(MPI_Info_free(&data));
    ET_ERROR(MPIX_Session_get_pset_data(session, "mpi://SELF", name, &key, 1, 0, &data),
             MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_get_pset_data(session, name, "mpi://WORLD", &key, 1, 0, &data),
             MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_bcast_pset_info(session, name, text, sizeof(text), 0), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_rc_test(session, name, &flag), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_rc_get(session, name, &type, made, &tag, &data), MPI_ERR_ARG, NULL);
}

static void check_unknown(const char *name)
{
    MPI_Group group;
    MPI_Info info;
    int flag;

    ET_ERROR(MPI_Group_from_session_pset(session, name, &group), MPI_ERR_ARG, NULL);
    ET_CHECK(group == MPI_GROUP_EMPTY, "SI7: no MPI_GROUP_EMPTY for '%s'", name);
    ET_ERROR(MPI_Session_get_pset_info(session, name, &info), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_pset_included(session, name, &flag), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_get_primary_process(session, name, &flag), MPI_ERR_ARG, NULL);
    ET_MPI(MPIX_Session_pset_exists(session, name, &flag, NULL));
    ET_CHECK(!flag, "SI6: '%s' is there", name);
    ET_ERROR(MPIX_Session_pset_free(session, name), MPI_ERR_ARG, NULL);
}

static void check_not_moved(const char *name)
{
    pset_name made, next;

    size_info("app://mover", made);
    ET_ERROR(MPIX_Session_pset_move(session, made, name), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_pset_move(session, name, "app://moved"), MPI_ERR_ARG, NULL);
    check_state(made, "running");
    ET_MPI(MPIX_Session_pset_free(session, made));
    size_info("app://moved", next);
    ET_CHECK(!strcmp(next, "app://moved"), "'%s' has been moved", name);
    ET_MPI(MPIX_Session_pset_free(session, next));
}

static int count_listed(void)
{
    int n;

    ET_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    return n;
}

/* By each call, and from a buffer that is just long enough. */
static void check_longest(void)
{
    pset_name name, made, listed;
    int length = MPI_MAX_PSET_NAME_LEN, flag;
    MPI_Info info, psets;
    pset_name value;

    fill(name, LONGEST);
    size_info(name, made);
    ET_CHECK(!strcmp(made, name), "SN5: a name of %d characters is not given: %s", LONGEST, made);
    check_state(name, "running");
    ET_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, count_listed() - 1, &length, listed));
    ET_CHECK(!strcmp(listed, name), "SI1: %s is the last one", listed);
    ET_MPI(MPIX_Session_get_psets(session, MPI_INFO_NULL, &psets));
    ET_CHECK(value_of(psets, name, value) && atoi(value) == 1, "SI2: it is not listed");
    ET_MPI(MPI_Info_free(&psets));
    ET_MPI(MPI_Session_get_pset_info(session, name, &info));
    ET_CHECK(value_of(info, "mpidynres_name", value) &&
             !strcmp(value, name), "SI3: it is called %s", value);
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPIX_Session_rc_test(session, name, &flag));
    MPI_Comm self = connect_set(name, name);
    ET_MPI(MPI_Comm_free(&self));
    ET_MPI(MPIX_Session_pset_move(session, name, "app://short"));
    ET_MPI(MPIX_Session_pset_move(session, "app://short", name));
    check_state(name, "running");
    ET_MPI(MPIX_Session_pset_free(session, name));
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    fill(too_long, LONGEST + 1);
    fill(far_too_long, sizeof(far_too_long) - 1);
    open_session();
    all = connect_set("mpi://WORLD", "bad names");
    ET_MPI(MPI_Comm_rank(all, &rank));
    for (int i = 0; rank == 0 && i < BAD; i++) {
        check_unknown(bad[i]);
        check_not_used(bad[i]);
        check_not_given(bad[i]);
        check_not_moved(bad[i]);
    }
    if (rank == 0) {
        check_unknown("%s%n://%s%n");
        check_not_used("%s%n://%s%n");
        check_longest();
    }
    ET_MPI(MPI_Barrier(all));
    ET_MPI(MPI_Comm_free(&all));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_bad_names");
    return 0;
}
