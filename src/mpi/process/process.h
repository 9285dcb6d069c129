/*
 * Slots and processes that a program starts one by one (SPEC DA): functions for the entry points
 * (src/binding/c/dynproc_api.txt), and the interface between the files of src/mpi/process.
 *
 *   process_requests.c   process requests as MPI_Request, and their stages
 *   process_start.c      executable, arguments and start of a process, data of its slot, signals
 *   process_parent.c, process_stub.c, process_world.c
 *                        MPIX_Comm_parent_create: processes that start as one MPI_COMM_WORLD
 *                            (process_world.h)
 *   process_calls.c      messages about them to and from the step manager (pmi_adapt_set.h)
 *
 * The thread that holds the library's critical section owns the state.
 */

#ifndef PROCESS_H_INCLUDED
#define PROCESS_H_INCLUDED

#include "mpiimpl.h"
#include "mpir_process_request.h"
#include "mpir_session_call.h"
#include "pmi_adapt_signal.h"

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
int MPIR_Comm_parent_create_impl(MPIR_Comm * local, int n, const MPI_Request requests[],
                                 MPIR_Comm ** intercomm);

/* ---- process_requests.c ---- */

/* NULL: the handle is invalid. */
MPIR_Request *MPIR_Process_handle(MPI_Request request);

struct MPIR_Process_request {
    uint32_t number;
    MPIR_Request *handle;
    MPIR_Request *operation;    /* of the stage after `reported`, or NULL */
    enum pmi_task_stage come, reported; /* CANCELLED: none yet */
    bool cancelled, started;
    bool is_freed;              /* by the program, while its world was starting */
    uint32_t code;
    char *error;                /* reason why it could not be executed */
    char *executable, **args;
    int n_args;
    char *host, *info;
    struct MPIR_Process_world *world;   /* the world with which it starts, or NULL */
    struct MPIR_Process_request *next_by_number, *next_by_handle;
};

/* The request has reached this stage.  MPIR_Process_take_event does the same for events of the step
 * manager. */
void MPIR_Process_reach(struct MPIR_Process_request *request, enum pmi_task_stage stage);
/* Marks the request as started: it is active until its next stage. */
int MPIR_Process_mark_started(struct MPIR_Process_request *request);

struct MPIR_Process_event {
    uint32_t number;            /* of the request */
    enum pmi_task_stage stage;
    uint32_t code;              /* EXITED */
    char text[PMI_TASK_TEXT_MAX + 1];   /* ALLOCATED: host; EXITED with an error: its text */
    char info[MPI_MAX_INFO_VAL + 1];    /* ALLOCATED */
};
void MPIR_Process_take_event(const struct MPIR_Process_event *event);
void MPIR_Process_free_args(struct MPIR_Process_request *request);

/* ---- process_start.c ---- */

/* The request if its slot has no process yet; else NULL. */
struct MPIR_Process_request *MPIR_Process_inactive(const MPIR_Request * handle);

/* ---- process_calls.c: each function waits only until the step manager has accepted the call
 * ---- */

int MPIR_Process_call_allocate(uint32_t first, int n, const char *global,
                               const char *const locals[], const char *arch,
                               const char *const hosts[], bool hard);
int MPIR_Process_call_start(uint32_t number, const char *executable, char *const args[], int n);
/* Starts all of them as one world; `parent` is the value of PMI_PARENT_ENV. */
int MPIR_Process_call_start_world(const char *parent, int n,
                                  struct MPIR_Process_request *const requests[]);
/* Cancels the request if it has no slot yet. */
int MPIR_Process_call_cancel(uint32_t number);
/* The program does not wait for this request any more. */
int MPIR_Process_call_release(uint32_t number);
int MPIR_Process_call_signal(uint32_t number, const char *name);
/* From now on progress takes the events. */
int MPIR_Process_listen(void);

/* ---- process_parent.c, process_world.c ---- */

/* Returns an error if a program of a world cannot have so many arguments. */
int MPIR_Process_world_check_args(int n_args);
/* Whether all requests of the world are among these handles, and can be started. */
bool MPIR_Process_world_is_whole(const struct MPIR_Process_world *world, int n,
                                 MPIR_Request * const handles[]);
/* Does nothing if the world is started. */
int MPIR_Process_world_start(struct MPIR_Process_world *world);
/* Receives data of the other side; afterwards requests of the world may be freed, or reach
 * STARTED. */
void MPIR_Process_world_poll(struct MPIR_Process_world *world);
/* A process of the world has ended, or its request is being freed. */
void MPIR_Process_world_failed(struct MPIR_Process_request *request);
/* Whether the request's world is starting: freeing the request does not end the start. */
bool MPIR_Process_world_awaits(const struct MPIR_Process_request *request);
/* Whether this process waits for the connection of started processes. */
bool MPIR_Process_worlds_start(void);

#endif /* PROCESS_H_INCLUDED */
