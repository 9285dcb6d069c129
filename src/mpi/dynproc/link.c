/* See dynproc_link.h. */

#include "dynproc_link.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>

#define LINK_VERSION 3
#define HELLO_HEAD 26
#define VERDICT_HEAD (5 + MPIR_DYNPROC_ONCE)
#define VERDICT_BYTES (VERDICT_HEAD + MPIR_DYNPROC_SEAL)
#define SIDE_HEAD 20
#define SIDE_PROCESSES (1 << 20)
#define ADDRESS_BYTES 1024      /* of one process */
#define SIDE_BYTES (256 << 20)
#define READY_HEAD 4
#define READY_BYTES (READY_HEAD + MPIR_DYNPROC_SEAL)

/* ---- bytes ----------------------------------------------------------------------------------- */

static void put(unsigned char *to, uint32_t number, int bytes)
{
    for (int i = bytes; i--; number >>= 8)
        to[i] = (unsigned char) number;
}

static uint32_t get(const unsigned char *from, int bytes)
{
    uint32_t number = 0;

    for (int i = 0; i < bytes; i++)
        number = number << 8 | from[i];
    return number;
}

struct MPIR_Dynproc_link *MPIR_Dynproc_link_new(int fd, const unsigned char *secret)
{
    struct MPIR_Dynproc_link *link = MPL_calloc(1, sizeof(*link), MPL_MEM_OTHER);
    int yes = 1, idle = 10, interval = 5, probes = 3;

    if (!link)
        return NULL;
    link->fd = fd;
    memcpy(link->secret, secret, sizeof(link->secret));
    /* detects a failed host; without effect on Unix sockets */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    return link;
}

double MPIR_Dynproc_now(void)
{
    MPL_time_t time;
    double seconds;

    MPL_wtime(&time);
    MPL_wtime_todouble(&time, &seconds);
    return seconds;
}

void MPIR_Dynproc_side_free(struct MPIR_Dynproc_side *side)
{
    MPL_free(side->address_sizes);
    MPL_free(side->addresses);
    MPL_free(side->bcs);
    side->bcs = NULL;
    side->address_sizes = NULL;
    side->addresses = NULL;
}

int MPIR_Dynproc_link_leave(struct MPIR_Dynproc_link *link)
{
    int fd = link->fd;

    MPL_free(link->out);
    MPL_free(link->in);
    MPL_free(link);
    return fd;
}

void MPIR_Dynproc_link_free(struct MPIR_Dynproc_link *link)
{
    if (link)
        close(MPIR_Dynproc_link_leave(link));
}

static bool is_for_later(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN ||
        errno == EINPROGRESS;
}

bool MPIR_Dynproc_link_lives(struct MPIR_Dynproc_link *link)
{
    char byte;
    ssize_t n = recv(link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n > 0 || (n < 0 && is_for_later());
}

/* Sends as many of the stored bytes as possible. */
static bool flush(struct MPIR_Dynproc_link *link)
{
    while (link->out_sent < link->out_bytes) {
        ssize_t n = send(link->fd, link->out + link->out_sent, link->out_bytes - link->out_sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return is_for_later();
        link->out_sent += (size_t) n;
    }
    MPL_free(link->out);
    link->out = NULL;
    link->out_bytes = link->out_sent = 0;
    return true;
}

/* Space for a message of so many bytes after the unsent ones; NULL: out of memory. */
static unsigned char *add(struct MPIR_Dynproc_link *link, size_t bytes)
{
    unsigned char *grown = MPL_realloc(link->out, link->out_bytes + bytes, MPL_MEM_OTHER);

    if (!grown)
        return NULL;
    link->out = grown;
    link->out_bytes += bytes;
    return link->out + link->out_bytes - bytes;
}

/* Reads until `wanted` bytes have arrived, and no byte more. */
static enum MPIR_Dynproc_link_state fill(struct MPIR_Dynproc_link *link, size_t wanted)
{
    if (!flush(link))
        return MPIR_DYNPROC_BROKEN;
    if (link->in_capacity < wanted) {
        unsigned char *grown = MPL_realloc(link->in, wanted, MPL_MEM_OTHER);
        if (!grown)
            return MPIR_DYNPROC_BROKEN;
        link->in = grown;
        link->in_capacity = wanted;
    }
    while (link->in_bytes < wanted) {
        ssize_t n =
            recv(link->fd, link->in + link->in_bytes, wanted - link->in_bytes, MSG_DONTWAIT);
        if (n < 0 && is_for_later())
            return MPIR_DYNPROC_MORE;
        if (n <= 0)
            return MPIR_DYNPROC_BROKEN;
        link->in_bytes += (size_t) n;
    }
    return MPIR_DYNPROC_DONE;
}

static bool begins(const struct MPIR_Dynproc_link *link, const char *word)
{
    return memcmp(link->in, word, 4) == 0;
}

static bool is_sealed(const struct MPIR_Dynproc_link *link, size_t bytes)
{
    unsigned char seal[MPIR_DYNPROC_SEAL];

    MPIR_Dynproc_seal(link->secret, link->in, bytes, seal);
    return MPIR_Dynproc_same(seal, link->in + bytes, sizeof(seal));
}

/* ---- HELLO ----------------------------------------------------------------------------------- */

bool MPIR_Dynproc_send_hello(struct MPIR_Dynproc_link *link, const struct MPIR_Dynproc_hello *hello)
{
    size_t name_bytes = strlen(hello->name), key_bytes =
        hello->key_bytes > 0 ? (size_t) hello->key_bytes : 0;
    size_t bytes = HELLO_HEAD + name_bytes + key_bytes;
    unsigned char *message = add(link, bytes + MPIR_DYNPROC_SEAL);

    if (!message || getrandom(link->client_once, MPIR_DYNPROC_ONCE, 0) != MPIR_DYNPROC_ONCE)
        return false;
    memcpy(message, "EMDH", 4);
    put(message + 4, LINK_VERSION, 1);
    put(message + 5, hello->key_bytes >= 0, 1);
    put(message + 6, (uint32_t) name_bytes, 2);
    put(message + 8, (uint32_t) key_bytes, 2);
    memcpy(message + 10, link->client_once, MPIR_DYNPROC_ONCE);
    memcpy(message + HELLO_HEAD, hello->name, name_bytes);
    if (key_bytes)
        memcpy(message + HELLO_HEAD + name_bytes, hello->key, key_bytes);
    MPIR_Dynproc_seal(link->secret, message, bytes, message + bytes);
    return flush(link);
}

enum MPIR_Dynproc_link_state MPIR_Dynproc_read_hello(struct MPIR_Dynproc_link *link,
                                                     struct MPIR_Dynproc_hello *hello, char name[])
{
    enum MPIR_Dynproc_link_state state = fill(link, HELLO_HEAD);

    if (state != MPIR_DYNPROC_DONE)
        return state;
    size_t name_bytes = get(link->in + 6, 2), key_bytes = get(link->in + 8, 2);
    size_t bytes = HELLO_HEAD + name_bytes + key_bytes;
    if (!begins(link, "EMDH") || link->in[4] != LINK_VERSION || link->in[5] > 1 ||
        (!link->in[5] && key_bytes) || name_bytes < 1 || name_bytes > MPIR_DYNPROC_NAME ||
        key_bytes > MPIR_DYNPROC_KEY)
        return MPIR_DYNPROC_BROKEN;
    state = fill(link, bytes + MPIR_DYNPROC_SEAL);
    if (state != MPIR_DYNPROC_DONE)
        return state;
    if (!is_sealed(link, bytes))
        return MPIR_DYNPROC_BROKEN;
    memcpy(link->client_once, link->in + 10, MPIR_DYNPROC_ONCE);
    memcpy(name, link->in + HELLO_HEAD, name_bytes);
    name[name_bytes] = '\0';
    hello->name = name;
    hello->key = link->in + HELLO_HEAD + name_bytes;
    hello->key_bytes = link->in[5] ? (int) key_bytes : -1;
    return MPIR_DYNPROC_DONE;
}

/* ---- VERDICT --------------------------------------------------------------------------------- */

/* Sealed together with the client's number, which proves that it replies to this hello. */
static void seal_verdict(const struct MPIR_Dynproc_link *link, const unsigned char *message,
                         unsigned char *seal)
{
    unsigned char all[VERDICT_HEAD + MPIR_DYNPROC_ONCE];

    memcpy(all, message, VERDICT_HEAD);
    memcpy(all + VERDICT_HEAD, link->client_once, MPIR_DYNPROC_ONCE);
    MPIR_Dynproc_seal(link->secret, all, sizeof(all), seal);
}

bool MPIR_Dynproc_send_verdict(struct MPIR_Dynproc_link *link, enum MPIR_Dynproc_verdict verdict)
{
    unsigned char *message = add(link, VERDICT_BYTES);

    if (!message || getrandom(link->server_once, MPIR_DYNPROC_ONCE, 0) != MPIR_DYNPROC_ONCE)
        return false;
    memcpy(message, "EMDV", 4);
    put(message + 4, verdict, 1);
    memcpy(message + 5, link->server_once, MPIR_DYNPROC_ONCE);
    seal_verdict(link, message, message + VERDICT_HEAD);
    link->in_bytes = 0;         /* the hello has been read */
    return flush(link);
}

enum MPIR_Dynproc_link_state MPIR_Dynproc_read_verdict(struct MPIR_Dynproc_link *link,
                                                       enum MPIR_Dynproc_verdict *verdict)
{
    unsigned char seal[MPIR_DYNPROC_SEAL];
    enum MPIR_Dynproc_link_state state = fill(link, VERDICT_BYTES);

    if (state != MPIR_DYNPROC_DONE)
        return state;
    seal_verdict(link, link->in, seal);
    if (!begins(link, "EMDV") || !MPIR_Dynproc_same(seal, link->in + VERDICT_HEAD, sizeof(seal)) ||
        (link->in[4] != MPIR_DYNPROC_WELCOME && link->in[4] != MPIR_DYNPROC_KEY_REFUSED))
        return MPIR_DYNPROC_BROKEN;
    *verdict = link->in[4];
    memcpy(link->server_once, link->in + 5, MPIR_DYNPROC_ONCE);
    link->in_bytes = 0;
    return MPIR_DYNPROC_DONE;
}

/* ---- SIDE ------------------------------------------------------------------------------------ */

/* Sealed with a secret of this connection and direction. */
static void seal_side(const struct MPIR_Dynproc_link *link, bool of_server,
                      const unsigned char *message, size_t bytes, unsigned char *seal)
{
    unsigned char once[2 * MPIR_DYNPROC_ONCE + 1], secret[MPIR_DYNPROC_SEAL];

    memcpy(once, link->client_once, MPIR_DYNPROC_ONCE);
    memcpy(once + MPIR_DYNPROC_ONCE, link->server_once, MPIR_DYNPROC_ONCE);
    once[2 * MPIR_DYNPROC_ONCE] = of_server;
    MPIR_Dynproc_seal(link->secret, once, sizeof(once), secret);
    MPIR_Dynproc_seal(secret, message, bytes, seal);
}

bool MPIR_Dynproc_send_side(struct MPIR_Dynproc_link *link, bool is_server,
                            const struct MPIR_Dynproc_side *side)
{
    size_t bc_bytes = side->bcs ? sizeof(side->bcs[0]) * (size_t) side->size : 0;
    size_t bytes = SIDE_HEAD + 4 * (size_t) side->size + (size_t) side->bytes + bc_bytes;
    unsigned char *message = add(link, bytes + MPIR_DYNPROC_SEAL);

    if (!message)
        return false;
    memcpy(message, "EMDS", 4);
    put(message + 4, (uint32_t) side->size, 4);
    put(message + 8, side->context_id, 4);
    put(message + 12, (uint32_t) side->bytes, 4);
    put(message + 16, side->bcs != NULL, 4);
    for (int i = 0; i < side->size; i++)
        put(message + SIDE_HEAD + 4 * (size_t) i, (uint32_t) side->address_sizes[i], 4);
    memcpy(message + SIDE_HEAD + 4 * (size_t) side->size, side->addresses, (size_t) side->bytes);
    if (bc_bytes)
        memcpy(message + bytes - bc_bytes, side->bcs, bc_bytes);
    seal_side(link, is_server, message, bytes, message + bytes);
    return flush(link);
}

static bool unpack_side(const struct MPIR_Dynproc_link *link, size_t bc_bytes,
                        struct MPIR_Dynproc_side *side)
{
    const unsigned char *from = link->in + SIDE_HEAD;
    uint64_t sum = 0;

    side->address_sizes = MPL_malloc(sizeof(int) * (size_t) side->size, MPL_MEM_OTHER);
    side->addresses = MPL_malloc((size_t) MPL_MAX(side->bytes, 1), MPL_MEM_OTHER);
    side->bcs = bc_bytes ? MPL_malloc(bc_bytes, MPL_MEM_OTHER) : NULL;
    if (!side->address_sizes || !side->addresses || (bc_bytes && !side->bcs))
        return false;
    for (int i = 0; i < side->size; i++, from += 4) {
        uint32_t bytes = get(from, 4);
        if (bytes < 1 || bytes > ADDRESS_BYTES)
            return false;
        side->address_sizes[i] = (int) bytes;
        sum += bytes;
    }
    memcpy(side->addresses, from, (size_t) side->bytes);
    if (bc_bytes)
        memcpy(side->bcs, from + side->bytes, bc_bytes);
    return sum == (uint64_t) side->bytes;
}

enum MPIR_Dynproc_link_state MPIR_Dynproc_read_side(struct MPIR_Dynproc_link *link, bool is_server,
                                                    struct MPIR_Dynproc_side *side)
{
    unsigned char seal[MPIR_DYNPROC_SEAL];
    enum MPIR_Dynproc_link_state state = fill(link, SIDE_HEAD);

    if (state != MPIR_DYNPROC_DONE)
        return state;
    uint32_t size = get(link->in + 4, 4), bytes = get(link->in + 12, 4), has_bcs =
        get(link->in + 16, 4);
    size_t bc_bytes = has_bcs ? sizeof(side->bcs[0]) * (size_t) size : 0;
    size_t all = SIDE_HEAD + 4 * (size_t) size + bytes + bc_bytes;
    if (!begins(link, "EMDS") || size < 1 || size > SIDE_PROCESSES || bytes > SIDE_BYTES ||
        has_bcs > 1 || bc_bytes > SIDE_BYTES)
        return MPIR_DYNPROC_BROKEN;
    state = fill(link, all + MPIR_DYNPROC_SEAL);
    if (state != MPIR_DYNPROC_DONE)
        return state;
    if (link->out)
        return MPIR_DYNPROC_MORE;       /* no later call would send the rest of this side */
    seal_side(link, !is_server, link->in, all, seal);
    if (!MPIR_Dynproc_same(seal, link->in + all, sizeof(seal)))
        return MPIR_DYNPROC_BROKEN;
    side->size = (int) size;
    side->context_id = get(link->in + 8, 4);
    side->bytes = (int) bytes;
    link->in_bytes = 0;
    return unpack_side(link, bc_bytes, side) ? MPIR_DYNPROC_DONE : MPIR_DYNPROC_BROKEN;
}

/* ---- READY ----------------------------------------------------------------------------------- */

bool MPIR_Dynproc_send_ready(struct MPIR_Dynproc_link *link, bool is_server)
{
    unsigned char *message = add(link, READY_BYTES);

    if (!message)
        return false;
    memcpy(message, "EMDR", READY_HEAD);
    seal_side(link, is_server, message, READY_HEAD, message + READY_HEAD);
    return flush(link);
}

enum MPIR_Dynproc_link_state MPIR_Dynproc_read_ready(struct MPIR_Dynproc_link *link, bool is_server)
{
    unsigned char seal[MPIR_DYNPROC_SEAL];
    enum MPIR_Dynproc_link_state state = fill(link, READY_BYTES);

    if (state != MPIR_DYNPROC_DONE)
        return state;
    seal_side(link, !is_server, link->in, READY_HEAD, seal);
    if (!begins(link, "EMDR") || !MPIR_Dynproc_same(seal, link->in + READY_HEAD, sizeof(seal)))
        return MPIR_DYNPROC_BROKEN;
    link->in_bytes = 0;
    return MPIR_DYNPROC_DONE;
}
