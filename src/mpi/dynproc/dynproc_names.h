/*
 * Names of servers, and where they are.  DN1, DN6.
 *
 *   HOST:PORT   a TCP socket of the server's rank 0, which runs on HOST; client and server know the user's secret
 *   other       a Unix socket in the user's private directory of this host, into which nobody else can look.  Who
 *               listens has the name; a socket on which nobody listens any more is of a process that has ended
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
#define MPIR_DYNPROC_WHY 256    /* of a message about what went wrong */

struct MPIR_Dynproc_place {
    bool on_network;
    char name[MPIR_DYNPROC_NAME + 1];
    char host[MPIR_DYNPROC_NAME + 1];   /* on the network */
    int port;
    char path[MPIR_DYNPROC_PATH];       /* otherwise */
    unsigned char secret[MPIR_DYNPROC_SEAL];
    struct sockaddr_storage address;
    socklen_t address_bytes;
};

/* Where a server of this name is or would be.  Looks up HOST, which may take a while. */
int MPIR_Dynproc_find(const char *name, struct MPIR_Dynproc_place *place);

/* A socket that listens there.  MPI_ERR_SERVICE: somebody else has the name.  The port, if any will do, is set. */
int MPIR_Dynproc_listen(struct MPIR_Dynproc_place *place, int *fd);
void MPIR_Dynproc_close(const struct MPIR_Dynproc_place *place, int fd);

/* At the end of the process. */
void MPIR_Dynproc_release_names(void);

#endif /* NAMES_H_INCLUDED */
