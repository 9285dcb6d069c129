/*
 * A socket that listens for a name: on the network, or in the user's private directory
 * (dynproc_names.h).  No state.
 */

#include "dynproc_names.h"
#include "../../pm/hydra/elastic/wire/step_socket.h"
#include <arpa/inet.h>
#include <netinet/in.h>

#define BACKLOG 4096

static bool is_local(const struct MPIR_Dynproc_endpoint *endpoint)
{
    struct MPIR_Dynproc_endpoint any_port = *endpoint;
    int fd = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    MPIR_Dynproc_set_port(&any_port, 0);
    bool local = fd >= 0 &&
        bind(fd, (struct sockaddr *) &any_port.address, any_port.address_bytes) == 0;
    if (fd >= 0)
        close(fd);
    return local;
}

/* The name of a host may resolve to an address that is valid only on this host (127.0.1.1): then
 * clients on other hosts could not connect, so a server listens on all addresses unless its name
 * has a particular one. */
static void widen(struct MPIR_Dynproc_endpoint *endpoint)
{
    unsigned char numeric[sizeof(struct in6_addr)];

    if (!strcmp(endpoint->host, "localhost") ||
        inet_pton(endpoint->address.ss_family, endpoint->host, numeric) == 1)
        return;
    if (endpoint->address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *) &endpoint->address)->sin6_addr = in6addr_any;
    else
        ((struct sockaddr_in *) &endpoint->address)->sin_addr.s_addr = htonl(INADDR_ANY);
}

static void read_own_port(struct MPIR_Dynproc_endpoint *endpoint, int fd)
{
    struct sockaddr_storage got;
    socklen_t bytes = sizeof(got);

    if (getsockname(fd, (struct sockaddr *) &got, &bytes) == 0)
        MPIR_Dynproc_set_port(endpoint, ntohs(got.ss_family == AF_INET6
                                              ? ((struct sockaddr_in6 *) &got)->sin6_port :
                                 ((struct sockaddr_in *) &got)->sin_port));
}

/* 0, or errno. */
static int listen_on_network(struct MPIR_Dynproc_endpoint *endpoint, int *fd)
{
    int yes = 1;

    if (!is_local(endpoint))
        return EADDRNOTAVAIL;
    widen(endpoint);
    *fd = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0)
        return errno;
    setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(*fd, (struct sockaddr *) &endpoint->address, endpoint->address_bytes) == 0 &&
        listen(*fd, BACKLOG) == 0) {
        read_own_port(endpoint, *fd);
        return 0;
    }
    int failed = errno;
    close(*fd);
    return failed;
}

static int listen_in_directory(struct MPIR_Dynproc_endpoint *endpoint, int *fd)
{
    MPIR_Dynproc_sweep_directory();
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*fd < 0)
        return errno;
    if (bind(*fd, (struct sockaddr *) &endpoint->address, endpoint->address_bytes) == 0 &&
        listen(*fd, BACKLOG) == 0)
        return 0;
    int failed = errno;
    close(*fd);
    return failed;
}

int MPIR_Dynproc_listen(struct MPIR_Dynproc_endpoint *endpoint, int *fd)
{
    int mpi_errno = MPI_SUCCESS, failed, lock_fd = MPIR_Dynproc_lock_directory();
    const char *why;

    if (MPIR_Dynproc_is_reserved(endpoint))
        failed = EADDRINUSE;
    else
        failed = endpoint->on_network ? listen_on_network(endpoint, fd)
            : listen_in_directory(endpoint, fd);
    MPIR_Dynproc_unlock_directory(lock_fd);
    if (failed == EADDRNOTAVAIL)
        why = "this host has another name; HOST must be the host of the server's rank 0";
    else
        why = failed == EADDRINUSE ? "another server uses it" : strerror(failed);
    MPIR_ERR_CHKANDJUMP2(failed == EADDRINUSE, mpi_errno, MPI_ERR_SERVICE, "**dynprocserver",
                         "**dynprocserver %s %s", endpoint->name, why);
    MPIR_ERR_CHKANDJUMP2(failed, mpi_errno, MPI_ERR_PORT, "**dynprocserver",
                         "**dynprocserver %s %s", endpoint->name, why);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Dynproc_close(const struct MPIR_Dynproc_endpoint *endpoint, int fd)
{
    int lock_fd = endpoint->on_network ? -1 : MPIR_Dynproc_lock_directory();

    close(fd);
    /* not a socket that another process has made there since */
    if (!endpoint->on_network && step_socket_is_stale(endpoint->path))
        unlink(endpoint->path);
    MPIR_Dynproc_unlock_directory(lock_fd);
}
