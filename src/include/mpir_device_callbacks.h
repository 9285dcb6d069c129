/*
 * One table of all functions that the device calls in the MPI layer's adaptations, sessions and
 * dynamic processes.  Through it the device reports events and reads objects of the MPI layer; it
 * includes and calls nothing else of src/mpi/adapt, session, dynproc and process
 * (maint/architecture).  No entry is called for each message.
 *
 * The table is constant (src/mpi/hooks/device_callbacks.c).  All calls are made inside the
 * library's critical section.
 */

#ifndef MPIR_DEVICE_CALLBACKS_H_INCLUDED
#define MPIR_DEVICE_CALLBACKS_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

struct MPIR_Comm;
struct MPIR_Group;
struct MPIR_Win;

extern const struct MPIR_Device_callbacks {
    /* epoch of the last commit, 0 before the first */
    unsigned (*adapt_epoch) (void);
    /* number of this process' pid namespace, 0: not known */
    uint64_t (*pid_namespace) (void);
    /* the text of a communicator for MPID_Abort */
    void (*describe_comm) (const struct MPIR_Comm * comm, char *text, int size);
    /* for each live communicator */
    void (*foreach_comm) (void (*function) (struct MPIR_Comm *, void *), void *context);
    /* for each group */
    void (*foreach_group) (void (*function) (struct MPIR_Group *, void *), void *context);
    /* for each request in use */
    void (*foreach_request) (void (*function) (void *, void *), void *context);
    /* begin makes this communicator */
    void (*comm_by_begin) (struct MPIR_Comm * comm);
    /* the communicators that it is derived from */
    void (*comm_derive)(struct MPIR_Comm *comm, const struct MPIR_Comm *from,
                        const struct MPIR_Comm *also);
    /* whether it outlives adaptations */
    int (*comm_survives) (MPI_Comm comm);
    /* it is internal to the device: foreach_comm omits it */
    void (*comm_unlist) (struct MPIR_Comm * comm);
    /* the device is done with a window object */
    void (*win_freed) (struct MPIR_Win * win);
    /* lpid of this process */
    int (*session_lpid) (void);
    /* communication in the world works */
    int (*session_leave_start) (void);
    /* all processes have entered the construction of the world */
    int (*session_finish_rendezvous) (void);
    /* this process does not know the hosts of all members */
    void (*session_lacks_hosts) (void);
    /* after the agreement: whether any member lacks hosts */
    bool (*session_any_lacks_hosts) (void);
    /* whether a connection exists or existed */
    bool (*dynproc_had_connections) (void);
    /* the other side of a connection has ended */
    void (*dynproc_note_ended) (int context_id);
    /* whether it has ended, as far as this process knows */
    bool (*dynproc_has_ended) (const struct MPIR_Comm * comm);
    /* both sides have this intercommunicator, and detect the end of the other side from now on */
    int (*dynproc_accepted) (struct MPIR_Comm * comm);
} MPIR_Device_callbacks;

#endif /* MPIR_DEVICE_CALLBACKS_H_INCLUDED */
