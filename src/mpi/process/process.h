/*
 * Places and processes that a program starts one by one (SPEC DA): what the entry points
 * (src/binding/c/dynproc_api.txt) call, and what the files of src/mpi/process promise each other.
 *
 *   process_requests.c   process requests as MPI_Request, and their stages
 *   process_calls.c      what is said about them to the step manager (pmi_adapt_set.h), and what it tells
 *
 * Owned by whichever thread holds the library's critical section.
 */

#ifndef PROCESS_H_INCLUDED
#define PROCESS_H_INCLUDED

#include "mpiimpl.h"
#include "mpir_process_request.h"
#include "pmi_adapt_signal.h"
#include "session.h"

/* ---- the operations ---- */

int MPIR_Iallocate_impl(int n, const char *global, const char *const locals[], const char *arch,
                        const char *const hosts[], int hardness, MPI_Request requests[]);
int MPIR_Process_set_exec_impl(MPIR_Request * request, const char *executable);
int MPIR_Process_set_args_impl(MPIR_Request * request, char *const args[]);
int MPIR_Process_get_nodename_impl(MPIR_Request * request, char *host);
int MPIR_Process_get_jsinfo_impl(MPIR_Request * request, char *info);
int MPIR_Process_get_stage_impl(const MPI_Status * status, int *stage);
int MPIR_Process_get_return_code_impl(const MPI_Status * status, int *code);
int MPIR_Process_signal_impl(int signum, int n, const MPI_Request requests[]);

/* ---- process_requests.c ---- */

/* NULL: it is none. */
MPIR_Request *MPIR_Process_handle(MPI_Request request);

struct MPIR_Process_event {
    uint32_t number;            /* of the request */
    enum pmi_task_stage stage;
    uint32_t code;              /* EXITED */
    char text[PMI_TASK_TEXT_MAX + 1];   /* ALLOCATED: its host; EXITED with an error: which */
    char info[MPI_MAX_INFO_VAL + 1];    /* ALLOCATED */
};
void MPIR_Process_take_event(const struct MPIR_Process_event *event);

/* ---- process_calls.c: each waits only until the step manager has understood it ---- */

int MPIR_Process_call_allocate(uint32_t first, int n, const char *global, const char *const locals[], const char *arch,
                               const char *const hosts[], bool hard);
int MPIR_Process_call_start(uint32_t number, const char *executable, char *const args[], int n);
/* Cancelled if it has no place yet. */
int MPIR_Process_call_cancel(uint32_t number);
/* Nobody asks for this request any more. */
int MPIR_Process_call_release(uint32_t number);
int MPIR_Process_call_signal(uint32_t number, const char *name);
/* Events are taken by progress from now on. */
int MPIR_Process_listen(void);

#endif /* PROCESS_H_INCLUDED */
