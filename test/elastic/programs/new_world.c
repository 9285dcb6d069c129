/*
 * C2: after commit everything agrees on the new world: rank, size, group, compare, split_type,
 * predefined attributes, name, processor names, mpi://WORLD and the communicators made from it.
 */

#include "elastic_test.h"

static int launch_appnum = -1;

static void group_agrees(void)
{
    MPI_Group group, own;
    MPI_Comm copy, made;
    int result = -1, rank, size, *ranks, *same;

    ET_MPI(MPI_Comm_group(MPI_COMM_WORLD, &group));
    ET_MPI(MPI_Group_rank(group, &rank));
    ET_MPI(MPI_Group_size(group, &size));
    ET_CHECK(rank == et.rank && size == et.size, "the group has %d of %d", rank, size);
    ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    ET_MPI(MPI_Comm_compare(MPI_COMM_WORLD, copy, &result));
    ET_CHECK(result == MPI_CONGRUENT, "compare with a copy gives %d", result);
    ET_MPI(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result));
    ET_CHECK(result == MPI_IDENT, "compare with itself gives %d", result);
    ET_MPI(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result));
    ET_CHECK(result == (et.size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL),
             "compare with MPI_COMM_SELF gives %d", result);
    ET_MPI(MPI_Comm_group(MPI_COMM_SELF, &own));
    int zero = 0, mapped = -1;
    ET_MPI(MPI_Group_translate_ranks(own, 1, &zero, group, &mapped));
    ET_CHECK(mapped == et.rank, "I am rank %d by translation", mapped);
    ranks = calloc((size_t) size, sizeof(int));
    same = calloc((size_t) size, sizeof(int));
    for (int i = 0; i < size; i++)
        ranks[i] = size - 1 - i;
    ET_MPI(MPI_Comm_create(MPI_COMM_WORLD, group, &made));
    MPI_Group made_group;
    ET_MPI(MPI_Comm_group(made, &made_group));
    ET_MPI(MPI_Group_translate_ranks(group, size, ranks, made_group, same));
    for (int i = 0; i < size; i++)
        ET_CHECK(same[i] == ranks[i], "rank %d becomes %d", ranks[i], same[i]);
    free(ranks);
    free(same);
    ET_MPI(MPI_Group_free(&made_group));
    ET_MPI(MPI_Group_free(&own));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Comm_free(&made));
    ET_MPI(MPI_Comm_free(&copy));
}

static void nodes_agree(void)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "", *names;
    int length, size, local = 0;
    MPI_Comm node;

    /* with simulated hosts one machine holds several nodes: then only the sum can be checked */
    ET_MPI(MPI_Get_processor_name(name, &length));
    names = calloc((size_t) et.size, sizeof(name));
    ET_MPI(MPI_Allgather(name, sizeof(name), MPI_CHAR, names, sizeof(name), MPI_CHAR,
                         MPI_COMM_WORLD));
    for (int i = 0; i < et.size; i++)
        local += strcmp(names + i * (int) sizeof(name), name) == 0;
    free(names);
    ET_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    ET_MPI(MPI_Comm_size(node, &size));
    if (getenv("ET_HOSTS"))
        ET_CHECK(size <= local, "%d on my node, only %d on my machine", size, local);
    else
        ET_CHECK(size == local, "%d on my node, %d on my machine", size, local);
    et_exercise(node, "my node");
    ET_MPI(MPI_Comm_free(&node));
}

static void attributes_agree(void)
{
    int *value = NULL, flag = 0, mine[2], least[2], most[2];

    ET_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    mine[0] = flag ? *value : -1;
    ET_CHECK(!flag || *value >= et.size, "universe of %d in a world of %d", *value, et.size);
    ET_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
    mine[1] = flag ? *value : -1;
    ET_MPI(MPI_Allreduce(mine, least, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    ET_MPI(MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    ET_CHECK(least[0] == most[0], "MPI_UNIVERSE_SIZE is %d to %d", least[0], most[0]);
    ET_CHECK(least[1] == most[1], "MPI_APPNUM is %d to %d", least[1], most[1]);
    ET_CHECK(launch_appnum < 0 || mine[1] == launch_appnum, "MPI_APPNUM was %d, is %d",
             launch_appnum, mine[1]);
    ET_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    ET_CHECK(flag && *value >= (1 << 28) - 1, "no MPI_TAG_UB, or too small");
    ET_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
    ET_CHECK(flag, "no MPI_WTIME_IS_GLOBAL");
}

static void session_agrees(void)
{
    MPI_Session session;
    MPI_Group group, world;
    MPI_Comm comm;
    int result = -1;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    ET_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    ET_MPI(MPI_Group_compare(group, world, &result));
    ET_CHECK(result == MPI_IDENT, "mpi://WORLD is not MPI_COMM_WORLD's group: %d", result);
    ET_MPI(MPI_Comm_create_from_group(group, "new_world", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                      &comm));
    et_exercise(comm, "a communicator of mpi://WORLD");
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Group_free(&world));
    ET_MPI(MPI_Session_finalize(&session));
}

static void after(void)
{
    int rank, size;

    ET_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    ET_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    ET_CHECK(rank == et.rank && size == et.size, "%d of %d", rank, size);
    group_agrees();
    nodes_agree();
    attributes_agree();
    session_agrees();
}

int main(int argc, char **argv)
{
    int *value, flag;

    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        ET_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
        if (flag)
            launch_appnum = *value;
        after();
    }
    et.after = after;
    return et_run();
}
