/*
 * A process need not repeat a query about a set until its reply becomes wrong: after a message
 * about a change it does not use the old reply.  SA1, SI3, SI6, SI7, SO7, SO8, SL1.  The last
 * process ends before the others, with whatever it remembers; its proxy, too, if there are several.
 * Run by 3 processes or more.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE             /* RUSAGE_THREAD */
#endif
#include "session_changes.h"
#include <sys/resource.h>

#define SETS 100
#define ROUNDS 20

static MPI_Comm all;
static int rank, size;

static void name_of(int i, pset_name name)
{
    snprintf(name, sizeof(pset_name), "app://%d", i);
}

static void make_named(const char *name, const char *of)
{
    MPI_Info info;
    pset_name made;
    int n = 1;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "mpix_name", name));
    ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &of, 1, info, &made, &n));
    ET_CHECK(!strcmp(made, name), "%s is called %s", name, made);
    ET_MPI(MPI_Info_free(&info));
}

/* Local lookups; the set has so many members, this process among them or not. */
static void query(const char *name, int expected, int holds_me)
{
    MPI_Info info;
    MPI_Group group;
    pset_name value;
    int n, running, included, primary;

    ET_MPI(MPI_Session_get_pset_info(session, name, &info));
    value_of(info, "mpi_size", value);
    ET_CHECK(atoi(value) == expected, "%s has %s members, not %d", name, value, expected);
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPIX_Session_pset_exists(session, name, &running, NULL));
    ET_CHECK(running, "%s does not run", name);
    ET_MPI(MPIX_Session_pset_included(session, name, &included));
    ET_CHECK(included == holds_me, "included in %s: %d", name, included);
    ET_MPI(MPIX_Session_get_primary_process(session, name, &primary));
    ET_CHECK(!primary || included, "primary of %s, and not in it", name);
    ET_MPI(MPI_Group_from_session_pset(session, name, &group));
    ET_MPI(MPI_Group_size(group, &n));
    ET_CHECK(n == expected, "the group of %s has %d processes, not %d", name, n, expected);
    ET_MPI(MPI_Group_free(&group));
}

static long sleeps(void)
{
    struct rusage usage;

    ET_CHECK(getrusage(RUSAGE_THREAD, &usage) == 0, "getrusage fails");
    return usage.ru_nvcsw;
}

static void query_often(void)
{
    pset_name name;

    for (int i = 0; rank == 0 && i < SETS; i++) {
        name_of(i, name);
        make_named(name, "mpi://WORLD");
    }
    ET_MPI(MPI_Barrier(all));
    long before = 0;
    for (int round = 0; round <= ROUNDS; round++) {
        if (round == 1)
            before = sleeps();
        for (int i = 0; i < SETS; i++) {
            name_of(i, name);
            query(name, size, 1);
        }
    }
    long slept = sleeps() - before;
    ET_CHECK(slept < ROUNDS * SETS / 2, "%d queries have slept %ld times", 5 * ROUNDS * SETS,
             slept);
    ET_MPI(MPI_Barrier(all));
}

/* Rank 0 has done it; the others learn that one after the other. */
static void pass_on(void)
{
    if (rank > 0)
        ET_MPI(MPI_Recv(NULL, 0, MPI_INT, rank - 1, 0, all, MPI_STATUS_IGNORE));
}

static void go_on(void)
{
    if (rank + 1 < size)
        ET_MPI(MPI_Send(NULL, 0, MPI_INT, rank + 1, 0, all));
    ET_MPI(MPI_Barrier(all));
}

/* SO8: a name that is freed is unknown to all, and may be another set's then. */
static void free_names(void)
{
    pset_name name;
    MPI_Info info;

    for (int i = 0; i < ROUNDS; i++) {
        name_of(i, name);
        if (rank == 0)
            ET_MPI(MPIX_Session_pset_free(session, name));
        pass_on();
        ET_ERROR(MPI_Session_get_pset_info(session, name, &info), MPI_ERR_ARG, name);
        go_on();
        if (rank == 0)
            make_named(name, "mpi://SELF");
        pass_on();
        query(name, 1, rank == 0);
        go_on();
    }
}

/* SO7 */
static void move_names(void)
{
    pset_name from, to;
    int running;

    for (int i = 0; i < ROUNDS; i++) {
        name_of(ROUNDS + i, from);
        name_of(2 * ROUNDS, to);
        query(from, size, 1);
        ET_MPI(MPI_Barrier(all));
        if (rank == 0)
            ET_MPI(MPIX_Session_pset_move(session, from, to));
        pass_on();
        query(to, size, 1);
        ET_MPI(MPIX_Session_pset_exists(session, from, &running, NULL));
        ET_CHECK(!running, "%s is still there", from);
        go_on();
    }
}

/* The last process ends; whoever was notified of it by rank 0 sees it, too. */
static void end_one(void)
{
    pset_name name;
    int running = 1;

    name_of(SETS - 1, name);
    query(name, size, 1);
    ET_MPI(MPI_Barrier(all));
    if (rank == size - 1)
        return;
    for (; rank == 0 && running; et_sleep_ms(1))
        ET_MPI(MPIX_Session_pset_exists(session, name, &running, NULL));
    if (rank > 0)
        ET_MPI(MPI_Recv(NULL, 0, MPI_INT, rank - 1, 0, all, MPI_STATUS_IGNORE));
    check_state(name, "ended");
    ET_MPI(MPI_Send(NULL, 0, MPI_INT, (rank + 1) % (size - 1), 0, all));
    if (rank == 0) {            /* all have seen it; nobody waits for what remembers no more */
        ET_MPI(MPI_Recv(NULL, 0, MPI_INT, size - 2, 0, all, MPI_STATUS_IGNORE));
        ET_MPI(MPIX_Session_pset_free(session, name));
        ET_MPI(MPI_Send(NULL, 0, MPI_INT, 1, 1, all));
    } else if (rank == 1) {
        ET_MPI(MPI_Recv(NULL, 0, MPI_INT, 0, 1, all, MPI_STATUS_IGNORE));
        ET_MPI(MPIX_Session_pset_exists(session, name, &running, NULL));
        ET_CHECK(!running, "%s is still there", name);
    }
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    all = connect_set("mpi://WORLD", "remembered");
    ET_MPI(MPI_Comm_rank(all, &rank));
    ET_MPI(MPI_Comm_size(all, &size));
    ET_CHECK(size >= 3, "%d processes are too few", size);
    query_often();
    free_names();
    move_names();
    end_one();
    ET_MPI(MPI_Comm_free(&all));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_cached");
    return 0;
}
