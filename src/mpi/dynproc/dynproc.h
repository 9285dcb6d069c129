/*
 * Dynamic process management (SPEC DS, DN): functions for the generated entry points, and the
 * interface between the files of src/mpi/dynproc.
 *
 *   spawn.c     MPIX_Spawn
 *   names.c     names of servers, and their addresses: name_directory.c, name_secret.c,
 *               name_listen.c; names that a job reserves: name_reserve.c; names that elasticd
 *               knows: name_service.c
 *   link.c      one connection between the ranks 0 of a client and a server, and the messages on it
 *   service.c   a name that this process listens for, and the clients that wait there
 *   port.c      port requests, MPIX_Server_connect
 *   contact.c   contact requests, MPIX_Client_connect
 *   requests.c  both kinds as MPI_Request
 *   events.c    notification of the other ranks by rank 0
 *   attach.c    from a connection to an intercommunicator
 *   watch.c     whether the other side of an intercommunicator has ended
 *   lines.c     the connections that detect it
 *   parent.c    connection of the processes of MPIX_Comm_parent_create (src/mpi/process) to those
 *               that have started them
 *   dynproc_fortran.c   Fortran versions of functions with arrays of texts, and calls of Fortran
 *                       key functions
 *
 * The thread that holds the library's critical section owns the state.  A progress hook polls the
 * connections.  The ranks 0 send all messages of the two sides on their connection; hence no side
 * waits for a side that has ended, because its end closes the connection.
 */

#ifndef DYNPROC_H_INCLUDED
#define DYNPROC_H_INCLUDED

#include "mpid_dynproc.h"
#include "mpiimpl.h"
#include "dynproc_link.h"
#include "dynproc_names.h"

#define MPIR_DYNPROC_PORTS 65536        /* requests of a call */

/* ---- the operations */

int MPIR_Spawn_impl(MPIR_Comm * comm, int root, const char *arch, int count,
                    const char *const names[], const char *executable, char *const argv[], int flag,
                    MPIR_Comm ** newcomm);
int MPIR_Client_connect_impl(MPIR_Comm * comm, const char *name, MPIR_Comm ** newcomm);
int MPIR_Server_connect_impl(MPIR_Comm * comm, const char *name, MPIR_Comm ** newcomm);
int MPIR_Iaccept_impl(MPIR_Comm * comm, const char *name, MPIX_Key_function * welcome,
                      void *extra_state, int n, MPI_Request requests[]);
/* The key that a client presents; NULL: none. */
struct MPIR_Dynproc_key {
    const void *is;
    int bytes;
};
int MPIR_Icontact_impl(MPIR_Comm * comm, const char *name, const struct MPIR_Dynproc_key *key,
                       MPI_Request * request);
int MPIR_Get_server_name_impl(const char *requested, char given[]);
int MPIR_Remote_attach_impl(MPIR_Comm * comm, int n, MPI_Request requests[], MPIR_Comm ** newcomm);

/* Calls a key function of Fortran (interface mpix_key_function); its extra_state is one of
 * these. */
struct MPIR_Dynproc_key_fortran {
    void (*function)(const void *key, MPI_Fint * key_bytes, MPI_Aint * extra_state,
                     MPI_Fint * welcome);
    MPI_Aint extra_state;
};
int MPIR_Dynproc_call_fortran_key(const void *key, int key_bytes, void *extra_state);

/* An error of this class; another process, rank 0 or a root, has the details. */
int MPIR_Dynproc_error_elsewhere(int errclass);

/* ---- requests.c */

enum MPIR_Dynproc_state {
    MPIR_DYNPROC_ACTIVE,
    MPIR_DYNPROC_TAKEN,
    MPIR_DYNPROC_CANCELLED,
    MPIR_DYNPROC_FAILED
};

/* A port or contact request.  It stays until it has been attached or freed; the user's handle is a
 * persistent request, whose completion does not free it. */
struct MPIR_Dynproc_request {
    MPIR_Request *handle;
    MPIR_Request *operation;    /* a generalized request, while active */
    MPIR_Comm *comm;
    enum MPIR_Dynproc_state state;
    bool is_server;
    int number, index;     /* number of the call on this communicator, index of the request in it */
    struct MPIR_Dynproc_link *link;     /* rank 0, if taken */
    void (*cancel) (struct MPIR_Dynproc_request * request);     /* rank 0 */
    void *owner;
    struct MPIR_Dynproc_request *next;
};

int MPIR_Dynproc_request_make(MPIR_Comm * comm, bool is_server, int number, int index,
                              struct MPIR_Dynproc_request **request);
/* Completes the request; `error` is the error of its completion if it FAILED. */
void MPIR_Dynproc_request_end(struct MPIR_Dynproc_request *request, enum MPIR_Dynproc_state state,
                              int error);
/* The request of a handle, or NULL. */
struct MPIR_Dynproc_request *MPIR_Dynproc_request_of(MPI_Request handle);
/* Removes the request and the user's handle. */
void MPIR_Dynproc_request_drop(struct MPIR_Dynproc_request *request);

/* ---- progress: called while requests are pending (port.c, contact.c) */

void MPIR_Dynproc_start_polling(void);
/* The same, and `poll` is called from now on, too; it returns whether anything remains to be
 * polled.  `close` is called at MPI_Finalize. */
void MPIR_Dynproc_start_polling_by(bool (*poll) (void), void (*close) (void));
bool MPIR_Dynproc_poll_services(void);  /* whether there is anything to poll */
bool MPIR_Dynproc_poll_contacts(void);
bool MPIR_Dynproc_poll_events(void);
void MPIR_Dynproc_sweep(void);  /* requests that the user has freed */

/* Called between two polls of a waiting process: makes progress, lets other threads run, and sleeps
 * after a while. */
struct MPIR_Dynproc_wait {
    int polls;
    int fd;                     /* wakes the process, -1: none */
    /* sleeps soon, because the awaited process may need this core; a process that makes a line
     * wakes it */
    bool is_short;
};
int MPIR_Dynproc_pause(struct MPIR_Dynproc_wait *wait);

/* At MPI_Finalize: releases all names and closes all connections. */
void MPIR_Dynproc_at_finalize(void);
void MPIR_Dynproc_close_services(void);

/* ---- attach.c: both sides */

enum MPIR_Dynproc_role {
    MPIR_DYNPROC_SERVER,
    MPIR_DYNPROC_CLIENT,
    /* as a client; the parents need not be present, and send nothing after their SIDE */
    MPIR_DYNPROC_CHILD
};

struct MPIR_Dynproc_lines;

struct MPIR_Dynproc_attach {
    MPIR_Comm *comm;
    bool is_server, is_child;
    MPIR_Context_id_t context_id;
    struct MPIR_Dynproc_lines *lines;   /* until they are those of the intercommunicator */
    struct MPIR_Dynproc_bc *bcs;        /* rank 0 of the server's side: of all its processes */
    struct MPIR_Dynproc_side other;
    struct MPIR_Dynproc_link *link;     /* rank 0: the connection of their rendezvous */
};

/* Rank 0 connects to the other side by its name, and exchanges data with it. */
typedef int (MPIR_Dynproc_rendezvous) (const char *name, struct MPIR_Dynproc_attach * attach);
/* Collective over a side that listens for lines: gathers all business cards at the root, which
 * frees the array; NULL in the other processes. */
int MPIR_Dynproc_gather_bcs(MPIR_Comm * comm, int root, struct MPIR_Dynproc_lines *lines,
                            struct MPIR_Dynproc_bc **bcs);
/* Collective over comm.  After an error of rank 0 the others get an error of the same class. */
int MPIR_Dynproc_attach(MPIR_Comm * comm, enum MPIR_Dynproc_role role,
                        MPIR_Dynproc_rendezvous * rendezvous, const char *name,
                        MPIR_Comm ** newcomm);
/* Called by the rendezvous function.  `attach` owns the connection afterwards.  MPI_ERR_PORT: the
 * other side has ended. */
int MPIR_Dynproc_attach_exchange(struct MPIR_Dynproc_attach *attach,
                                 struct MPIR_Dynproc_link *link);

/* ---- watch.c */

/* Marks the intercommunicator of a connection: when its other side ends, requests that wait for
 * that side fail.  The callee owns the lines; NULL: there was no memory for them. */
int MPIR_Dynproc_connect(MPIR_Comm * comm, struct MPIR_Dynproc_lines *lines);
/* A communicator is derived from another one and belongs to the same connection; a communicator has
 * been freed. */
void MPIR_Dynproc_comm_derived(MPIR_Comm * comm, const MPIR_Comm * from);
void MPIR_Dynproc_comm_freed(const MPIR_Comm * comm);
/* Waits until its lines exist, or a few seconds have passed. */
int MPIR_Dynproc_await_lines(const MPIR_Comm * comm);
/* While `is`, lines are polled as fast as possible. */
void MPIR_Dynproc_is_connecting(bool is);
/* Another component has detected that the other side has ended. */
void MPIR_Dynproc_set_broken(const MPIR_Comm * comm);
/* Another process of this side has reported, on a local communicator with this id, that the other
 * side has ended. */
void MPIR_Dynproc_note_ended(int context_id);
/* Whether a connection exists or existed: in this case it is no error if the network cannot send a
 * message without a request, also after the intercommunicator has been freed. */
bool MPIR_Dynproc_had_connections(void);
/* Adds a line with this descriptor, which the callee owns. */
void MPIR_Dynproc_watch(MPIR_Comm * comm, int fd);

/* ---- parent.c: called at the end of MPI_Init; does nothing in processes that were not started by
 * MPIX_Comm_parent_create */

int MPIR_Dynproc_rendezvous_parent(void);

#endif /* DYNPROC_H_INCLUDED */
