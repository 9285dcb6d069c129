/*
 * SA1, SW2: the world of an epoch, which all processes query after each window, is one question of
 * each proxy; the test counts them.  Rank 0 prints READY before the windows and LOOKED after them,
 * and goes on when the files `go` and `end` are there.
 */

#include "elastic_test.h"

static MPI_Session session;

static void query(void)
{
    char name[MPI_MAX_PSET_NAME_LEN];
    MPI_Group world;
    int size, running;

    snprintf(name, sizeof(name), "mpix://WORLD/%d", et.epoch);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    ET_MPI(MPI_Group_from_session_pset(session, name, &world));
    ET_MPI(MPI_Group_size(world, &size));
    ET_CHECK(size == et.size, "%s has %d processes, not %d", name, size, et.size);
    ET_MPI(MPIX_Session_pset_exists(session, name, &running, NULL));
    ET_CHECK(running, "%s does not run", name);
    ET_MPI(MPI_Group_free(&world));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

static void window(void)
{
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPI_Session_finalize(&session));
}

static void log_and_wait(const char *word, const char *file)
{
    if (et.rank == 0) {
        et_log("%s", word);
        et_await_file(file);
    }
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    if (et.status == MPI_ADAPT_STATUS_NEW)
        log_and_wait("READY", "go");
    et.window = window;
    et.after = query;
    et_loop();
    log_and_wait("LOOKED", "end");
    ET_MPI(MPI_Session_finalize(&session));
    return et_finish();
}
