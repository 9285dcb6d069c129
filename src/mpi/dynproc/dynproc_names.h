/*
 * Names of servers, and their addresses.  DN1, DN6.
 *
 *   HOST:PORT   a TCP socket of the server's rank 0, which runs on HOST; client and server know the
 *               user's secret
 *   other       in a job of elasticd a TCP socket, registered with elasticd (name_service.c); else
 *               a Unix socket in the user's private directory of this host, which other users
 *               cannot read.  The listening process has the name; a socket without a listener
 *               belongs to a process that has ended
 *
 * A name that is reserved for a job has a file beside it that its process has locked.
 */

#ifndef NAMES_H_INCLUDED
#define NAMES_H_INCLUDED

#include "mpiimpl.h"
#include "dynproc_seal.h"
#include <stdbool.h>
#include <sys/socket.h>

#define MPIR_DYNPROC_NAME 200   /* characters */
#define MPIR_DYNPROC_PATH 108   /* of a Unix socket, with the 0 */
#define MPIR_DYNPROC_WHY 256    /* of a message about the error */

struct MPIR_Dynproc_endpoint {
    bool on_network;
    /* also on the network; elasticd knows the address (name_service.c) */
    bool by_service;
    char name[MPIR_DYNPROC_NAME + 1];
    char host[MPIR_DYNPROC_NAME + 1];   /* on the network */
    int port;
    char path[MPIR_DYNPROC_PATH];       /* otherwise */
    unsigned char secret[MPIR_DYNPROC_SEAL];
    struct sockaddr_storage address;
    socklen_t address_bytes;
};

/* The endpoint of a server of this name, which need not exist.  Resolves HOST, which may take a
 * while. */
int MPIR_Dynproc_find(const char *name, struct MPIR_Dynproc_endpoint *endpoint);

/* name_listen.c.  A socket that listens at the endpoint.  MPI_ERR_SERVICE: another process has the
 * name.  Sets the port if the endpoint has none. */
int MPIR_Dynproc_listen(struct MPIR_Dynproc_endpoint *endpoint, int *fd);
void MPIR_Dynproc_close(const struct MPIR_Dynproc_endpoint *endpoint, int fd);

/* name_service.c: in a job of elasticd, which knows the names of all jobs of the user.  While one
 * of these functions waits for the reply, the process makes progress and its other threads
 * continue; do not call them in a hook of progress. */
bool MPIR_Dynproc_has_name_service(void);
/* False: another process has the name. */
bool MPIR_Dynproc_publish(const char *name, const char *text);
/* `text` has MPI_MAX_PORT_NAME bytes.  False: no server has the name. */
bool MPIR_Dynproc_lookup(const char *name, char *text);
/* Afterwards only processes of this job can publish the name. */
bool MPIR_Dynproc_reserve(const char *name);

/* May be called in a hook: mpiexec withdraws the names later, in order, without a reply. */
void MPIR_Dynproc_withdraw(const char *name);
void MPIR_Dynproc_end_reservation(const char *name);

/* May be called in a hook: a lookup in steps.  After LOOKS the owner calls it again, or calls the
 * second function. */
enum MPIR_Dynproc_found { MPIR_DYNPROC_LOOKS, MPIR_DYNPROC_FOUND, MPIR_DYNPROC_NOBODY };
enum MPIR_Dynproc_found MPIR_Dynproc_step_lookup(const void *owner, const char *name, char *text);
void MPIR_Dynproc_forget_lookup(const void *owner);

/* name_reserve.c.  Called at the end of the process. */
void MPIR_Dynproc_release_names(void);
/* Whether a living process of another job has reserved the name. */
bool MPIR_Dynproc_is_reserved(const struct MPIR_Dynproc_endpoint *endpoint);
/* Reserves the name for this job; false: another job has it, or `why` has the error.  The caller
 * has locked the directory. */
bool MPIR_Dynproc_reserve_here(const struct MPIR_Dynproc_endpoint *endpoint, char *why);
bool MPIR_Dynproc_reserve_by_service(const struct MPIR_Dynproc_endpoint *endpoint);

/* name_directory.c: the user's private directory of this host, and its lock, which is held only for
 * a short time.  False: there is no directory; `why` has the reason. */
bool MPIR_Dynproc_private_directory(char *path, size_t bytes, char *why);
/* The path of the name's socket. */
bool MPIR_Dynproc_find_in_directory(struct MPIR_Dynproc_endpoint *endpoint, char *why);
/* Hash of a name of any characters. */
uint64_t MPIR_Dynproc_name_sum(const char *name);
int MPIR_Dynproc_lock_directory(void);
void MPIR_Dynproc_unlock_directory(int fd);
/* Removes the files of killed processes.  The caller holds the lock. */
void MPIR_Dynproc_sweep_directory(void);

/* name_secret.c: false: there is no secret; `why` has the reason. */
bool MPIR_Dynproc_get_secret(unsigned char secret[MPIR_DYNPROC_SEAL], char *why);

/* names.c */
void MPIR_Dynproc_set_port(struct MPIR_Dynproc_endpoint *endpoint, int port);

#endif /* NAMES_H_INCLUDED */
