/* See dynproc_service.h. */

#include "dynproc_service.h"
#include <poll.h>

#define SILENT_MAX 64
#define WAITING_MAX 256
#define HELLO_SECONDS 2.0
#define ACCEPTS 64              /* of one poll */

struct MPIR_Dynproc_service *MPIR_Dynproc_services;

static void append(struct MPIR_Dynproc_link **list, struct MPIR_Dynproc_link *link)
{
    while (*list)
        list = &(*list)->next;
    link->next = NULL;
    *list = link;
}

static struct MPIR_Dynproc_link *remove_first(struct MPIR_Dynproc_link **list)
{
    struct MPIR_Dynproc_link *first = *list;

    *list = first->next;
    first->next = NULL;
    return first;
}

static void free_all(struct MPIR_Dynproc_link **list)
{
    while (*list)
        MPIR_Dynproc_link_free(remove_first(list));
}

int MPIR_Dynproc_service_at(const struct MPIR_Dynproc_endpoint *endpoint,
                            struct MPIR_Dynproc_service **opened)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_service *service = MPL_calloc(1, sizeof(*service), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!service, mpi_errno, MPI_ERR_OTHER, "**nomem");
    service->endpoint = *endpoint;
    mpi_errno = MPIR_Dynproc_listen(&service->endpoint, &service->fd);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Dynproc_at_finalize();
    service->next = MPIR_Dynproc_services;
    MPIR_Dynproc_services = service;
    *opened = service;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(service);
    goto fn_exit;
}

/* The service listens on any port, which it publishes. */
static int open_registered(const char *name, struct MPIR_Dynproc_service **opened)
{
    int mpi_errno = MPI_SUCCESS;
    char text[MPIR_DYNPROC_PARENT], other[MPI_MAX_PORT_NAME];
    struct MPIR_Dynproc_service *service = NULL;

    mpi_errno = MPIR_Dynproc_parent_listen(&service, text);
    MPIR_ERR_CHECK(mpi_errno);
    service->is_registered = MPIR_Dynproc_publish(name, text);
    MPIR_ERR_CHKANDJUMP2(!service->is_registered &&
                         MPIR_Dynproc_lookup(name, other), mpi_errno, MPI_ERR_SERVICE,
                         "**dynprocserver", "**dynprocserver %s %s", name,
                         "another server uses it");
    MPIR_ERR_CHKANDJUMP2(!service->is_registered, mpi_errno, MPI_ERR_SERVICE, "**dynprocserver",
                         "**dynprocserver %s %s", name,
                         "the resource manager cannot be reached, or the job has the maximum of "
                         "256 names");
    *opened = service;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (service)
        MPIR_Dynproc_service_close(service);
    goto fn_exit;
}

static bool is_opening;       /* a thread waits for the name of its service while others continue */

static int await_turn(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_wait wait = {.fd = -1 };

    while (!mpi_errno && is_opening)
        mpi_errno = MPIR_Dynproc_pause(&wait);
    return mpi_errno;
}

int MPIR_Dynproc_service_open(const char *name, struct MPIR_Dynproc_service **opened)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_service *service;
    struct MPIR_Dynproc_endpoint endpoint;

    MPIR_ERR_CHKANDJUMP(!name, mpi_errno, MPI_ERR_ARG, "**dynprocname");
    mpi_errno = await_turn();
    MPIR_ERR_CHECK(mpi_errno);
    service = MPIR_Dynproc_services;
    /* those of lines and parents have no name */
    while (service && (!name[0] || strcmp(service->name, name)))
        service = service->next;
    *opened = service;
    if (service)
        goto fn_exit;
    mpi_errno = MPIR_Dynproc_find(name, &endpoint);
    MPIR_ERR_CHECK(mpi_errno);
    is_opening = endpoint.by_service;
    mpi_errno = endpoint.by_service ? open_registered(name, opened)
        : MPIR_Dynproc_service_at(&endpoint, opened);
    is_opening = false;
    MPIR_ERR_CHECK(mpi_errno);
    snprintf((*opened)->name, sizeof((*opened)->name), "%s", name);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Dynproc_service_close(struct MPIR_Dynproc_service *service)
{
    struct MPIR_Dynproc_service **cursor = &MPIR_Dynproc_services;

    while (*cursor != service)
        cursor = &(*cursor)->next;
    *cursor = service->next;
    if (service->is_registered)
        MPIR_Dynproc_withdraw(service->name);
    free_all(&service->silent);
    free_all(&service->waiting);
    MPIR_Dynproc_close(&service->endpoint, service->fd);
    MPL_free(service);
}

static void accept_one(struct MPIR_Dynproc_service *service, int fd)
{
    struct MPIR_Dynproc_link *link = MPIR_Dynproc_link_new(fd, service->endpoint.secret);

    if (!link) {
        close(fd);
        return;
    }
    link->since = MPIR_Dynproc_now();
    if (service->n_silent == SILENT_MAX)
        MPIR_Dynproc_link_free(remove_first(&service->silent));
    else
        service->n_silent++;
    append(&service->silent, link);
}

/* Whether the handshake of this connection has ended, with success or failure. */
static bool is_handshake_over(struct MPIR_Dynproc_service *service, struct MPIR_Dynproc_link *link,
                              bool *is_client)
{
    char name[MPIR_DYNPROC_NAME + 1];
    struct MPIR_Dynproc_hello hello;
    enum MPIR_Dynproc_link_state state = MPIR_Dynproc_read_hello(link, &hello, name);

    /* a client of a port must know the secret, but not this host's name of itself */
    *is_client = state == MPIR_DYNPROC_DONE && (service->endpoint.on_network ||
                                                !strcmp(name, service->name));
    return state != MPIR_DYNPROC_MORE || MPIR_Dynproc_now() - link->since > HELLO_SECONDS;
}

static void listen_to_silent(struct MPIR_Dynproc_service *service)
{
    bool is_client;

    for (struct MPIR_Dynproc_link ** cursor = &service->silent; *cursor;) {
        if (!is_handshake_over(service, *cursor, &is_client)) {
            cursor = &(*cursor)->next;
            continue;
        }
        struct MPIR_Dynproc_link *link = remove_first(cursor);
        service->n_silent--;
        if (is_client) {
            append(&service->waiting, link);
            service->n_waiting++;
        } else {
            MPIR_Dynproc_link_free(link);
        }
    }
}

static void remove_exited(struct MPIR_Dynproc_service *service)
{
    for (struct MPIR_Dynproc_link ** cursor = &service->waiting; *cursor;) {
        if (MPIR_Dynproc_link_lives(*cursor)) {
            cursor = &(*cursor)->next;
            continue;
        }
        MPIR_Dynproc_link_free(remove_first(cursor));
        service->n_waiting--;
    }
}

void MPIR_Dynproc_service_poll(struct MPIR_Dynproc_service *service)
{
    int fd = -1;

    if (service->n_waiting >= WAITING_MAX)
        remove_exited(service);
    for (int i = 0; i < ACCEPTS && service->n_waiting < WAITING_MAX; i++) {
        fd = accept4(service->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            break;
        accept_one(service, fd);
        listen_to_silent(service);
    }
    if (service->silent && fd < 0)
        listen_to_silent(service);
}

/* The key follows the received hello. */
static bool is_welcome(struct MPIR_Dynproc_link *link, MPIX_Key_function * welcome,
                       void *extra_state)
{
    char name[MPIR_DYNPROC_NAME + 1];
    struct MPIR_Dynproc_hello hello;

    if (!welcome)
        return true;
    return MPIR_Dynproc_read_hello(link, &hello, name) == MPIR_DYNPROC_DONE && hello.key_bytes >= 0
        && welcome(hello.key, hello.key_bytes, extra_state);
}

struct MPIR_Dynproc_link *MPIR_Dynproc_service_take(struct MPIR_Dynproc_service *service,
                                                    MPIX_Key_function * welcome, void *extra_state)
{
    while (service->waiting) {
        struct MPIR_Dynproc_link *link = remove_first(&service->waiting);
        service->n_waiting--;
        if (service->takes_exited || MPIR_Dynproc_link_lives(link)) {
            bool welcome_here = is_welcome(link, welcome, extra_state);
            bool notified = MPIR_Dynproc_send_verdict(link, welcome_here ?
                                                      MPIR_DYNPROC_WELCOME :
                                                      MPIR_DYNPROC_KEY_REFUSED);
            if (welcome_here && (notified || service->takes_exited))
                return link;
        }
        MPIR_Dynproc_link_free(link);
    }
    return NULL;
}

void MPIR_Dynproc_close_services(void)
{
    while (MPIR_Dynproc_services)
        MPIR_Dynproc_service_close(MPIR_Dynproc_services);
}
