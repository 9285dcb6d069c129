/*
 * SC4: every routine of the working group's proposal, by the processes of a launch of 3, with the
 * names from mpi.h. Changes are the example's.
 */

#define MPIX_DYN_NAMES
#include "elastic_test.h"

static MPI_Session session;
static MPI_Comm all;
static int rank;

static int value_is(MPI_Info info, const char *key, const char *expected)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag;

    ET_MPI(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    return flag && !strcmp(value, expected);
}

static void check_values(void)
{
    ET_CHECK(MPI_RC_NONE == 0 && MPI_RC_ADD == 1 && MPI_RC_SUB == 2, "SC4");
    ET_CHECK(MPI_PSET_OP_UNION == 7 && MPI_PSET_OP_DIFFERENCE == 8 &&
             MPI_PSET_OP_INTERSECTION == 9, "SC4");
}

/* Without a session argument: the oldest one, whoever has opened it. */
static void check_oldest(void)
{
    MPI_Session oldest, second, third;
    int included;

    ET_MPI(MPIX_Session_get_oldest(&oldest));
    ET_CHECK(oldest == MPI_SESSION_NULL, "there is a session");
    ET_MPI(MPI_Session_create(&session));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &third));
    ET_MPI(MPIX_Session_get_oldest(&oldest));
    ET_CHECK(oldest == session, "SC4: another session is the oldest");
    ET_MPI(MPI_Session_finalize(&session));
    ET_MPI(MPIX_Session_get_oldest(&oldest));
    ET_CHECK(oldest == second, "SC4: another session is the oldest");
    included = MPI_Session_Pset_IsProcessIncluded("mpi://SELF");
    ET_CHECK(included == 1, "SC4: not in mpi://SELF");
    session = second;
    ET_MPI(MPI_Session_finalize(&third));
}

static void connect(void)
{
    char set[MPI_MAX_PSET_NAME_LEN];
    MPI_Group group;
    int dynamic;

    ET_MPI(MPI_Session_get_default_pset(set, &dynamic));
    ET_CHECK(!strcmp(set, "mpi://WORLD") && !dynamic, "SI5: %s", set);
    ET_MPI(MPI_Group_from_session_pset(session, set, &group));
    ET_MPI(MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Comm_rank(all, &rank));
}

static void check_sets(void)
{
    const char *const operands[] = { "mpi://WORLD", "mpi://SELF", NULL };
    char rest[MPI_MAX_PSET_NAME_LEN] = "";
    int flag;
    MPI_Info info;

    ET_MPI(MPI_Session_get_primary_process("mpi://WORLD", &flag));
    ET_CHECK(flag == (rank == 0), "primary: %d", flag);
    if (rank == 1)
        ET_MPI(MPI_Session_Dyn_pset_create_op(session, MPI_PSET_OP_DIFFERENCE, operands, rest));
    ET_MPI(MPI_Bcast(rest, sizeof(rest), MPI_CHAR, 1, all));
    ET_CHECK(MPI_Session_Pset_IsProcessIncluded(rest) == (rank != 1), "SC4: included in %s", rest);
    ET_MPI(MPI_Barrier(all));
    if (rank == 2)
        ET_MPI(MPI_Session_Dyn_pset_move(rest, "app://rest"));
    ET_MPI(MPI_Barrier(all));
    ET_MPI(MPI_Session_Test_Exists("app://rest", &flag, &info));
    ET_CHECK(flag &&
             value_is(info, "mpi_size", "2"), "SI6: app://rest is %s there", flag ? "" : "not");
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Session_Test_Exists(rest, &flag, NULL));
    ET_CHECK(!flag, "SO7: %s is there", rest);
}

/* The first process to get the info waits until there is some. */
static void check_info(void)
{
    MPI_Info info;

    if (rank == 0) {
        ET_MPI(MPI_Info_create(&info));
        ET_MPI(MPI_Info_set(info, "colour", "blue"));
        ET_MPI(MPI_Info_set(info, "shape", "round"));
        et_sleep_ms(20);
        ET_MPI(MPI_Session_Set_PSet_Info(session, "app://rest", info));
        ET_MPI(MPI_Info_free(&info));
    }
    ET_MPI(MPI_Session_Get_PSet_Info(session, "app://rest", &info));
    ET_CHECK(value_is(info, "colour", "blue") &&
             value_is(info, "shape", "round"), "SC4: what was set");
    ET_CHECK(value_is(info, "mpi_size", "2"), "SC4: SI3");
    ET_CHECK(value_is(info, "mpi_included", rank == 1 ? "False" : "True"), "SC4: SI3");
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Barrier(all));
    if (rank == 0)
        ET_MPI(MPI_Session_Dyn_pset_delete("app://rest"));
    ET_MPI(MPI_Barrier(all));
    ET_ERROR(MPI_Session_Get_PSet_Info(session, "app://rest", &info), MPI_ERR_ARG, "app://rest");
}

static void check_bcast(void)
{
    char text[MPI_MAX_PSET_NAME_LEN];
    int calls = 0;

    do {
        strcpy(text, rank == 0 && calls == 2 ? "news" : "");
        ET_MPI(MPI_Session_bcast_PSet_info("mpi://WORLD", text, rank == 0));
        ET_CHECK(++calls < 1000000, "SB1: the text does not come");
    } while (!text[0]);
    ET_CHECK(!strcmp(text, "news"), "SB1: %s", text);
    int least, greatest;
    ET_MPI(MPI_Allreduce(&calls, &least, 1, MPI_INT, MPI_MIN, all));
    ET_MPI(MPI_Allreduce(&calls, &greatest, 1, MPI_INT, MPI_MAX, all));
    ET_CHECK(least == greatest, "SB1: in calls %d to %d", least, greatest);
}

static void check_no_change(void)
{
    char delta[MPI_MAX_PSET_NAME_LEN] = "untouched";
    int flag = 7, type = 7, status = 7;

    ET_MPI(MPI_Session_Dyn_Test_res_change(session, "mpi://WORLD", &flag));
    ET_MPI(MPI_Session_Dyn_Recv_res_change(session, "mpi://WORLD", &type, delta, &status));
    ET_CHECK(!flag && type == MPI_RC_NONE && !delta[0] &&
             status == -1, "SR2: %d %d %s %d", flag, type, delta, status);
}

int main(int argc, char **argv)
{
    (void) argc, (void) argv;
    check_values();
    check_oldest();
    connect();
    check_sets();
    check_info();
    check_bcast();
    check_no_change();
    ET_MPI(MPI_Barrier(all));
    ET_MPI(MPI_Comm_free(&all));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS proposal_calls");
    return 0;
}
