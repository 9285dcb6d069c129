/* See dynproc_names.h: names as programs give them, and the address of the server of a name.  No
 * state. */

#include "dynproc_names.h"
#include "dynproc.h"
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#define TRIES 100

/* ---- parts of a name ------------------------------------------------------------------------- */

static bool is_name_well_formed(const char *name)
{
    size_t length = strnlen(name, MPIR_DYNPROC_NAME + 1);

    for (size_t i = 0; i < length; i++) {
        if ((unsigned char) name[i] < ' ' || name[i] == 0x7f)
            return false;
    }
    return length >= 1 && length <= MPIR_DYNPROC_NAME;
}

/* HOST:PORT: a number of at most 65535 follows the last colon, the name of a host precedes it. */
static bool has_port(struct MPIR_Dynproc_endpoint *endpoint)
{
    const char *colon = strrchr(endpoint->name, ':');
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    char *host = endpoint->host;

    if (!colon || colon == endpoint->name || digits < 1 || digits > 5 || colon[1 + digits])
        return false;
    snprintf(host, sizeof(endpoint->host), "%.*s", (int) (colon - endpoint->name), endpoint->name);
    if (host[0] == '[' && host[strlen(host) - 1] == ']') {
        memmove(host, host + 1, strlen(host));
        host[strlen(host) - 1] = '\0';
    }
    endpoint->port = atoi(colon + 1);
    return endpoint->port <= 65535 && host[0] &&
        !host[strspn(host, "0123456789abcdefghijklmnopqrstuvwxyz"
                                                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-_:%")];
}

/* ---- the address of a name ------------------------------------------------------------------- */

void MPIR_Dynproc_set_port(struct MPIR_Dynproc_endpoint *endpoint, int port)
{
    endpoint->port = port;
    if (endpoint->address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *) &endpoint->address)->sin6_port = htons((uint16_t) port);
    else
        ((struct sockaddr_in *) &endpoint->address)->sin_port = htons((uint16_t) port);
}

static bool resolve_host(struct MPIR_Dynproc_endpoint *endpoint, char *why)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,.ai_socktype = SOCK_STREAM }, *found = NULL;
    int failed = getaddrinfo(endpoint->host, NULL, &hints, &found);

    if (failed || !found || found->ai_addrlen > sizeof(endpoint->address)) {
        snprintf(why, MPIR_DYNPROC_WHY, "host %.100s: %.100s", endpoint->host,
                 failed ? gai_strerror(failed) : "no address");
        if (found)
            freeaddrinfo(found);
        return false;
    }
    memcpy(&endpoint->address, found->ai_addr, found->ai_addrlen);
    endpoint->address_bytes = found->ai_addrlen;
    freeaddrinfo(found);
    MPIR_Dynproc_set_port(endpoint, endpoint->port);
    return true;
}

static void set_path(struct MPIR_Dynproc_endpoint *endpoint)
{
    struct sockaddr_un *address = (struct sockaddr_un *) &endpoint->address;

    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, endpoint->path, sizeof(endpoint->path));
    endpoint->address_bytes = sizeof(*address);
}

int MPIR_Dynproc_find(const char *name, struct MPIR_Dynproc_endpoint *endpoint)
{
    int mpi_errno = MPI_SUCCESS;
    char why[MPIR_DYNPROC_WHY] = "";

    MPIR_Assert(sizeof(endpoint->path) == sizeof(((struct sockaddr_un *) 0)->sun_path));
    memset(endpoint, 0, sizeof(*endpoint));
    MPIR_ERR_CHKANDJUMP(!name ||
                        !is_name_well_formed(name), mpi_errno, MPI_ERR_ARG, "**dynprocname");
    snprintf(endpoint->name, sizeof(endpoint->name), "%s", name);
    endpoint->on_network = has_port(endpoint);
    if (endpoint->on_network) {
        MPIR_ERR_CHKANDJUMP1(!MPIR_Dynproc_get_secret(endpoint->secret, why), mpi_errno,
                             MPI_ERR_PORT, "**dynprocsecret", "**dynprocsecret %s", why);
        MPIR_ERR_CHKANDJUMP2(!resolve_host(endpoint, why), mpi_errno, MPI_ERR_PORT,
                             "**dynprocserver", "**dynprocserver %s %s", endpoint->name, why);
    } else if (MPIR_Dynproc_has_name_service()) {
        endpoint->on_network = endpoint->by_service = true;
    } else {
        MPIR_ERR_CHKANDJUMP2(!MPIR_Dynproc_find_in_directory(endpoint, why), mpi_errno,
                             MPI_ERR_NAME, "**dynprocserver", "**dynprocserver %s %s",
                             endpoint->name, why);
        set_path(endpoint);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- MPIX_Get_server_name -------------------------------------------------------------------- */

/* Writes `why` if the error does not depend on the name. */
static bool try_name(const char *name, char given[], char *why)
{
    struct MPIR_Dynproc_endpoint endpoint;
    int fd = -1;

    if (MPIR_Dynproc_find(name, &endpoint) != MPI_SUCCESS)
        return false;
    if (endpoint.by_service) {
        bool is_reserved_now = MPIR_Dynproc_reserve_by_service(&endpoint);
        if (is_reserved_now)
            snprintf(given, MPI_MAX_PORT_NAME, "%s", endpoint.name);
        return is_reserved_now;
    }
    if (MPIR_Dynproc_listen(&endpoint, &fd) != MPI_SUCCESS)
        return false;
    if (endpoint.on_network)
        snprintf(endpoint.name, sizeof(endpoint.name),
                 strchr(endpoint.host, ':') ? "[%.190s]:%d" : "%.190s:%d", endpoint.host,
                 endpoint.port);
    int lock_fd = MPIR_Dynproc_lock_directory();
    close(fd);
    if (!endpoint.on_network)
        unlink(endpoint.path);
    bool is_given = MPIR_Dynproc_reserve_here(&endpoint, why);
    MPIR_Dynproc_unlock_directory(lock_fd);
    if (is_given)
        snprintf(given, MPI_MAX_PORT_NAME, "%s", endpoint.name);
    return is_given;
}

int MPIR_Get_server_name_impl(const char *requested, char given[])
{
    int mpi_errno = MPI_SUCCESS;
    char name[MPIR_DYNPROC_NAME + 1], why[MPIR_DYNPROC_WHY] = "no other name is available, either";

    MPIR_ERR_CHKANDJUMP1(!requested, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s",
                         "requested_name");
    MPIR_ERR_CHKANDJUMP1(!given, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s", "given_name");
    MPIR_Dynproc_at_finalize();
    if (try_name(requested, given, why))
        goto fn_exit;
    for (int i = 1; i <= TRIES; i++) {
        snprintf(name, sizeof(name), "%.160s-%ld-%d",
                 is_name_well_formed(requested) ? requested : "server", (long) getpid(), i);
        if (try_name(name, given, why))
            goto fn_exit;
    }
    MPIR_ERR_SETANDJUMP2(mpi_errno, MPI_ERR_SERVICE, "**dynprocserver", "**dynprocserver %s %s",
                         name, why);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
