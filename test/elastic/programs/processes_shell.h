/*
 * Slots with one shell each, for processes.c.
 */

#ifndef PROCESSES_SHELL_H_INCLUDED
#define PROCESSES_SHELL_H_INCLUDED

#include "elastic_test.h"

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

/* DA1, DA4, DA5, DA6, DA8 */

#endif /* PROCESSES_SHELL_H_INCLUDED */
