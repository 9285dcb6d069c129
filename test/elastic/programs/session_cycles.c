/*
 * SX2: sessions are opened, used and closed again and again: neither memory nor descriptors,
 * mappings or threads become more.  --when: `only` (no world), `before` (MPI_Init … MPI_Finalize),
 * `after` (it, with a session open meanwhile), `ended` (after MPI_Finalize of a process that has
 * had no session, which takes everything down), `overlap` (a session is open while others come and
 * go).  --end CODE: exit code of the process.
 */

#include "elastic_test.h"
#include "resources.h"

/* The communicators over everybody are made by all processes, equally often. */
static void cycle(const char *set)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    ET_MPI(MPI_Group_from_session_pset(session, set, &group));
    ET_MPI(MPI_Comm_create_from_group(group, "cycle", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    et_exercise(comm, set);
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Session_finalize(&session));
}

static void cycles(long n, const char *set)
{
    for (long i = 0; i < n; i++)
        cycle(set);
}

static void check_growth(long n, const char *set)
{
    cycles(n / 10 + 2, set);
    struct usage first = measure();
    cycles(n, set);
    struct usage last = measure();
    ET_CHECK(last.descriptors <= first.descriptors, "%ld descriptors, then %ld", first.descriptors,
             last.descriptors);
    ET_CHECK(last.mappings <= first.mappings + 2, "%ld mappings, then %ld", first.mappings,
             last.mappings);
    ET_CHECK(last.threads <= first.threads, "%ld threads, then %ld", first.threads, last.threads);
    ET_CHECK(last.heap - first.heap < 16 * n + 8192, "%ld bytes, then %ld", first.heap, last.heap);
}

static void world(void)
{
    ET_MPI(MPI_Init(NULL, NULL));
    et_exercise(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    ET_MPI(MPI_Finalize());
}

int main(int argc, char **argv)
{
    const char *when = et_argument(argc, argv, "when", "only");
    const char *set = et_argument(argc, argv, "set", "mpi://WORLD");
    long n = et_number(argc, argv, "cycles", 1000);
    MPI_Session open = MPI_SESSION_NULL;

    if (!strcmp(when, "after")) {
        ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &open));
        world();
        ET_MPI(MPI_Session_finalize(&open));
    }
    if (!strcmp(when, "ended"))
        world();
    if (!strcmp(when, "overlap"))
        ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &open));
    check_growth(n, set);
    if (open != MPI_SESSION_NULL)
        ET_MPI(MPI_Session_finalize(&open));
    if (!strcmp(when, "before"))
        world();
    if (!strcmp(getenv("PMI_RANK"), "0"))
        et_log("PASS session_cycles");
    return (int) et_number(argc, argv, "end", 0);
}
