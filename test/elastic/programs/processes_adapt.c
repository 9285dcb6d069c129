/*
 * DA12: adaptations neither move nor end processes that the program has started; those of a process
 * that leaves are requested to end, as at the end of the job, and those of others go on.  Rank 0
 * stays in this test.
 */

#include "elastic_test.h"
#include <signal.h>

static MPI_Request task;        /* of this process */

static void await_stage(int wanted, int wanted_code)
{
    MPI_Status status;
    int stage, code;

    ET_MPI(MPI_Wait(&task, &status));
    ET_MPI(MPIX_Get_stage(&status, &stage));
    ET_MPI(MPIX_Get_return_code(&status, &code));
    ET_CHECK(stage == wanted && code == wanted_code, "stage %d, code %d", stage, code);
}

/* It prints when it is requested to end, and by whom it was started. */
static void start_task(void)
{
    char script[256], *args[] = { "-c", script, NULL };

    snprintf(script, sizeof(script), "trap 'echo the task of rank %d gets SIGTERM; exit 0' TERM; "
             "echo the task of rank %d runs; while :; do sleep 0.05; done", et.rank, et.rank);
    ET_MPI(MPIX_Iallocate(1, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, &task));
    await_stage(MPIX_STAGE_ALLOCATED, MPIX_PROC_RUNNING);
    ET_MPI(MPIX_Set_exec(task, "sh"));
    ET_MPI(MPIX_Set_args(task, args));
    ET_MPI(MPI_Start(&task));
    await_stage(MPIX_STAGE_STARTED, MPIX_PROC_RUNNING);
}

static void after(void)
{
    int flag;

    if (et.rank != 0)
        return;
    ET_MPI(MPI_Test(&task, &flag, MPI_STATUS_IGNORE));
    ET_CHECK(!flag, "it goes on in epoch %d", et.epoch);
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.after = after;
    if (et.status == MPI_ADAPT_STATUS_NEW)
        start_task();
    et_loop();
    if (et.rank == 0) {
        ET_MPI(MPIX_Signal(SIGUSR1, 1, &task));
        await_stage(MPIX_STAGE_EXITED, 128 + SIGUSR1);
    }
    return et_finish();
}
