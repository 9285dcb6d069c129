/*
 * SX4 (SN1, SN7, SI1, SI7, SE1): the names of static Sessions, how they are listed, queried and
 * refused.  The sets that mpiexec's --pset names are given as --sets NAME,SIZE,LOW (LOW: lowest
 * rank): those that hold the caller come after the predefined ones.  Run by N processes without a
 * world.
 */

#include "elastic_test.h"

static MPI_Session session;

static int size_of_group(const char *name)
{
    MPI_Group group;
    int size;

    ET_MPI(MPI_Group_from_session_pset(session, name, &group));
    ET_MPI(MPI_Group_size(group, &size));
    ET_MPI(MPI_Group_free(&group));
    return size;
}

static void value_of(const char *name, const char *key, char *value)
{
    MPI_Info info;
    int flag;

    ET_MPI(MPI_Session_get_pset_info(session, name, &info));
    ET_MPI(MPI_Info_get(info, key, 31, value, &flag));
    ET_CHECK(flag, "%s has no key %s", name, key);
    ET_MPI(MPI_Info_free(&info));
}

static void check_listed(int n, const char *expected)
{
    char name[MPI_MAX_PSET_NAME_LEN], cut[5] = "";
    int length = 0, bytes = sizeof(name), few = sizeof(cut);

    ET_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL));
    ET_CHECK(length == (int) strlen(expected) + 1, "set %d: length %d", n, length);
    ET_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &bytes, name));
    ET_CHECK(!strcmp(name, expected), "set %d is %s, not %s", n, name, expected);
    ET_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &few, cut));
    ET_CHECK(strlen(cut) == 4 && !strncmp(cut, expected, 4), "set %d cut: %s", n, cut);
}

static void check_unknown(const char *name)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Info info;

    ET_ERROR(MPI_Group_from_session_pset(session, name, &group), MPI_ERR_ARG, "no process set");
    ET_CHECK(group == MPI_GROUP_EMPTY, "the group of '%s' is not MPI_GROUP_EMPTY", name);
    ET_ERROR(MPI_Session_get_pset_info(session, name, &info), MPI_ERR_ARG, "no process set");
}

static void check_predefined(int size)
{
    static const char *const spellings[] = { "mpi://WORLD", "mpi://world", "MPI://World" };
    char value[32];

    check_listed(0, "mpi://WORLD");
    check_listed(1, "mpi://SELF");
    check_listed(2, "mpi://SHARED");
    for (int i = 0; i < 3; i++) {
        ET_CHECK(size_of_group(spellings[i]) == size, "%s has the wrong size", spellings[i]);
        value_of(spellings[i], "mpi_size", value);
        ET_CHECK(atoi(value) == size, "%s: mpi_size %s", spellings[i], value);
    }
    ET_CHECK(size_of_group("mpi://self") == 1, "mpi://self has the wrong size");
    ET_CHECK(size_of_group("Mpi://Shared") == size, "all processes of this test are on one host");
    value_of("mpi://WORLD", "mpi_included", value);
    ET_CHECK(!strcmp(value, "True"), "mpi_included %s", value);
    value_of("mpi://self", "mpi_primary", value);
    ET_CHECK(!strcmp(value, "True"), "mpi_primary %s", value);
}

/* NAME,SIZE,LOW: ranks LOW ... LOW+SIZE-1 are in it.  Returns its position in the list if this
 * process is. */
static int check_set(const char *text, int rank, int position)
{
    char name[MPI_MAX_PSET_NAME_LEN], other[MPI_MAX_PSET_NAME_LEN], value[32];
    int size, low;

    ET_CHECK(sscanf(text, "%255[^,],%d,%d", name, &size, &low) == 3, "--sets %s", text);
    ET_CHECK(size_of_group(name) == size, "%s has %d members", name, size_of_group(name));
    value_of(name, "mpi_included", value);
    int mine = rank >= low && rank < low + size;
    ET_CHECK(!strcmp(value, mine ? "True" : "False"), "%s: mpi_included %s", name, value);
    value_of(name, "mpi_primary", value);
    ET_CHECK(!strcmp(value, rank == low ? "True" : "False"), "%s: mpi_primary %s", name, value);
    /* user's names are compared exactly */
    strcpy(other, name);
    other[0] = (char) (other[0] - 'a' + 'A');
    check_unknown(other);
    if (mine)
        check_listed(position, name);
    return mine;
}

/* A set is ended for those who still read it when one of its processes has ended (SI7). */
static void wait_for_all(void)
{
    MPI_Group group;
    MPI_Comm comm;

    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    ET_MPI(MPI_Comm_create_from_group(group, "end", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    ET_MPI(MPI_Barrier(comm));
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
    char sets[1024], *rest = sets;
    int n, length = 0, position = 3, size, rank;
    MPI_Group group;
    MPI_Session closed;

    snprintf(sets, sizeof(sets), "%s", et_argument(argc, argv, "sets", ""));
    size = (int) et_number(argc, argv, "size", 1);
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    ET_MPI(MPI_Group_rank(group, &rank));
    ET_MPI(MPI_Group_free(&group));

    check_predefined(size);
    for (char *text = strtok_r(rest, ";", &rest); text; text = strtok_r(NULL, ";", &rest))
        position += check_set(text, rank, position);
    ET_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    ET_CHECK(n == position, "%d sets, expected %d", n, position);
    ET_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, NULL), MPI_ERR_ARG,
             "pset");
    ET_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n + 100, &length, NULL), MPI_ERR_ARG,
             "pset");
    ET_ERROR(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, NULL), MPI_ERR_ARG,
             NULL);
    check_unknown("");
    check_unknown("mpi://WORL");
    check_unknown("mpi://WORLDS");
    check_unknown("app://nobody");

    wait_for_all();
    closed = session;
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Session_finalize(&closed));
    ET_CHECK(closed == MPI_SESSION_NULL, "the handle is not null after MPI_Session_finalize");
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_names");
    return 0;
}
