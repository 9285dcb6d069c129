/*
 * The node daemon's part in the tree of wire/tree.h: it takes relays in, passes their parts on, and
 * answers.  Single-threaded, nothing blocks: what a connection does not take at once waits in its queue.
 *
 * Hydra's event loop of daemons cannot bear that a callback takes another descriptor than its own out
 * of it.  Hence a connection's descriptor stays registered for input while it lives, a duplicate is
 * registered for output while the queue waits, and both go in their own callbacks.
 */

#include "hydra.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "wire/accept.h"
#include "demux.h"
#include "relay.h"
#include "wire/send_queue.h"
#include "wire/silence.h"

#define CONNECTIONS_MAX 1024
#define OURS_MAX 256            /* before idle ones are closed */
#define STRANGERS_MAX 64        /* that have not sent the key */

struct connection {
    int fd;
    int output_fd;              /* duplicate, while there is something to send, else -1 */
    int ours;                   /* we made it: relays go out, answers come in */
    uint32_t address;           /* of the other end if it is ours */
    uint16_t port;
    int greeted;                /* the key has come */
    int broken;                 /* it ends with its next event */
    char *in;                   /* what has come of the next message */
    size_t used, room;
    struct HYD_queue queue;
    struct connection *next;
};

/* A relay whose parts have not all answered. */
struct relay {
    struct connection *parent;  /* who gets the answer; NULL: mpiexec, or nobody any more */
    int to_mpiexec;
    int waiting;                /* parts */
    struct HYD_relay_answer answer;
    struct HYD_relay_frozen *frozen;    /* with room for all targets */
    uint32_t *failed;           /* likewise */
    struct relay *next;
};

/* A part of it that is with a child. */
struct part {
    struct relay *relay;
    struct connection *child;
    struct part *next;
    uint32_t n, numbers[];      /* of its targets */
};

static char key[HYD_RELAY_KEY_BYTES];
static int listen_fd = -1;
static struct connection *connections = NULL;
static struct relay *relays = NULL;
static struct part *parts = NULL;

/* ---- output ------------------------------------------------------------------------------------ */

/* The next event of the descriptor tells its callback; nothing is freed here. */
static void break_connection(struct connection *c)
{
    c->broken = 1;
    shutdown(c->fd, SHUT_RDWR);
}

static void flush(struct connection *c)
{
    if (!c->broken && HYD_queue_send(&c->queue, c->fd, HYD_QUEUE_SOCKET) < 0)
        break_connection(c);
}

static struct connection *connection_of(int fd, int output)
{
    struct connection *c;

    for (c = connections; c && (output ? c->output_fd : c->fd) != fd; c = c->next);
    return c;
}

static HYD_status output_cb(int fd, HYD_event_t events, void *userp)
{
    struct connection *c = connection_of(fd, 1);
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

/* Takes over one use of the block. */
static void queue(struct connection *c, struct HYD_block *block)
{
    if (HYD_queue_add(&c->queue, block) < 0)
        break_connection(c);
}

static HYD_status send_queue(struct connection *c)
{
    HYD_status status = HYD_SUCCESS;

    flush(c);
    if (!c->queue.bytes || c->broken || c->output_fd >= 0)
        goto fn_exit;
    c->output_fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
    if (c->output_fd < 0) {
        break_connection(c);
        goto fn_exit;
    }
    status = HYDT_dmx_register_fd(1, &c->output_fd, HYD_POLLOUT, NULL, output_cb);

  fn_exit:
    return status;
}

static HYD_status send_copy(struct connection *c, const void *bytes, size_t n)
{
    if (HYD_queue_add_bytes(&c->queue, bytes, n) < 0)
        break_connection(c);
    return send_queue(c);
}

/* ---- connections ------------------------------------------------------------------------------- */

static HYD_status input_cb(int fd, HYD_event_t events, void *userp);

static HYD_status new_connection(int fd, int ours, struct connection **made)
{
    const int on = 1;
    struct connection *c = MPL_calloc(1, sizeof(*c), MPL_MEM_PM);
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, !c, HYD_NO_MEM, "no memory for a connection\n");
    c->fd = fd;
    c->output_fd = -1;
    c->ours = ours;
    HYD_queue_init(&c->queue);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    HYD_silence_watch(fd);
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
    struct connection *c;
    int n = 0, strangers = 0;
    HYD_status status = HYD_SUCCESS;

    int accepted = HYD_accept(fd, "another node daemon");
    if (accepted < 0)
        goto fn_exit;
    for (c = connections; c; c = c->next) {
        n++;
        strangers += !c->ours && !c->greeted;
    }
    if (n >= CONNECTIONS_MAX || strangers >= STRANGERS_MAX) {
        close(accepted);        /* who is meant is told by mpiexec */
        goto fn_exit;
    }
    status = new_connection(accepted, 0, &c);
    if (status != HYD_SUCCESS)
        close(accepted);

  fn_exit:
    return status;
}

HYD_status HYD_relay_listen(const char *payload, size_t bytes, uint16_t * port)
{
    char *range = NULL;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, listen_fd >= 0 || bytes <= sizeof(key) || payload[bytes - 1],
                        HYD_INTERNAL_ERROR, "bad request to listen for daemons\n");
    memcpy(key, payload, sizeof(key));
    if (payload[sizeof(key)])
        range = MPL_strdup(payload + sizeof(key));
    *port = 0;
    if (HYDU_sock_listen(&listen_fd, range, port) != HYD_SUCCESS) {
        if (listen_fd >= 0)
            close(listen_fd);
        listen_fd = -1;
        *port = 0;              /* no port is free: mpiexec tells this daemon itself */
        goto fn_exit;
    }
    status = HYDU_sock_cloexec(listen_fd);
    HYDU_ERR_POP(status, "unable to set a socket to close on exec\n");
    status = HYDT_dmx_register_fd(1, &listen_fd, HYD_POLLIN, NULL, accept_cb);
    HYDU_ERR_POP(status, "unable to register fd\n");

  fn_exit:
    MPL_free(range);
    return status;

  fn_fail:
    goto fn_exit;
}

static struct part *part_with(const struct connection *child)
{
    struct part *part;

    for (part = parts; part && part->child != child; part = part->next);
    return part;
}

/* Other worlds have other trees: connections that were made for previous ones are not kept for ever. */
static void limit_ours(void)
{
    struct connection *oldest = NULL;
    int n = 0;

    for (struct connection *c = connections; c; c = c->next) {
        if (!c->ours || c->broken)
            continue;
        n++;
        if (!part_with(c) && !c->queue.bytes)
            oldest = c;
    }
    if (n > OURS_MAX && oldest)
        break_connection(oldest);
}

/* A connection to that daemon, perhaps one that is not complete yet; NULL: impossible. */
static struct connection *connection_to(uint32_t address, uint16_t port)
{
    const int tries = 1;        /* a host that says nothing is given up after some seconds */
    struct sockaddr_in where = {.sin_family = AF_INET,.sin_port = port,.sin_addr = {address} };
    struct connection *c;

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

/* ---- relays ------------------------------------------------------------------------------------ */

static void note_failed(struct relay *relay, const uint32_t *numbers, uint32_t n)
{
    memcpy(relay->failed + relay->answer.failed, numbers, n * sizeof(*numbers));
    relay->answer.failed += n;
}

static void note_frozen(struct relay *relay, const struct HYD_relay_frozen *frozen, uint32_t n)
{
    memcpy(relay->frozen + relay->answer.frozen, frozen, n * sizeof(*frozen));
    relay->answer.frozen += n;
}

static void note_unreached(struct relay *relay, const struct HYD_relay_target *targets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        note_failed(relay, &targets[i].number, 1);
}

static void free_relay(struct relay *relay)
{
    MPL_free(relay->frozen);
    MPL_free(relay->failed);
    MPL_free(relay);
}

static HYD_status answer_if_complete(struct relay *relay)
{
    struct relay **link;
    struct HYD_block *answer = NULL;
    HYD_status status = HYD_SUCCESS;

    if (relay->waiting > 0)
        goto fn_exit;
    answer = HYD_block_new(HYD_relay_answer_bytes(&relay->answer));
    HYDU_ERR_CHKANDJUMP(status, !answer, HYD_NO_MEM, "no memory for an answer\n");
    size_t frozen = relay->answer.frozen * sizeof(*relay->frozen);
    memcpy(answer->data, &relay->answer, sizeof(relay->answer));
    memcpy(answer->data + sizeof(relay->answer), relay->frozen, frozen);
    memcpy(answer->data + sizeof(relay->answer) + frozen, relay->failed,
           relay->answer.failed * sizeof(*relay->failed));
    if (relay->to_mpiexec) {
        status = HYD_relay_report(answer->data, answer->bytes);
    } else if (relay->parent) {
        answer->users++;
        queue(relay->parent, answer);
        status = send_queue(relay->parent);
    }
    for (link = &relays; *link != relay; link = &(*link)->next);
    *link = relay->next;
    free_relay(relay);

  fn_exit:
    if (answer)
        HYD_block_drop(answer);
    return status;

  fn_fail:
    goto fn_exit;
}

/* The part has answered or is lost; n of it were not reached. */
static HYD_status end_part(struct part *part, const uint32_t *failed, uint32_t n)
{
    struct part **link;

    for (link = &parts; *link != part; link = &(*link)->next);
    *link = part->next;
    note_failed(part->relay, failed, n);
    part->relay->waiting--;
    HYD_status status = answer_if_complete(part->relay);
    MPL_free(part);
    return status;
}

static HYD_status new_relay(struct connection *parent, const struct HYD_relay_head *head, struct relay **made)
{
    struct relay *relay = MPL_calloc(1, sizeof(*relay), MPL_MEM_PM);
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, !relay, HYD_NO_MEM, "no memory for a relay\n");
    relay->frozen = MPL_malloc(head->targets * sizeof(*relay->frozen), MPL_MEM_PM);
    relay->failed = MPL_malloc(head->targets * sizeof(*relay->failed), MPL_MEM_PM);
    HYDU_ERR_CHKANDJUMP(status, !relay->frozen || !relay->failed, HYD_NO_MEM, "no memory for a relay\n");
    relay->answer.id = head->id;
    relay->parent = parent;
    relay->to_mpiexec = !parent;
    relay->next = relays;
    relays = relay;
    *made = relay;

  fn_exit:
    return status;

  fn_fail:
    if (relay)
        free_relay(relay);
    goto fn_exit;
}

/* Sends the relay to the first of n targets, for all of them. */
static HYD_status pass_on(struct relay *relay, const struct HYD_relay_head *head,
                          const struct HYD_relay_target *targets, uint32_t n, struct HYD_block *payload)
{
    struct part *part = NULL;
    struct HYD_block *list = HYD_block_new(sizeof(*head) + n * sizeof(*targets));
    struct connection *child = connection_to(targets->address, targets->port);
    HYD_status status = HYD_SUCCESS;

    part = MPL_malloc(sizeof(*part) + n * sizeof(uint32_t), MPL_MEM_PM);
    if (!list || !child || !part)
        goto unreached;
    struct HYD_relay_head part_head = *head;
    part_head.targets = n;
    memcpy(list->data, &part_head, sizeof(part_head));
    memcpy(list->data + sizeof(part_head), targets, n * sizeof(*targets));
    queue(child, list);
    list = NULL;
    if (payload->bytes) {
        payload->users++;
        queue(child, payload);
    }
    status = send_queue(child);
    HYDU_ERR_POP(status, "unable to send a relay\n");
    if (child->broken)
        goto unreached;
    part->relay = relay;
    part->child = child;
    part->n = n;
    for (uint32_t i = 0; i < n; i++)
        part->numbers[i] = targets[i].number;
    part->next = parts;
    parts = part;
    relay->waiting++;

  fn_exit:
    return status;

  unreached:
    note_unreached(relay, targets, n);
    if (list)
        HYD_block_drop(list);
  fn_fail:
    MPL_free(part);
    goto fn_exit;
}

/* A whole relay, with a true head, has come. */
static HYD_status take_relay(struct connection *parent, const char *bytes)
{
    struct HYD_relay_head head;
    const struct HYD_relay_target *targets = NULL;
    struct HYD_relay_target *list = NULL;
    struct relay *relay;
    struct HYD_block *payload = NULL;
    HYD_status status = HYD_SUCCESS;

    memcpy(&head, bytes, sizeof(head));
    HYDU_MALLOC_OR_JUMP(list, struct HYD_relay_target *, head.targets * sizeof(*list), status);
    memcpy(list, bytes + sizeof(head), head.targets * sizeof(*list));
    targets = list;
    payload = HYD_block_new(head.bytes);
    HYDU_ERR_CHKANDJUMP(status, !payload, HYD_NO_MEM, "no memory for a relay\n");
    memcpy(payload->data, bytes + sizeof(head) + head.targets * sizeof(*list), head.bytes);
    status = new_relay(parent, &head, &relay);
    HYDU_ERR_POP(status, "unable to note a relay\n");

    uint32_t rest = head.targets - 1, step = HYD_relay_part(rest, head.fanout);
    for (uint32_t i = 0; i < rest; i += step) {
        status = pass_on(relay, &head, targets + 1 + i, rest - i < step ? rest - i : step, payload);
        HYDU_ERR_POP(status, "unable to pass a relay on\n");
    }
    struct HYD_adapt_message message = {.kind = head.kind,.epoch = head.epoch,.bytes = head.bytes,
        .sequence = targets->sequence
    };
    struct HYD_relay_frozen frozen = {.number = targets->number };
    status = HYD_relay_deliver(&message, payload->data, &frozen);
    HYDU_ERR_POP(status, "unable to carry out a relayed command\n");
    if (frozen.sequence)
        note_frozen(relay, &frozen, 1);
    status = answer_if_complete(relay);
    HYDU_ERR_POP(status, "unable to answer a relay\n");

  fn_exit:
    if (payload)
        HYD_block_drop(payload);
    MPL_free(list);
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_relay_from_mpiexec(const char *bytes, size_t n)
{
    struct HYD_relay_head head;
    HYD_status status = HYD_SUCCESS;

    if (n >= sizeof(head))
        memcpy(&head, bytes, sizeof(head));
    HYDU_ERR_CHKANDJUMP(status, n < sizeof(head) || !HYD_relay_head_holds(&head) ||
                        HYD_relay_bytes(&head) != n, HYD_INTERNAL_ERROR, "malformed relay\n");
    status = take_relay(NULL, bytes);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

static HYD_status take_answer(struct connection *child, const char *bytes)
{
    struct HYD_relay_answer head;
    struct part *part;

    memcpy(&head, bytes, sizeof(head));
    for (part = parts; part; part = part->next)
        if (part->child == child && part->relay->answer.id == head.id)
            break;
    if (!part || !HYD_relay_answer_holds(&head, part->n)) {
        break_connection(child);        /* not what we asked */
        return HYD_SUCCESS;
    }
    const struct HYD_relay_frozen *frozen = (const struct HYD_relay_frozen *) (bytes + sizeof(head));
    note_frozen(part->relay, frozen, head.frozen);
    return end_part(part, (const uint32_t *) (frozen + head.frozen), head.failed);
}

/* ---- input ------------------------------------------------------------------------------------- */

/* Bytes of the message that begins in c->in, as far as is known yet; 0: it cannot be one. */
static size_t message_bytes(const struct connection *c)
{
    struct HYD_relay_head relay;
    struct HYD_relay_answer answer;

    if (c->ours) {
        if (c->used < sizeof(answer))
            return sizeof(answer);
        memcpy(&answer, c->in, sizeof(answer));
        return HYD_relay_answer_holds(&answer, HYD_RELAY_TARGETS_MAX) ? HYD_relay_answer_bytes(&answer) : 0;
    }
    if (!c->greeted)
        return sizeof(key);
    if (c->used < sizeof(relay))
        return sizeof(relay);
    memcpy(&relay, c->in, sizeof(relay));
    return HYD_relay_head_holds(&relay) ? HYD_relay_bytes(&relay) : 0;
}

/* In the same time whatever is wrong. */
static int is_key(const char *bytes)
{
    unsigned char difference = 0;

    for (size_t i = 0; i < sizeof(key); i++)
        difference |= (unsigned char) (bytes[i] ^ key[i]);
    return !difference;
}

static HYD_status take_message(struct connection *c)
{
    if (c->ours)
        return take_answer(c, c->in);
    if (c->greeted)
        return take_relay(c, c->in);
    c->greeted = is_key(c->in);
    if (!c->greeted)
        break_connection(c);
    return HYD_SUCCESS;
}

static HYD_status end_connection(struct connection *c)
{
    struct connection **link;
    struct part *part;
    HYD_status status = HYD_SUCCESS;

    for (struct relay *relay = relays; relay; relay = relay->next)
        if (relay->parent == c)
            relay->parent = NULL;       /* nobody wants the answer any more */
    while (status == HYD_SUCCESS && (part = part_with(c)))
        status = end_part(part, part->numbers, part->n);

    for (link = &connections; *link != c; link = &(*link)->next);
    *link = c->next;
    HYD_queue_clear(&c->queue);
    HYD_silence_forget(c->fd);
    HYDT_dmx_deregister_fd(c->fd);
    close(c->fd);               /* output_cb closes the duplicate, which has an event now */
    MPL_free(c->in);
    MPL_free(c);
    return status;
}

static HYD_status input_cb(int fd, HYD_event_t events, void *userp)
{
    struct connection *c = connection_of(fd, 0);
    HYD_status status = HYD_SUCCESS;

    while (status == HYD_SUCCESS && !c->broken) {
        size_t whole = message_bytes(c);
        if (whole && c->used == whole) {
            c->used = 0;
            status = take_message(c);
            continue;
        }
        if (whole > c->room) {
            char *grown = MPL_realloc(c->in, whole, MPL_MEM_PM);
            c->room = grown ? whole : c->room;
            c->in = grown ? grown : c->in;
        }
        ssize_t n = whole && whole <= c->room ? recv(fd, c->in + c->used, whole - c->used, MSG_DONTWAIT) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0)
            break_connection(c);
        else
            c->used += (size_t) n;
    }
    if (c->broken && status == HYD_SUCCESS)
        status = end_connection(c);
    return status;
}
