/*
 * SW2: process sets in a world that is adapted.  In each epoch rank 0 makes a set of all, in turned
 * order, and one of itself; all know the members by their present ranks.  A set of an earlier epoch
 * is ended if a member has left, and has the same processes otherwise.  mpix://WORLD/E stays.
 */

#include "elastic_test.h"

static MPI_Session session;

typedef char pset_name[MPI_MAX_PSET_NAME_LEN];

static void name_of(pset_name name, const char *what, int epoch)
{
    snprintf(name, MPI_MAX_PSET_NAME_LEN, "app://%s/%d", what, epoch);
}

static void make_set(const char *proposed, int n, const int *ranks)
{
    MPI_Group world, group;
    MPI_Info info;
    pset_name made;

    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    ET_MPI(MPI_Group_incl(world, n, ranks, &group));
    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "mpix_name", proposed));
    ET_MPI(MPIX_Session_pset_from_group(session, group, info, made));
    ET_CHECK(!strcmp(made, proposed), "%s is called %s", proposed, made);
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Group_free(&world));
}

/* Member i has rank (first + i) % size. */
static void check_turned(const char *name, int first)
{
    MPI_Group world, group;
    int size, included;

    ET_MPI(MPI_Group_from_session_pset(session, name, &group));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    ET_MPI(MPI_Group_size(group, &size));
    ET_CHECK(size == et.size, "%s has %d of %d", name, size, et.size);
    for (int i = 0; i < size; i++) {
        int rank;
        ET_MPI(MPI_Group_translate_ranks(group, 1, &i, world, &rank));
        ET_CHECK(rank == (first + i) % size, "member %d of %s has rank %d", i, name, rank);
    }
    ET_MPI(MPIX_Session_pset_included(session, name, &included));
    ET_CHECK(included, "%s does not hold this process", name);
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Group_free(&world));
}

/* The set of epoch `before`: its processes that have left the world have ended. */
static void check_before(int before)
{
    pset_name name;
    MPI_Group all = MPI_GROUP_NULL, world, common;
    int running, size, left;

    name_of(name, "all", before);
    ET_MPI(MPIX_Session_pset_exists(session, name, &running, NULL));
    int error = MPI_Group_from_session_pset(session, name, &all);
    if (!running) {
        ET_ERROR(error, MPI_ERR_PROC_ABORTED, name);
        return;
    }
    ET_MPI(error);
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
    ET_MPI(MPI_Group_intersection(all, world, &common));
    ET_MPI(MPI_Group_size(all, &size));
    ET_MPI(MPI_Group_size(common, &left));
    ET_CHECK(size == left, "%d of %d processes of %s are in the world", left, size, name);
    ET_MPI(MPI_Group_free(&common));
    ET_MPI(MPI_Group_free(&world));
    ET_MPI(MPI_Group_free(&all));
}

/* SB1: counted in each world from the start. */
static void pass_text(void)
{
    char expected[32], text[32];
    int calls = 0, longest, given = 0;

    snprintf(expected, sizeof(expected), "text %d", et.epoch);
    do {
        int gives = et.rank == 0 && ++given == 3;
        snprintf(text, sizeof(text), "%s", gives ? expected : "");
        ET_MPI(MPIX_Session_bcast_pset_info(session, "mpi://WORLD", text, sizeof(text), gives));
        calls++;
    } while (!text[0]);
    ET_CHECK(!strcmp(text, expected), "'%s' in epoch %d", text, et.epoch);
    ET_MPI(MPI_Allreduce(&calls, &longest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    ET_CHECK(calls == longest, "the text came in call %d and in call %d", calls, longest);
}

static void use_sets(void)
{
    pset_name name, data_key;
    int ranks[64], primary;
    MPI_Info data;
    const char *key = data_key;

    ET_CHECK(et.size <= 64, "size %d", et.size);
    for (int i = 0; i < et.size; i++)
        ranks[i] = (i + 1) % et.size;
    name_of(name, "all", et.epoch);
    if (et.rank == 0)
        make_set(name, et.size, ranks);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    check_turned(name, 1);
    ET_MPI(MPIX_Session_get_primary_process(session, name, &primary));
    ET_CHECK(primary == (et.rank == 1 % et.size), "primary of %s: %d", name, primary);

    /* a round of the present world, whoever has queried how often before */
    snprintf(data_key, sizeof(data_key), "key%d", et.epoch);
    if (et.rank == et.size - 1) {
        ET_MPI(MPI_Info_create(&data));
        ET_MPI(MPI_Info_set(data, key, "here"));
        ET_MPI(MPIX_Session_set_pset_data(session, "mpi://WORLD", data));
        ET_MPI(MPI_Info_free(&data));
    }
    ET_MPI(MPIX_Session_get_pset_data(session, "mpi://WORLD", "mpi://WORLD", &key, 1, 1, &data));
    ET_MPI(MPI_Info_free(&data));

    pass_text();

    snprintf(name, sizeof(name), "mpix://WORLD/%d", et.epoch);
    check_turned(name, 0);
    for (int before = 0; before < et.epoch; before++)
        check_before(before);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void window(void)
{
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    if (et.epoch == 0 && et.status == MPI_ADAPT_STATUS_NEW)
        use_sets();
    et.window = window;
    et.after = use_sets;
    et_loop();
    ET_MPI(MPI_Session_finalize(&session));
    return et_finish();
}
