/*
 * SA1: a name that all processes request at once is one question of each proxy; the test counts
 * them.  Rank 0 makes --sets N sets and prints their names (--epochs N: takes so many additions and
 * prints the names of the new main sets); then all read them, at the same time.  Rank 0 prints
 * READY before and LOOKED after that, and goes on when the files `go` and `end` are there.
 */

#include "session_changes.h"

static MPI_Comm all;
static int rank, size;

static void know_all(void)
{
    ET_MPI(MPI_Comm_rank(all, &rank));
    ET_MPI(MPI_Comm_size(all, &size));
}

static void log_and_wait(const char *word, const char *file)
{
    ET_MPI(MPI_Barrier(all));
    if (rank == 0) {
        et_log("%s", word);
        et_await_file(file);
    }
    ET_MPI(MPI_Barrier(all));
}

/* Of the last n processes. */
static void make_of_last(int n, pset_name made)
{
    MPI_Group world, last;
    int range[1][3] = { {size - n, size - 1, 1} };

    ET_MPI(MPI_Comm_group(all, &world));
    ET_MPI(MPI_Group_range_incl(world, 1, range, &last));
    ET_MPI(MPIX_Session_pset_from_group(session, last, MPI_INFO_NULL, made));
    ET_MPI(MPI_Group_free(&last));
    ET_MPI(MPI_Group_free(&world));
}

static void query(const char *name, int members)
{
    MPI_Group group;
    int n, included;

    ET_MPI(MPI_Group_from_session_pset(session, name, &group));
    ET_MPI(MPI_Group_size(group, &n));
    ET_CHECK(n == members, "%s has %d members, not %d", name, n, members);
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPIX_Session_pset_included(session, name, &included));
    ET_CHECK(included == (rank >= size - members), "included in %s: %d", name, included);
}

static void query_sets(int sets)
{
    pset_name name;

    for (int i = 0; i < sets; i++) {
        if (rank == 0)
            make_of_last(1 + i % size, name);
        ET_MPI(MPI_Bcast(name, sizeof(name), MPI_BYTE, 0, all));
        ET_MPI(MPI_Barrier(all));
        query(name, 1 + i % size);
    }
}

static MPI_Comm connect_epoch(const char *set, int epoch)
{
    char tag[32];

    snprintf(tag, sizeof(tag), "epoch %d", epoch);
    return connect_set(set, tag);
}

static void grow(pset_name set)
{
    pset_name next;

    if (rank == 0) {
        struct change change = await_change(set);
        set_after(set, &change, next);
        accept_change(&change, "app_set", next);
    }
    ET_MPI(MPI_Bcast(next, sizeof(next), MPI_BYTE, 0, all));
    ET_MPI(MPI_Comm_free(&all));
    strcpy(set, next);
}

int main(int argc, char **argv)
{
    int sets = (int) et_number(argc, argv, "sets", 0), epochs =
        (int) et_number(argc, argv, "epochs", 0), epoch = 0;
    pset_name set, delta, tag;

    open_session();
    if (is_joining_process(delta)) {
        session_value("mpidynres_origin_rc_tag", tag);
        epoch = atoi(tag);
    }
    if (!session_value("app_set", set))
        strcpy(set, "mpi://WORLD");
    all = connect_epoch(set, epoch);
    know_all();
    if (epoch == 0) {
        if (rank == 0)
            make_of_last(size, delta);  /* from the first set on mpiexec can be queried */
        log_and_wait("READY", "go");
    }
    query_sets(sets);
    while (epoch++ < epochs) {
        grow(set);
        all = connect_epoch(set, epoch);
        know_all();
    }
    et_exercise(all, "all");
    log_and_wait("LOOKED", "end");
    ET_MPI(MPI_Comm_free(&all));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_fresh");
    return 0;
}
