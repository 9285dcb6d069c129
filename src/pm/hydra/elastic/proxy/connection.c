/*
 * See connection.h.
 *
 * In Hydra's event loop of proxies a callback must not deregister another descriptor than its own.
 * Hence a connection's descriptor stays registered for input while it lives, a duplicate is
 * registered for output while the queue waits, and both are deregistered in their own callbacks.
 */

#include "hydra.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "wire/accept.h"
#include "demux.h"
#include "connection.h"
#include "relay.h"
#include "upward.h"
#include "wire/send_queue.h"
#include "wire/keepalive.h"

#define CONNECTIONS_MAX 1024
#define OURS_MAX 256            /* before idle ones are closed */
#define STRANGERS_MAX 64        /* connections that have not sent the key */

struct HYD_connection {
    int fd;
    int output_fd;              /* duplicate while data waits to be sent, else -1 */
    int ours;                   /* this proxy made it: sends relays and receives replies */
    uint32_t address;           /* of the other end if `ours` */
    uint16_t port;
    int greeted;                /* the key has arrived */
    int broken;                 /* it ends with its next event */
    char *in;                   /* received part of the next message */
    size_t used, capacity;
    struct HYD_queue queue;
    struct HYD_connection *next;
};

static char key[HYD_RELAY_KEY_BYTES];
static int listen_fd = -1;
static struct HYD_connection *connections = NULL;

/* ---- output ---------------------------------------------------------------------------------- */

void HYD_connection_break(struct HYD_connection *c)
{
    c->broken = 1;
    shutdown(c->fd, SHUT_RDWR);
}

int HYD_connection_is_broken(const struct HYD_connection *c)
{
    return c->broken;
}

static void flush(struct HYD_connection *c)
{
    if (!c->broken && HYD_queue_send(&c->queue, c->fd, HYD_QUEUE_SOCKET) < 0)
        HYD_connection_break(c);
}

static struct HYD_connection *connection_of(int fd, int output)
{
    struct HYD_connection *c;

    for (c = connections; c && (output ? c->output_fd : c->fd) != fd; c = c->next);
    return c;
}

static HYD_status output_cb(int fd, HYD_event_t events, void *userp)
{
    struct HYD_connection *c = connection_of(fd, 1);
    HYD_status status = HYD_SUCCESS;

    if (c)
        flush(c);
    if (!c || !c->queue.bytes || c->broken) {
        status = HYDT_dmx_deregister_fd(fd);
        close(fd);
        if (c)
            c->output_fd = -1;
    }
    return status;
}

void HYD_connection_queue(struct HYD_connection *c, struct HYD_block *block)
{
    if (HYD_queue_add(&c->queue, block) < 0)
        HYD_connection_break(c);
}

HYD_status HYD_connection_send(struct HYD_connection *c)
{
    HYD_status status = HYD_SUCCESS;

    flush(c);
    if (!c->queue.bytes || c->broken || c->output_fd >= 0)
        goto fn_exit;
    c->output_fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
    if (c->output_fd < 0) {
        HYD_connection_break(c);
        goto fn_exit;
    }
    status = HYDT_dmx_register_fd(1, &c->output_fd, HYD_POLLOUT, NULL, output_cb);

  fn_exit:
    return status;
}

static HYD_status send_copy(struct HYD_connection *c, const void *bytes, size_t n)
{
    if (HYD_queue_add_bytes(&c->queue, bytes, n) < 0)
        HYD_connection_break(c);
    return HYD_connection_send(c);
}

/* ---- connections made ------------------------------------------------------------------------ */

static HYD_status input_cb(int fd, HYD_event_t events, void *userp);

static HYD_status new_connection(int fd, int ours, struct HYD_connection **made)
{
    const int on = 1;
    struct HYD_connection *c = MPL_calloc(1, sizeof(*c), MPL_MEM_PM);
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, !c, HYD_NO_MEM, "no memory for a connection\n");
    c->fd = fd;
    c->output_fd = -1;
    c->ours = ours;
    HYD_queue_init(&c->queue);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    HYD_keepalive_watch(fd);
    status = HYDT_dmx_register_fd(1, &fd, HYD_POLLIN, NULL, input_cb);
    HYDU_ERR_POP(status, "unable to register fd\n");
    c->next = connections;
    connections = c;
    *made = c;

  fn_exit:
    return status;

  fn_fail:
    MPL_free(c);
    goto fn_exit;
}

static HYD_status accept_cb(int fd, HYD_event_t events, void *userp)
{
    struct HYD_connection *c;
    int n = 0, unauthenticated = 0;
    HYD_status status = HYD_SUCCESS;

    int accepted = HYD_accept(fd, "another proxy");
    if (accepted < 0)
        goto fn_exit;
    for (c = connections; c; c = c->next) {
        n++;
        unauthenticated += !c->ours && !c->greeted;
    }
    if (n >= CONNECTIONS_MAX || unauthenticated >= STRANGERS_MAX) {
        close(accepted);        /* mpiexec sends the address of the right proxy */
        goto fn_exit;
    }
    status = new_connection(accepted, 0, &c);
    if (status != HYD_SUCCESS)
        close(accepted);

  fn_exit:
    return status;
}

HYD_status HYD_connection_listen(const char *payload, size_t bytes, uint16_t * port)
{
    char *range = NULL;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, listen_fd >= 0 || bytes <= sizeof(key) || payload[bytes - 1],
                        HYD_INTERNAL_ERROR, "bad request to listen for proxies\n");
    memcpy(key, payload, sizeof(key));
    if (payload[sizeof(key)])
        range = MPL_strdup(payload + sizeof(key));
    *port = 0;
    if (HYDU_sock_listen(&listen_fd, range, port) != HYD_SUCCESS) {
        if (listen_fd >= 0)
            close(listen_fd);
        listen_fd = -1;
        *port = 0;              /* no port is free: mpiexec sends to this proxy directly */
        goto fn_exit;
    }
    status = HYDT_dmx_register_fd(1, &listen_fd, HYD_POLLIN, NULL, accept_cb);
    HYDU_ERR_POP(status, "unable to register fd\n");

  fn_exit:
    MPL_free(range);
    return status;

  fn_fail:
    goto fn_exit;
}

/* Closes idle connections when there are too many: each world has another tree. */
static void limit_ours(void)
{
    struct HYD_connection *oldest = NULL;
    int n = 0;

    for (struct HYD_connection *c = connections; c; c = c->next) {
        if (!c->ours || c->broken)
            continue;
        n++;
        if (!HYD_relay_waits_for(c) && !c->queue.bytes)
            oldest = c;
    }
    if (n > OURS_MAX && oldest)
        HYD_connection_break(oldest);
}

struct HYD_connection *HYD_connection_to(uint32_t address, uint16_t port)
{
    /* a host without a reply counts as unreachable after some seconds */
    const int tries = 1;
    struct sockaddr_in where = {.sin_family = AF_INET,.sin_port = port,.sin_addr = {address} };
    struct HYD_connection *c;

    for (c = connections; c; c = c->next)
        if (c->ours && !c->broken && c->address == address && c->port == port)
            return c;
    limit_ours();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return NULL;
    setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &tries, sizeof(tries));
    if ((connect(fd, (struct sockaddr *) &where, sizeof(where)) < 0 && errno != EINPROGRESS) ||
        new_connection(fd, 1, &c) != HYD_SUCCESS) {
        close(fd);
        return NULL;
    }
    c->address = address;
    c->port = port;
    return send_copy(c, key, sizeof(key)) == HYD_SUCCESS ? c : NULL;
}

/* ---- input ----------------------------------------------------------------------------------- */

/* Bytes of the message that begins in c->in, as far as known; 0: it is invalid. */
static size_t message_bytes(const struct HYD_connection *c)
{
    struct HYD_relay_head relay;
    struct HYD_relay_answer answer;
    struct HYD_relay_reports reports;

    _Static_assert(sizeof(reports) == sizeof(answer), "either may come");
    if (c->ours) {
        if (c->used < sizeof(answer))
            return sizeof(answer);
        memcpy(&answer, c->in, sizeof(answer));
        memcpy(&reports, c->in, sizeof(reports));
        if (reports.id == 0)
            return reports.bytes <=
                HYD_ADAPT_BODY_MAX ? sizeof(reports) + (size_t) reports.bytes : 0;
        return HYD_relay_answer_holds(&answer,
                                      HYD_RELAY_TARGETS_MAX) ? HYD_relay_answer_bytes(&answer) : 0;
    }
    if (!c->greeted)
        return sizeof(key);
    if (c->used < sizeof(relay))
        return sizeof(relay);
    memcpy(&relay, c->in, sizeof(relay));
    return HYD_relay_head_holds(&relay) ? HYD_relay_bytes(&relay) : 0;
}

/* Takes the same time for every key. */
static int is_key(const char *bytes)
{
    unsigned char difference = 0;

    for (size_t i = 0; i < sizeof(key); i++)
        difference |= (unsigned char) (bytes[i] ^ key[i]);
    return !difference;
}

static HYD_status take_message(struct HYD_connection *c)
{
    if (c->ours)
        return HYD_relay_take_answer(c, c->in);
    if (c->greeted)
        return HYD_relay_take(c, c->in);
    c->greeted = is_key(c->in);
    if (!c->greeted)
        HYD_connection_break(c);
    return HYD_SUCCESS;
}

static HYD_status end_connection(struct HYD_connection *c)
{
    struct HYD_connection **link;
    HYD_status status = HYD_relay_failed(c);

    if (!c->ours && status == HYD_SUCCESS)
        status = HYD_upward_failed(c);
    for (link = &connections; *link != c; link = &(*link)->next);
    *link = c->next;
    HYD_queue_clear(&c->queue);
    HYD_keepalive_remove(c->fd);
    HYDT_dmx_deregister_fd(c->fd);
    close(c->fd);               /* output_cb closes the duplicate, which has an event now */
    MPL_free(c->in);
    MPL_free(c);
    return status;
}

static HYD_status input_cb(int fd, HYD_event_t events, void *userp)
{
    struct HYD_connection *c = connection_of(fd, 0);
    HYD_status status = HYD_SUCCESS;

    while (status == HYD_SUCCESS && !c->broken) {
        size_t whole = message_bytes(c);
        if (whole && c->used == whole) {
            c->used = 0;
            status = take_message(c);
            continue;
        }
        if (whole > c->capacity) {
            char *grown = MPL_realloc(c->in, whole, MPL_MEM_PM);
            c->capacity = grown ? whole : c->capacity;
            c->in = grown ? grown : c->in;
        }
        ssize_t n = whole &&
            whole <= c->capacity ? recv(fd, c->in + c->used, whole - c->used, MSG_DONTWAIT) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0)
            HYD_connection_break(c);
        else
            c->used += (size_t) n;
    }
    if (c->broken && status == HYD_SUCCESS)
        status = end_connection(c);
    return status;
}
