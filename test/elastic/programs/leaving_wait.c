/*
 * C3, C7: a leaving process does not end before those that stay have committed: they may still be
 * receiving its last messages.  A delete callback holds up the commit of each process that stays.
 */

#include "elastic_test.h"
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#define HELD_UP_MS 1000
#define LOOK_MS 20

static int key = MPI_KEYVAL_INVALID;
static int *pids;               /* of the leaving processes, 0 for others */
static int calls;

static int deleted(MPI_Comm comm, int keyval, void *value, void *extra)
{
    calls++;
    for (double since = et_seconds(); et_seconds() - since < HELD_UP_MS / 1e3;
         et_sleep_ms(LOOK_MS)) {
        for (int i = 0; i < et.size; i++)
            ET_CHECK(!pids[i] ||
                     kill(pids[i], 0) == 0, "leaving rank %d has ended before the commit: errno %d",
                     i, errno);
    }
    free(pids);
    pids = NULL;
    return MPI_SUCCESS;
}

static void window(void)
{
    int pid = et.status == MPI_ADAPT_STATUS_LEAVING ? (int) getpid() : 0;

    if (et.status == MPI_ADAPT_STATUS_JOINING)
        return;
    pids = calloc((size_t) et.size, sizeof(*pids));
    ET_CHECK(pids, "no memory");
    ET_MPI(MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD));
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        return;
    ET_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL));
    ET_MPI(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &key));
    calls = 0;
}

static void after(void)
{
    if (key == MPI_KEYVAL_INVALID)      /* has joined */
        return;
    ET_CHECK(calls == 1, "the delete callback was called %d times", calls);
    ET_MPI(MPI_Comm_free_keyval(&key));
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.window = window;
    et.after = after;
    et_loop();
    return et_finish();
}
