/* See channel.h. */

#include "channel.h"
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "event_loop.h"
#include "keepalive.h"

#define READ_BYTES (256 * 1024) /* of one channel at a time, so that other channels are served */
#define ROOM_KEPT (1024 * 1024) /* kept size of an empty input buffer */

struct channel {
    int fd;
    /* fd, or another open file description of the same file that does not block */
    int output_fd;
    enum HYD_queue_way way;
    int broken;                 /* nothing can be sent any more: written data is dropped */
    int error_counts;           /* a broken channel is an error */
    struct HYD_queue queue;
    HYD_channel_frame frame;    /* NULL: this file does not read the input */
    size_t head_bytes;
    char *in;                   /* received data that was not handled: in + start up to in + used */
    size_t start, used, capacity;
    int handling;               /* the callback is handling the message at in + start */
    size_t from, end;           /* unread part of this message */
    /* identifies the channel, because descriptor numbers are used again */
    unsigned serial;
};

static struct channel **channels = NULL;        /* by descriptor */
static int n_channels = 0;
static unsigned next_serial = 1;

static struct channel *channel_of(int fd)
{
    return fd >= 0 && fd < n_channels ? channels[fd] : NULL;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static HYD_status make_space(int fd)
{
    int n = fd < 64 ? 128 : 2 * fd;
    struct channel **grown;

    if (fd < n_channels)
        return HYD_SUCCESS;
    grown = MPL_realloc(channels, (size_t) n * sizeof(*grown), MPL_MEM_PM);
    if (!grown)
        return HYD_NO_MEM;
    memset(grown + n_channels, 0, (size_t) (n - n_channels) * sizeof(*grown));
    channels = grown;
    n_channels = n;
    return HYD_SUCCESS;
}

/* O_NONBLOCK belongs to the open file description, which other processes share (the shell, the rest
 * of a pipeline), so a pipe or terminal is opened again.  If that is not permitted (another user's
 * terminal), data is written in small pieces. */
static void choose_way(struct channel *c, mode_t mode)
{
    char name[64];

    c->way = HYD_QUEUE_SOCKET;
    if (S_ISSOCK(mode))
        return;
    c->error_counts = 1;
    MPL_snprintf(name, sizeof(name), "/proc/self/fd/%d", c->fd);
    int again = open(name, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    c->way = again >= 0 ? HYD_QUEUE_NONBLOCK : HYD_QUEUE_LITTLE;
    if (again >= 0)
        c->output_fd = again;
}

HYD_status HYD_channel_open(int fd)
{
    struct channel *c = NULL;
    struct stat what;
    HYD_status status = HYD_SUCCESS;

    if (fd < 0 || channel_of(fd) || fstat(fd, &what) < 0)
        goto fn_exit;
    if (!S_ISSOCK(what.st_mode) && !S_ISFIFO(what.st_mode) && !isatty(fd))
        goto fn_exit;
    status = make_space(fd);
    HYDU_ERR_POP(status, "no memory for a channel\n");
    c = MPL_calloc(1, sizeof(*c), MPL_MEM_PM);
    HYDU_ERR_CHKANDJUMP(status, !c, HYD_NO_MEM, "no memory for a channel\n");
    c->fd = c->output_fd = fd;
    c->serial = next_serial++;
    HYD_queue_init(&c->queue);
    choose_way(c, what.st_mode);
    channels[fd] = c;

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_channel_read_frames(int fd, size_t head_bytes, HYD_channel_frame frame)
{
    struct channel *c = channel_of(fd);

    if (c && !c->frame) {
        c->frame = frame;
        c->head_bytes = head_bytes;
    }
    return c ? HYD_SUCCESS : HYD_INTERNAL_ERROR;
}

void HYD_channel_close(int fd)
{
    struct channel *c = channel_of(fd);

    HYD_keepalive_remove(fd);
    HYD_loop_pause(fd, 0);
    if (c) {
        channels[fd] = NULL;
        if (c->output_fd != fd)
            close(c->output_fd);
        HYD_queue_clear(&c->queue);
        MPL_free(c->in);
        MPL_free(c);
    }
    close(fd);
}

/* ---- output ---------------------------------------------------------------------------------- */

size_t HYD_channel_waiting(int fd)
{
    const struct channel *c = channel_of(fd);

    return c ? c->queue.bytes : 0;
}

static HYD_status flush(struct channel *c)
{
    HYD_status status = HYD_SUCCESS;

    if (!c->broken && HYD_queue_send(&c->queue, c->output_fd, c->way) < 0) {
        c->broken = 1;
        HYDU_ERR_CHKANDJUMP(status, c->error_counts, HYD_SOCK_ERROR, "write error (%s)\n",
                            MPL_strerror(errno));
    }

  fn_exit:
    if (c->broken)
        HYD_queue_clear(&c->queue);
    return status;

  fn_fail:
    goto fn_exit;
}

/* After data was queued: sends it at once if the queue was empty.  Otherwise the event loop sends
 * it when the descriptor is writable. */
static HYD_status queued(struct channel *c, int failed, int idle)
{
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, failed, HYD_NO_MEM, "no memory for what is to be sent\n");
    if ((idle && c->way != HYD_QUEUE_LITTLE) || c->broken)
        status = flush(c);

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_channel_send_block(int fd, struct HYD_block *block)
{
    struct channel *c = channel_of(fd);
    int idle = c->queue.bytes == 0;

    return queued(c, HYD_queue_add(&c->queue, block) < 0, idle);
}

int HYD_channel_writes(int fd, const void *bytes, int n, int *sent, int *closed,
                       HYD_status * status)
{
    struct channel *c = channel_of(fd);

    if (!c)
        return 0;
    int idle = c->queue.bytes == 0;
    *status = queued(c, HYD_queue_add_bytes(&c->queue, bytes, (size_t) n) < 0, idle);
    *sent = n;
    *closed = 0;
    return 1;
}

int HYD_channel_output_fd(int fd)
{
    const struct channel *c = channel_of(fd);

    return c && c->queue.bytes > 0 ? c->output_fd : -1;
}

int HYD_channel_next_output(int fd)
{
    while (++fd < n_channels)
        if (HYD_channel_output_fd(fd) >= 0)
            return fd;
    return -1;
}

HYD_status HYD_channel_flush(int fd)
{
    struct channel *c = channel_of(fd);

    return c ? flush(c) : HYD_SUCCESS;
}

/* ---- input ----------------------------------------------------------------------------------- */

int HYD_channel_has_frames(int fd, int *busy)
{
    const struct channel *c = channel_of(fd);

    *busy = c && c->handling;
    return c && c->frame;
}

/* The handler of a message reads it in pieces, as from a socket. */
int HYD_channel_reads(int fd, void *bytes, int n, int *received, int *closed)
{
    struct channel *c = channel_of(fd);

    if (!c || !c->handling)
        return 0;
    *closed = (size_t) n > c->end - c->from;
    *received = *closed ? 0 : n;
    if (!*closed)
        memcpy(bytes, c->in + c->from, (size_t) n);
    c->from += (size_t) *received;
    return 1;
}

/* Whether the next message is complete.  `bytes`: its size as far as known; 0: it is invalid. */
static int has_message(struct channel *c, void *userp, size_t * bytes)
{
    *bytes = c->head_bytes;
    if (c->used - c->start < c->head_bytes)
        return 0;
    *bytes = c->frame(c->in + c->start, userp);
    return *bytes && c->used - c->start >= *bytes;
}

/* Makes space for the known size of the next message, or for a large read. */
static HYD_status grow(struct channel *c, size_t bytes)
{
    size_t capacity = bytes > READ_BYTES ? bytes : READ_BYTES;
    char *grown;

    if (c->start > 0)
        memmove(c->in, c->in + c->start, c->used - c->start);
    c->used -= c->start;
    c->start = 0;
    if (c->used == 0 && c->capacity > ROOM_KEPT && bytes <= ROOM_KEPT) {
        MPL_free(c->in);
        c->in = NULL;
        c->capacity = 0;
    }
    if (capacity <= c->capacity)
        return HYD_SUCCESS;
    grown = MPL_realloc(c->in, capacity, MPL_MEM_PM);
    if (!grown)
        return HYD_NO_MEM;
    c->in = grown;
    c->capacity = capacity;
    return HYD_SUCCESS;
}

/* Calls the handler with the next message, of n bytes, or with the end of all (0).  The channel may
 * be closed afterwards. */
static HYD_status handle(struct channel *c, size_t n, void *userp,
                         HYD_status(*callback) (int fd, HYD_event_t events, void *userp))
{
    unsigned serial = c->serial;
    int fd = c->fd;
    HYD_status status;

    c->handling = 1;
    c->from = c->start;
    c->end = c->start + n;
    status = callback(fd, HYD_POLLIN, userp);
    c = channel_of(fd);
    if (c && c->serial == serial) {
        c->handling = 0;
        c->start += n;
    }
    return status;
}

HYD_status HYD_channel_input(int fd,
                             HYD_status(*callback) (int fd, HYD_event_t events, void *userp),
                             void *userp)
{
    struct channel *c = channel_of(fd);
    unsigned serial = c->serial;
    size_t bytes;
    HYD_status status = HYD_SUCCESS;

    has_message(c, userp, &bytes);
    status = grow(c, bytes);
    HYDU_ERR_POP(status, "no memory for a message\n");
    ssize_t n = recv(fd, c->in + c->used, c->capacity - c->used, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        goto fn_exit;
    if (n > 0)
        c->used += (size_t) n;
    while (c && c->serial == serial && has_message(c, userp, &bytes)) {
        status = handle(c, bytes, userp, callback);
        HYDU_ERR_POP(status, "unable to handle a message\n");
        c = channel_of(fd);
    }
    if (c && c->serial == serial && (n <= 0 || !bytes)) {
        c->start = c->used;     /* an incomplete message is dropped */
        status = handle(c, 0, userp, callback);
        HYDU_ERR_POP(status, "unable to handle the end of a connection\n");
    }

  fn_exit:
    return status;

  fn_fail:
    goto fn_exit;
}
