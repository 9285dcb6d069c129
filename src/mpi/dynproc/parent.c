/*
 * Connects the processes that MPIX_Comm_parent_create has bound and the processes that have started
 * them.  DC2, DC3.
 *
 * The process that holds the requests listens on a port of its own, with a secret of its own; both,
 * and the addresses of its host, are in the environment of the new processes (PMI_PARENT_ENV).  At
 * the end of their MPI_Init rank 0 connects as a client does, and the sides are exchanged
 * (dynproc_link.h).  The other processes need not take part.
 */

#include "dynproc_service.h"
#include "pmi_adapt_set.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>

#define AGAIN_SECONDS 0.05

/* ---- the listening process ------------------------------------------------------------------- */

/* Writes IPv4 addresses, separated by commas; addresses that other hosts can reach come first. */
static void write_addresses(char *text, size_t bytes)
{
    struct ifaddrs *all = NULL;
    int n = 0;
    size_t used = 0;

    text[0] = '\0';
    if (getifaddrs(&all) != 0)
        all = NULL;
    for (int loopback = 0; loopback < 2; loopback++) {
        for (struct ifaddrs * one = all; one && n < MPIR_DYNPROC_ADDRESSES; one = one->ifa_next) {
            bool is_loopback = one->ifa_flags & IFF_LOOPBACK;
            if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || !(one->ifa_flags & IFF_UP)
                || is_loopback != loopback)
                continue;
            char digits[INET_ADDRSTRLEN] = "";
            inet_ntop(AF_INET, &((struct sockaddr_in *) one->ifa_addr)->sin_addr, digits,
                      sizeof(digits));
            used += (size_t) snprintf(text + used, bytes - used, "%s%s", n++ ? "," : "", digits);
        }
    }
    if (all)
        freeifaddrs(all);
}

static void write_secret(const unsigned char secret[MPIR_DYNPROC_SEAL],
                         char text[2 * MPIR_DYNPROC_SEAL + 1])
{
    for (int i = 0; i < MPIR_DYNPROC_SEAL; i++)
        snprintf(text + 2 * i, 3, "%02x", secret[i]);
}

int MPIR_Dynproc_parent_listen(struct MPIR_Dynproc_service **service,
                               char text[MPIR_DYNPROC_PARENT])
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_endpoint endpoint = {.on_network = true,.name = "parent",
        .address_bytes = sizeof(struct sockaddr_in)
    };
    char addresses[MPIR_DYNPROC_ADDRESSES * (INET_ADDRSTRLEN + 1)],
        secret[2 * MPIR_DYNPROC_SEAL + 1];

    endpoint.address.ss_family = AF_INET;
    MPIR_ERR_CHKANDJUMP1(getrandom(endpoint.secret, sizeof(endpoint.secret), 0) !=
                         sizeof(endpoint.secret), mpi_errno,
                         MPI_ERR_PORT, "**dynprocsecret", "**dynprocsecret %s",
                             "the system has no random numbers");
    mpi_errno = MPIR_Dynproc_service_at(&endpoint, service);
    MPIR_ERR_CHECK(mpi_errno);
    write_addresses(addresses, sizeof(addresses));
    write_secret(endpoint.secret, secret);
    snprintf(text, MPIR_DYNPROC_PARENT, "%s:%d:%s", addresses, (*service)->endpoint.port, secret);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- the started processes ------------------------------------------------------------------- */

static bool read_secret(const char *text, unsigned char secret[MPIR_DYNPROC_SEAL])
{
    unsigned byte;

    for (int i = 0; i < MPIR_DYNPROC_SEAL; i++) {
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        secret[i] = (unsigned char) byte;
    }
    return text[2 * MPIR_DYNPROC_SEAL] == '\0';
}

bool MPIR_Dynproc_read_ways(const char *text, struct MPIR_Dynproc_ways *ways)
{
    char copy[MPIR_DYNPROC_PARENT], *rest;
    const char *port = strchr(text, ':'), *secret = port ? strchr(port + 1, ':') : NULL;

    memset(ways, 0, sizeof(*ways));
    if (!secret || strlen(text) >= sizeof(copy) || strlen(secret + 1) != 2 * MPIR_DYNPROC_SEAL ||
        !read_secret(secret + 1, ways->secret))
        return false;
    snprintf(copy, sizeof(copy), "%.*s", (int) (port - text), text);
    for (char *one = strtok_r(copy, ",", &rest); one && ways->n < MPIR_DYNPROC_ADDRESSES;
         one = strtok_r(NULL, ",", &rest)) {
        struct sockaddr_in *address = &ways->ways[ways->n].address;
        address->sin_family = AF_INET;
        address->sin_port = htons((uint16_t) atoi(port + 1));
        if (inet_pton(AF_INET, one, &address->sin_addr) == 1)
            ways->n++;
    }
    return ways->n > 0;
}

bool MPIR_Dynproc_read_way(const char *text, int i, struct MPIR_Dynproc_endpoint *endpoint)
{
    struct MPIR_Dynproc_ways ways;

    if (!MPIR_Dynproc_read_ways(text, &ways))
        return false;
    memcpy(&endpoint->address, &ways.ways[i % ways.n].address, sizeof(ways.ways[0].address));
    endpoint->address_bytes = sizeof(ways.ways[0].address);
    memcpy(endpoint->secret, ways.secret, sizeof(endpoint->secret));
    return true;
}

static void drop(struct MPIR_Dynproc_way *way)
{
    MPIR_Dynproc_link_free(way->link);
    way->link = NULL;
    way->again_at = MPIR_Dynproc_now() + AGAIN_SECONDS;
}

static void try_now(struct MPIR_Dynproc_ways *ways, struct MPIR_Dynproc_way *way)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    way->again_at = MPIR_Dynproc_now() + AGAIN_SECONDS;
    if (fd < 0)
        return;
    if (connect(fd, (struct sockaddr *) &way->address, sizeof(way->address)) == 0 ||
        errno == EINPROGRESS)
        way->link = MPIR_Dynproc_link_new(fd, ways->secret);
    if (!way->link)
        close(fd);
    else if (!MPIR_Dynproc_send_hello(way->link, &ways->hello))
        drop(way);
}

static bool is_there(int fd)
{
    struct sockaddr_in address;
    socklen_t bytes = sizeof(address);

    return getpeername(fd, (struct sockaddr *) &address, &bytes) == 0;
}

/* Whether the listener has accepted this process on this way. */
static bool is_taken(struct MPIR_Dynproc_ways *ways, struct MPIR_Dynproc_way *way)
{
    enum MPIR_Dynproc_verdict verdict;

    if (!way->link && MPIR_Dynproc_now() >= way->again_at)
        try_now(ways, way);
    if (!way->link)
        return false;
    enum MPIR_Dynproc_link_state state = MPIR_Dynproc_read_verdict(way->link, &verdict);
    if (state == MPIR_DYNPROC_DONE && verdict == MPIR_DYNPROC_WELCOME)
        return true;
    if (state == MPIR_DYNPROC_MORE && is_there(way->link->fd))
        ways->lived_at = MPIR_Dynproc_now();
    if (state != MPIR_DYNPROC_MORE)
        drop(way);
    if (state == MPIR_DYNPROC_DONE && ways->refused_at <= 0)
        ways->refused_at = MPIR_Dynproc_now();
    return false;
}

struct MPIR_Dynproc_link *MPIR_Dynproc_take_way(struct MPIR_Dynproc_ways *ways)
{
    for (int i = 0; i < ways->n; i++) {
        struct MPIR_Dynproc_way *way = &ways->ways[i];
        if (is_taken(ways, way)) {
            struct MPIR_Dynproc_link *link = way->link;
            way->link = NULL;
            return link;
        }
    }
    return NULL;
}

void MPIR_Dynproc_free_ways(struct MPIR_Dynproc_ways *ways)
{
    for (int i = 0; i < ways->n; i++)
        MPIR_Dynproc_link_free(ways->ways[i].link);
    ways->n = 0;
}

static bool any_lives(const struct MPIR_Dynproc_ways *ways)
{
    for (int i = 0; i < ways->n; i++) {
        if (ways->ways[i].link)
            return true;
    }
    return false;
}

/* A living listener may be slow: it polls only while its program is in MPI calls. */
static int rendezvous(const char *text, struct MPIR_Dynproc_attach *attach)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_ways ways;
    struct MPIR_Dynproc_link *link = NULL;
    struct MPIR_Dynproc_wait wait = {.fd = -1 };
    double lived_at = MPIR_Dynproc_now();

    MPIR_ERR_CHKANDJUMP(!MPIR_Dynproc_read_ways(text, &ways), mpi_errno, MPI_ERR_PORT,
                        "**dynproclost");
    ways.hello = (struct MPIR_Dynproc_hello) {.name = "parent",.key_bytes = -1 };
    while (!(link = MPIR_Dynproc_take_way(&ways))) {
        lived_at = any_lives(&ways) ? MPIR_Dynproc_now() : lived_at;
        MPIR_ERR_CHKANDJUMP(MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT > 0 &&
                            MPIR_Dynproc_now() - lived_at > MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT,
                            mpi_errno, MPI_ERR_PORT, "**dynproclost");
        mpi_errno = MPIR_Dynproc_pause(&wait);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Dynproc_attach_exchange(attach, link);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Dynproc_free_ways(&ways);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The variable is removed, so that processes that this one starts do not use it. */
int MPIR_Dynproc_rendezvous_parent(void)
{
    int mpi_errno = MPI_SUCCESS;
    char text[MPIR_DYNPROC_PARENT];
    const char *given = getenv(PMI_PARENT_ENV);

    if (!given)
        return MPI_SUCCESS;
    snprintf(text, sizeof(text), "%s", given);
    unsetenv(PMI_PARENT_ENV);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    mpi_errno = MPIR_Dynproc_attach(MPIR_Process.comm_world, MPIR_DYNPROC_CHILD, rendezvous, text,
                                    &MPIR_Process.comm_parent);
    if (mpi_errno == MPI_SUCCESS) {
        MPL_strncpy(MPIR_Process.comm_parent->name, "MPI_COMM_PARENT", MPI_MAX_OBJECT_NAME);
        MPID_Dynproc_is_unknown_to(MPIR_Process.comm_parent);
    }
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return mpi_errno;
}
