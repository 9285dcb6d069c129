/*
 * Costs of Part A: over many changes nothing grows but 128 bytes for each process that was ever started.  One process
 * stays, another one joins and leaves again and again (--adapt-range 1:2); the one that stays counts its descriptors,
 * mappings, threads and the bytes of its heap whenever it is alone.  --changes N; the first --warm W fill caches.
 */

#include "session_changes.h"
#include <dirent.h>
#include <malloc.h>

#define BYTES_PER_PROCESS 128
#define HEAP_ONCE 8192          /* what is there now and then */
#define IN_FLIGHT 8             /* connections to the process that joins next, and has just left */

static struct usage {
    long descriptors, threads, mappings, heap;
} first, last;

static long entries(const char *path)
{
    DIR *folder = opendir(path);
    long n = 0;

    ET_CHECK(folder, "cannot read %s", path);
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static struct usage measure(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    struct mallinfo2 heap = mallinfo2();
    struct usage usage = {.heap = (long) (heap.uordblks + heap.hblkhd) };

    ET_CHECK(maps, "cannot read /proc/self/maps");
    for (int c; (c = fgetc(maps)) != EOF;)
        usage.mappings += c == '\n';
    fclose(maps);
    usage.descriptors = entries("/proc/self/fd");
    usage.threads = entries("/proc/self/task");
    return usage;
}

static void check_growth(int processes)
{
    long heap = last.heap - first.heap, most = HEAP_ONCE + (long) BYTES_PER_PROCESS * processes;

    et_say("descriptors %ld to %ld, threads %ld to %ld, mappings %ld to %ld, heap %+ld with %d more processes",
           first.descriptors, last.descriptors, first.threads, last.threads, first.mappings, last.mappings, heap,
           processes);
    ET_CHECK(last.descriptors <= first.descriptors + IN_FLIGHT, "descriptors: %ld, then %ld", first.descriptors,
             last.descriptors);
    ET_CHECK(last.threads <= first.threads, "threads: %ld, then %ld", first.threads, last.threads);
    ET_CHECK(last.mappings <= first.mappings + IN_FLIGHT, "mappings: %ld, then %ld", first.mappings, last.mappings);
    ET_CHECK(heap <= most, "heap: %ld bytes for %d processes, %ld allowed", heap, processes, most);
}

/* The one that joins: it meets the other one, and goes when that says so. */
static void join(void)
{
    pset_name set;

    ET_CHECK(session_value("app_set", set), "SR7: the keys of the accept");
    MPI_Comm comm = connect_set(set, "both");
    ET_MPI(MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    exit(0);
}

static void cycle(void)
{
    pset_name both, joined;
    struct change change = await_change(NULL);

    ET_CHECK(change.type == MPIX_RC_ADD, "type %d", change.type);
    strcpy(joined, change.delta);
    set_after("mpi://WORLD", &change, both);
    accept_change(&change, "app_set", both);
    MPI_Comm comm = connect_set(both, "both");
    change = await_change(both);
    ET_CHECK(change.type == MPIX_RC_SUB, "type %d", change.type);
    accept_change(&change, NULL, NULL);
    ET_MPI(MPI_Send(NULL, 0, MPI_BYTE, 1, 0, comm));
    ET_MPI(MPI_Comm_free(&comm));
    await_state(both, "ended");
    ET_MPI(MPIX_Session_pset_free(session, both));
    ET_MPI(MPIX_Session_pset_free(session, joined));
}

int main(int argc, char **argv)
{
    int changes = et_number(argc, argv, "changes", 40), warm = et_number(argc, argv, "warm", 10);
    pset_name delta;

    open_session();
    if (is_joiner(delta))
        join();
    for (int i = 0; i < changes; i += 2) {
        cycle();
        last = measure();
        if (i <= warm)
            first = last;
    }
    check_growth((changes - warm) / 2);
    ET_MPI(MPI_Session_finalize(&session));
    et_say("PASS session_leak");
    return 0;
}
