/*
 * Computes until the file "stop" exists, adapting as requested: for the tests that drive a job from
 * outside (elastic resize, policies).  The world agrees on the end by a reduction every few
 * iterations. --epochs is the least number of adaptations that must have happened by then; with
 * --joining-waits a joining process stays away from begin until the file "join" exists. --sizes is
 * a rule for MPIX_Adapt_sizes. With --task HOST rank 0 has a process on a slot there until the file
 * "enough" exists.
 */

#include "elastic_test.h"
#include <unistd.h>

static MPI_Request task = MPI_REQUEST_NULL;

static void start_task(const char *host)
{
    char *args[] = { "-c", "until [ -e enough ]; do sleep 0.05; done", NULL };

    ET_MPI(MPIX_Iallocate(1, NULL, NULL, MPIX_ANYWHERE, &host, MPIX_HARD, &task));
    ET_MPI(MPI_Wait(&task, MPI_STATUS_IGNORE));
    ET_MPI(MPIX_Set_exec(task, "sh"));
    ET_MPI(MPIX_Set_args(task, args));
    ET_MPI(MPI_Start(&task));
    ET_MPI(MPI_Wait(&task, MPI_STATUS_IGNORE));
    et_log("TASK RUNS");
}

static int shall_stop(void)
{
    int stop = et.rank == 0 && access("stop", F_OK) == 0, ended;

    ET_MPI(MPI_Test(&task, &ended, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return stop;
}

static void window(void)
{
    et_exercise(MPI_COMM_WORLD, "the world in the window");
    if (et.next != MPI_COMM_NULL)
        et_exercise(et.next, "new_comm_world");
}

int main(int argc, char **argv)
{
    int pause = 0;

    const char *sizes = et_argument(argc, argv, "sizes", NULL), *host =
        et_argument(argc, argv, "task", NULL);

    et_init(&argc, &argv);
    if (sizes)
        ET_MPI(MPIX_Adapt_sizes(sizes));
    et.window = window;
    et.epochs = (int) et_number(argc, argv, "epochs", 0);
    pause = (int) et_number(argc, argv, "stop-probing-at", -1);
    if (et.status == MPI_ADAPT_STATUS_NEW && et.rank == 0)
        et_log("READY");
    if (et.status == MPI_ADAPT_STATUS_NEW && et.rank == 0 && host)
        start_task(host);
    if (et.status == MPI_ADAPT_STATUS_JOINING) {
        if (et_argument(argc, argv, "joining-waits", NULL)) {
            et_log("JOINING WAITS");
            et_await_file("join");
        }
        et_adapt();
    }
    /* everybody is at the same step here, so the broadcast pairs up; the probe may wait */
    for (et.step = 0;; et.step++) {
        et_sleep_ms(1);
        if (et.step % 8 == 0 && shall_stop())
            break;
        /* --stop-probing-at N: the last rank goes slow there until the file "go" exists (P8) */
        if (et.epoch == 0 && et.step == pause && et.rank == et.size - 1)
            et_await_file("go");
        if (et_probe()) {
            et_adapt();
            et.step = -1;
        }
    }
    ET_CHECK(et.epoch >= et.epochs, "only %d adaptations of %d", et.epoch, et.epochs);
    return et_finish();
}
