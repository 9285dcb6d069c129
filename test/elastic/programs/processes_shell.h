/*
 * Slots with one shell each, for processes.c.
 */

#ifndef PROCESSES_SHELL_H_INCLUDED
#define PROCESSES_SHELL_H_INCLUDED

#include "elastic_test.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program;

static MPI_Request one_slot(void)
{
    MPI_Request request;
    MPI_Status status;
    int stage;

    ET_MPI(MPIX_Iallocate(1, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, &request));
    ET_MPI(MPI_Wait(&request, &status));
    ET_MPI(MPIX_Get_stage(&status, &stage));
    ET_CHECK(stage == MPIX_STAGE_ALLOCATED && request != MPI_REQUEST_NULL, "stage %d", stage);
    return request;
}

static void start_shell(MPI_Request * request, const char *script)
{
    char *args[] = { "-c", (char *) script, NULL };

    ET_MPI(MPIX_Set_exec(*request, "sh"));
    ET_MPI(MPIX_Set_args(*request, args));
    ET_MPI(MPI_Start(request));
}

static void await(MPI_Request * request, int expected_stage, int expected_code)
{
    MPI_Status status;
    int stage, code;

    ET_MPI(MPI_Wait(request, &status));
    ET_MPI(MPIX_Get_stage(&status, &stage));
    ET_MPI(MPIX_Get_return_code(&status, &code));
    ET_CHECK(stage == expected_stage && code == expected_code, "stage %d, code %d", stage, code);
    ET_CHECK((*request == MPI_REQUEST_NULL) == (stage == MPIX_STAGE_EXITED), "stage %d", stage);
}

static void run_shell(const char *script, int code)
{
    MPI_Request request = one_slot();

    start_shell(&request, script);
    await(&request, MPIX_STAGE_STARTED, MPIX_PROC_RUNNING);
    await(&request, MPIX_STAGE_EXITED, code);
}

/* DA6: the proxy has few descriptors.  Each line has a second part, which is written when all
 * run. */
static void run_many(int n, rlim_t hard)
{
    static MPI_Request requests[270];
    struct rlimit limit;

    ET_CHECK(prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit) == 0 &&
             mkfifo("go", 0600) == 0, "no limit, or no pipe");
    limit = (struct rlimit) {.rlim_cur = 128,.rlim_max = hard ? hard : limit.rlim_max };
    ET_CHECK(prlimit(getppid(), RLIMIT_NOFILE, &limit, NULL) == 0, "the limit cannot be set");
    for (int i = 0; i < n; i++) {
        requests[i] = one_slot();
        start_shell(&requests[i], "printf 'begin '; : <go; ulimit -Sn");
    }
    ET_MPI(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    ET_CHECK(open("go", O_RDWR) >= 0, "no pipe");
    ET_MPI(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
}

#endif /* PROCESSES_SHELL_H_INCLUDED */
