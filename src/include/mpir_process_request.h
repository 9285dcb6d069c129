/*
 * Process requests (src/mpi/process), for MPI_Start, MPI_Cancel, MPI_Request_free and the
 * completion of requests.  In programs without process requests this costs the test of a counter.
 */

#ifndef MPIR_PROCESS_REQUEST_H_INCLUDED
#define MPIR_PROCESS_REQUEST_H_INCLUDED

extern int MPIR_Process_requests ATTRIBUTE((visibility("hidden")));    /* their number */

struct MPIR_Process_request *MPIR_Process_request_find(const MPIR_Request * handle);

/* NULL: the handle is of another kind. */
static inline struct MPIR_Process_request *MPIR_Process_request_of(const MPIR_Request * handle)
{
    return unlikely(MPIR_Process_requests > 0) ? MPIR_Process_request_find(handle) : NULL;
}

/* The communicator whose error handler is called for an error in the completion of this request;
 * NULL for a process request, which has no communicator. */
static inline MPIR_Comm *MPIR_Request_error_comm(const MPIR_Request * handle)
{
    return MPIR_Process_request_of(handle) ? NULL : handle->comm;
}

/* Starts process requests and requests of other kinds, in order. */
int MPIR_Process_requests_start(int n, MPIR_Request * handles[]);
#define MPIR_Process_startall(n, handles)                               \
    (unlikely(MPIR_Process_requests > 0) ? MPIR_Process_requests_start(n, handles) \
     : MPID_Startall(n, handles))
int MPIR_Process_request_cancel(struct MPIR_Process_request *request);
int MPIR_Process_request_free(struct MPIR_Process_request *request);
/* Sleeps until one of these requests has completed, or all; returns at once if any of them is of
 * another kind. */
int MPIR_Process_await(int n, MPIR_Request * const requests[], bool all);
#define MPIR_PROCESS_AWAIT(n, requests, all)                            \
    if (unlikely(MPIR_Process_requests > 0))                            \
        MPIR_HOOK(MPIR_Process_await(n, requests, all))
/* A stage has been reported to the program: another one follows, or the handle ends with this
 * one. */
void MPIR_Process_request_reported(struct MPIR_Process_request *request);

/* Worlds of MPIX_Comm_parent_create (process_world.c).  The first is a hook of progress and returns
 * whether anything remains to be polled; the second is called at MPI_Finalize. */
bool MPIR_Process_poll_worlds(void);
void MPIR_Process_close_worlds(void);

#endif /* MPIR_PROCESS_REQUEST_H_INCLUDED */
