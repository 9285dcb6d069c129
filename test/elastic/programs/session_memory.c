/*
 * Costs of changes: the process that stays over many changes, each of which adds or removes one
 * process, keeps no more than 128 bytes for each process that has been added, and nothing else.
 * --changes N; what the first half of them needed is not counted.
 */

#include "session_changes.h"
#include "resources.h"
#include <unistd.h>

enum {
    BYTES_EACH = 128,
    /* libfabric takes space for 16 addresses at a time, of 113 bytes each, and over the network
     * some KiB for buffers when more are in use than before */
    BYTES_AT_ONCE = 8192,
    SETTLE_S = 10
};

struct news {
    int leaves, taken;
    pset_name delta, set;
};

static struct news take_change(const char *set, int taken)
{
    struct news news = {.taken = taken + 1 };
    struct change change = await_change(set);

    news.leaves = change.type == MPIX_RC_SUB;
    strcpy(news.delta, change.delta);
    set_after(set, &change, news.set);
    accept_change(&change, "app_set", news.set);
    return news;
}

/* The joining process is notified of the number of changes by the first message. */
static MPI_Comm connect_next(const char *set, int *taken)
{
    MPI_Comm comm = connect_set(set, "change");

    ET_MPI(MPI_Bcast(taken, 1, MPI_INT, 0, comm));
    return comm;
}

static long heap_most(struct usage first, int added)
{
    return first.heap + BYTES_EACH * added + BYTES_AT_ONCE;
}

/* The connection of a process that has left is there until progress reads its end. */
static struct usage measure_settled(MPI_Comm comm, struct usage first, int added)
{
    struct usage now = measure();
    int flag;

    for (double end = MPI_Wtime() + SETTLE_S; MPI_Wtime() < end; now = measure()) {
        if (now.descriptors <= first.descriptors && now.heap <= heap_most(first, added))
            break;
        ET_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
        usleep(1000);
    }
    return now;
}

static void check_growth(struct usage first, struct usage last, int added)
{
    ET_CHECK(last.descriptors <= first.descriptors, "%ld descriptors, then %ld", first.descriptors,
             last.descriptors);
    ET_CHECK(last.mappings <= first.mappings + 2, "%ld mappings, then %ld", first.mappings,
             last.mappings);
    ET_CHECK(last.threads <= first.threads, "%ld threads, then %ld", first.threads, last.threads);
    ET_CHECK(last.heap <= heap_most(first, added),
             "%ld bytes, then %ld: %ld for each of %d processes",
             first.heap, last.heap, (last.heap - first.heap) / added, added);
}

int main(int argc, char **argv)
{
    int changes = et_number(argc, argv, "changes", 0), rank, leaves = 0, taken = 0;
    struct news news;
    struct usage middle = { 0 };
    pset_name set;

    open_session();
    if (!session_value("app_set", set))
        strcpy(set, "mpi://WORLD");
    MPI_Comm comm = connect_next(set, &taken);
    while (taken < changes) {
        if (taken == changes / 2)
            middle = measure();
        ET_MPI(MPI_Comm_rank(comm, &rank));
        if (rank == 0)
            news = take_change(set, taken);
        ET_MPI(MPI_Bcast(&news, sizeof(news), MPI_BYTE, 0, comm));
        if (news.leaves)
            ET_MPI(MPIX_Session_pset_included(session, news.delta, &leaves));
        ET_MPI(MPI_Comm_free(&comm));
        if (leaves) {
            ET_MPI(MPI_Session_finalize(&session));
            return 0;
        }
        strcpy(set, news.set);
        taken = news.taken;
        comm = connect_next(set, &taken);
    }
    ET_MPI(MPI_Comm_rank(comm, &rank));
    if (rank == 0) {
        int added = (changes - changes / 2) / 2;
        check_growth(middle, measure_settled(comm, middle, added), added);
        et_log("PASS session_memory");
    }
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    return 0;
}
