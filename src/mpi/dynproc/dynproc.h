/*
 * Dynamic process management (SPEC DS, DN): what the generated entry points call, and what the
 * files of src/mpi/dynproc guarantee each other.
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
 *   events.c    how rank 0 notifies the others of a request
 *   attach.c    from a connection to an intercommunicator
 *   watch.c     whether the other side of an intercommunicator has ended
 *   lines.c     how that is detected
 *   parent.c    how the processes of MPIX_Comm_parent_create (src/mpi/process) connect to those
 *               that have started them
 *   dynproc_fortran.c   what Fortran calls instead of those with arrays of texts, and its key
 *                       functions
 *
 * Owned by whichever thread holds the library's critical section.  Connections are watched by a
 * progress hook.  The ranks 0 send all messages of the two sides on their connection; hence no side
 * waits for one that has ended, because its end closes the connection.
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
/* The key that a client shows; NULL: none. */
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

/* An error of this class of which another process, rank 0 or a root, has the details. */
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
    int number, index;          /* the call on this communicator, and which request of it */
    struct MPIR_Dynproc_link *link;     /* rank 0, if taken */
    void (*cancel) (struct MPIR_Dynproc_request * request);     /* rank 0 */
    void *owner;
    struct MPIR_Dynproc_request *next;
};

int MPIR_Dynproc_request_make(MPIR_Comm * comm, bool is_server, int number, int index,
                              struct MPIR_Dynproc_request **request);
/* Completes it; error is that of the completion if it FAILED. */
void MPIR_Dynproc_request_end(struct MPIR_Dynproc_request *request, enum MPIR_Dynproc_state state,
                              int error);
/* The request of a handle, or NULL. */
struct MPIR_Dynproc_request *MPIR_Dynproc_request_of(MPI_Request handle);
/* Removes it, with the user's handle. */
void MPIR_Dynproc_request_drop(struct MPIR_Dynproc_request *request);

/* ---- progress: what is called while something is under way (port.c, contact.c) */

void MPIR_Dynproc_start_polling(void);
/* The same, and `poll` is called from now on, too, which returns whether there is anything to poll;
 * `close` at MPI_Finalize. */
void MPIR_Dynproc_start_polling_by(bool (*poll) (void), void (*close) (void));
bool MPIR_Dynproc_poll_services(void);  /* whether there is anything to poll */
bool MPIR_Dynproc_poll_contacts(void);
bool MPIR_Dynproc_poll_events(void);
void MPIR_Dynproc_sweep(void);  /* requests that the user has freed */

/* Between two polls of a process that waits: progress, other threads, and a nap after a while. */
struct MPIR_Dynproc_wait {
    int polls;
    int fd;                     /* wakes it, -1: none */
    /* it naps soon, for who is waited for may need this core; who brings a line wakes it */
    bool is_short;
};
int MPIR_Dynproc_pause(struct MPIR_Dynproc_wait *wait);

/* At MPI_Finalize all names are given back and all connections closed. */
void MPIR_Dynproc_at_finalize(void);
void MPIR_Dynproc_close_services(void);

/* ---- attach.c: both sides */

enum MPIR_Dynproc_role {
    MPIR_DYNPROC_SERVER,
    MPIR_DYNPROC_CLIENT,
    /* as a client; the parents need not be there, and send nothing after their SIDE */
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
    struct MPIR_Dynproc_link *link;     /* rank 0: on which they have met */
};

/* How rank 0 comes to the other side by its name, and exchanges with it. */
typedef int (MPIR_Dynproc_rendezvous) (const char *name, struct MPIR_Dynproc_attach * attach);
/* Collective, of a side that listens for lines: all business cards at the root, which frees the
 * array; NULL elsewhere. */
int MPIR_Dynproc_gather_bcs(MPIR_Comm * comm, int root, struct MPIR_Dynproc_lines *lines,
                            struct MPIR_Dynproc_bc **bcs);
/* On all processes of comm.  The others get an error of the class of rank 0's. */
int MPIR_Dynproc_attach(MPIR_Comm * comm, enum MPIR_Dynproc_role role,
                        MPIR_Dynproc_rendezvous * rendezvous, const char *name,
                        MPIR_Comm ** newcomm);
/* In the rendezvous function.  The connection is the attach's then.  MPI_ERR_PORT: the other side
 * has ended. */
int MPIR_Dynproc_attach_exchange(struct MPIR_Dynproc_attach *attach,
                                 struct MPIR_Dynproc_link *link);

/* ---- watch.c */

/* The intercommunicator is that of a connection: when its other side has ended, what waits for that
 * is failed.  The lines are taken over; NULL: there was no memory for them. */
int MPIR_Dynproc_connect(MPIR_Comm * comm, struct MPIR_Dynproc_lines *lines);
/* A communicator comes from another one, and is of the same connection; one has been freed. */
void MPIR_Dynproc_comm_derived(MPIR_Comm * comm, const MPIR_Comm * from);
void MPIR_Dynproc_comm_freed(const MPIR_Comm * comm);
/* Until its lines are there, or a few seconds have passed. */
int MPIR_Dynproc_await_lines(const MPIR_Comm * comm);
/* Lines are polled as fast as possible. */
void MPIR_Dynproc_is_connecting(bool is);
/* The other side has ended, by what has been seen elsewhere. */
void MPIR_Dynproc_set_broken(const MPIR_Comm * comm);
/* Another process of this side has reported that the other one has ended, on a local communicator
 * with this id. */
void MPIR_Dynproc_note_ended(int context_id);
/* Whether there is or was any: a message without a request that the network could not send is
 * forgiven then, also when the intercommunicator has been freed meanwhile. */
bool MPIR_Dynproc_had_connections(void);
/* This is a line, too.  The descriptor is taken over. */
void MPIR_Dynproc_watch(MPIR_Comm * comm, int fd);

/* ---- parent.c: a process that has been started by MPIX_Comm_parent_create, at the end of
 * MPI_Init; others go on */

int MPIR_Dynproc_rendezvous_parent(void);

#endif /* DYNPROC_H_INCLUDED */
