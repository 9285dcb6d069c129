/*
 * SR1, SR3, SR4, SR7, SR9, SR11, SJ1, SJ2, SI5, SI8, SL1: a program with sessions only that grows
 * and shrinks through process sets.  The first process of its set requests changes and notifies the
 * others, who follow with a new set and communicator; whoever is to leave ends.  --epochs N
 * changes; --size S at the end.  --world 1, SW3: after MPI_Init, whose MPI_COMM_WORLD is the start
 * group for ever; --world 2: MPI_Init comes after the first session.
 */

#include "session_changes.h"

struct news {
    int leaves;                 /* who is in the delta, ends */
    pset_name delta, set;
};

/* SJ2: a joining process is notified of its delta in three ways.  The set that this process belongs
 * to; returns the epoch in which it starts. */
static int find_set(pset_name set)
{
    MPI_Info info;
    pset_name delta, value;
    int dynamic = is_joining_process(delta);
    const char *expected = dynamic ? "mpix://rc/" : "mpi://WORLD";

    ET_CHECK(!strncmp(delta, expected, strlen(expected)), "SI5: %s", delta);
    ET_MPI(MPI_Session_get_pset_info(session, "mpi://WORLD", &info));
    ET_CHECK(value_of(info, "mpi_dyn", value) &&
             dynamic == !strcmp(value, "True"), "mpi_dyn is %s", value);
    ET_MPI(MPI_Info_free(&info));
    ET_CHECK(session_value("app_set", set) == dynamic, "SR7: the keys of the accept");
    if (!dynamic)
        strcpy(set, "mpi://WORLD");
    return dynamic && session_value("mpidynres_origin_rc_tag", value) ? atoi(value) : 0;
}

static MPI_Comm connect_epoch(const char *set, int epoch)
{
    char tag[32];

    snprintf(tag, sizeof(tag), "epoch %d", epoch);
    return connect_set(set, tag);
}

static struct news take_change(const char *set, int size)
{
    struct news news;
    pset_name value;
    struct change change = await_change(set);

    ET_CHECK(value_of(change.info, "mpix_old_size", value) &&
             atoi(value) == size, "SR11: %s of %d", value, size);
    news.leaves = change.type == MPIX_RC_SUB;
    strcpy(news.delta, change.delta);
    set_after(set, &change, news.set);
    accept_change(&change, "app_set", news.set);
    return news;
}

static int world_size;          /* 0: there is no world */

static void open_world(int *argc, char ***argv)
{
    ET_MPI(MPI_Init(argc, argv));
    ET_MPI(MPI_Comm_size(MPI_COMM_WORLD, &world_size));
    et_exercise(MPI_COMM_WORLD, "the start group");
}

/* SW3: it has the processes of mpi://WORLD, in that order. */
static void check_world(void)
{
    MPI_Group world, set;
    int result;

    ET_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &set));
    ET_MPI(MPI_Group_compare(world, set, &result));
    ET_CHECK(result == MPI_IDENT, "SW3: MPI_COMM_WORLD is not mpi://WORLD");
    ET_MPI(MPI_Group_free(&world));
    ET_MPI(MPI_Group_free(&set));
}

static void finish(void)
{
    int size;

    ET_MPI(MPI_Session_finalize(&session));
    if (!world_size)
        return;
    ET_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
    ET_CHECK(size == world_size, "SW3: MPI_COMM_WORLD has %d processes, and had %d", size,
             world_size);
    ET_MPI(MPI_Finalize());
}

int main(int argc, char **argv)
{
    int epochs = et_number(argc, argv, "epochs", 0), last = et_number(argc, argv, "size", 0);
    int world = et_number(argc, argv, "world", 0), rank, size, leaves = 0;
    struct news news;
    pset_name set;

    if (world == 1)
        open_world(&argc, &argv);
    open_session();
    if (world == 2)
        open_world(&argc, &argv);
    if (world)
        check_world();
    int epoch = find_set(set);
    MPI_Comm comm = connect_epoch(set, epoch);
    while (epoch++ < epochs) {
        ET_MPI(MPI_Comm_rank(comm, &rank));
        ET_MPI(MPI_Comm_size(comm, &size));
        if (rank == 0)
            news = take_change(set, size);
        ET_MPI(MPI_Bcast(&news, sizeof(news), MPI_BYTE, 0, comm));
        if (news.leaves)
            ET_MPI(MPIX_Session_pset_included(session, news.delta, &leaves));
        ET_MPI(MPI_Comm_free(&comm));
        if (leaves) {
            finish();
            return 0;
        }
        strcpy(set, news.set);
        comm = connect_epoch(set, epoch);
    }
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_CHECK(size == last, "%d processes at the end", size);
    ET_MPI(MPI_Comm_free(&comm));
    finish();
    if (rank == 0)
        et_log("PASS session_grows size=%d", size);
    return 0;
}
