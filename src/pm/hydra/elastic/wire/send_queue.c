/* See send_queue.h. */

#include "hydra.h"
#include <limits.h>
#include <sys/uio.h>
#include "send_queue.h"

#define PARTS_MAX 16            /* of one system call */
#define LITTLE PIPE_BUF         /* a pipe that poll reports as writable accepts this size at once */
#define APPEND_ROOM 16384

struct HYD_chunk {
    struct HYD_block *block;
    size_t sent;
    int open;                   /* bytes may be appended to its block */
    struct HYD_chunk *next;
};

struct HYD_block *HYD_block_new(size_t bytes)
{
    struct HYD_block *block = MPL_malloc(sizeof(*block) + bytes, MPL_MEM_PM);

    if (block) {
        block->users = 1;
        block->bytes = block->capacity = bytes;
    }
    return block;
}

void HYD_block_drop(struct HYD_block *block)
{
    if (--block->users == 0)
        MPL_free(block);
}

void HYD_queue_init(struct HYD_queue *queue)
{
    queue->first = NULL;
    queue->last = &queue->first;
    queue->bytes = 0;
}

int HYD_queue_add(struct HYD_queue *queue, struct HYD_block *block)
{
    struct HYD_chunk *chunk = block ? MPL_malloc(sizeof(*chunk), MPL_MEM_PM) : NULL;

    if (!chunk) {
        if (block)
            HYD_block_drop(block);
        return -1;
    }
    *chunk = (struct HYD_chunk) {.block = block };
    *queue->last = chunk;
    queue->last = &chunk->next;
    queue->bytes += block->bytes;
    return 0;
}

static struct HYD_chunk *last_chunk(const struct HYD_queue *queue)
{
    return queue->first ? (struct HYD_chunk *) ((char *) queue->last -
                                                offsetof(struct HYD_chunk, next)) : NULL;
}

int HYD_queue_add_bytes(struct HYD_queue *queue, const void *bytes, size_t n)
{
    struct HYD_chunk *last = last_chunk(queue);
    struct HYD_block *block = last && last->open ? last->block : NULL;

    if (!block || block->capacity - block->bytes < n) {
        block = HYD_block_new(n < APPEND_ROOM ? APPEND_ROOM : n);
        if (!block)
            return -1;
        block->bytes = 0;
        if (HYD_queue_add(queue, block) < 0)
            return -1;
        last_chunk(queue)->open = 1;
    }
    memcpy(block->data + block->bytes, bytes, n);
    block->bytes += n;
    queue->bytes += n;
    return 0;
}

static void drop_first(struct HYD_queue *queue)
{
    struct HYD_chunk *chunk = queue->first;

    queue->bytes -= chunk->block->bytes - chunk->sent;
    queue->first = chunk->next;
    if (!queue->first)
        queue->last = &queue->first;
    HYD_block_drop(chunk->block);
    MPL_free(chunk);
}

void HYD_queue_clear(struct HYD_queue *queue)
{
    while (queue->first)
        drop_first(queue);
}

/* n bytes at the front have been sent; also removes empty blocks. */
static void advance(struct HYD_queue *queue, size_t n)
{
    while (queue->first) {
        struct HYD_chunk *chunk = queue->first;
        size_t left = chunk->block->bytes - chunk->sent;
        if (left > n) {
            chunk->sent += n;
            queue->bytes -= n;
            return;
        }
        n -= left;
        drop_first(queue);
    }
}

/* The front of the queue, at most `limit` bytes of it. */
static int collect(const struct HYD_queue *queue, struct iovec *parts, size_t limit)
{
    int n = 0;

    for (const struct HYD_chunk * c = queue->first; c && n < PARTS_MAX && limit > 0; c = c->next) {
        size_t left = c->block->bytes - c->sent;
        parts[n].iov_base = c->block->data + c->sent;
        parts[n].iov_len = left < limit ? left : limit;
        limit -= parts[n++].iov_len;
    }
    return n;
}

int HYD_queue_send(struct HYD_queue *queue, int fd, enum HYD_queue_way way)
{
    struct iovec parts[PARTS_MAX];

    while (queue->first) {
        struct msghdr message = {.msg_iov = parts };
        int count = collect(queue, parts, way == HYD_QUEUE_LITTLE ? LITTLE : SSIZE_MAX);
        ssize_t n;
        message.msg_iovlen = (size_t) count;
        n = way == HYD_QUEUE_SOCKET ? sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) :
            writev(fd, parts, count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)              /* a connection that is not established yet is no error */
            return errno == EAGAIN || errno == ENOTCONN || errno == EINPROGRESS ? 0 : -1;
        advance(queue, (size_t) n);
        if (way == HYD_QUEUE_LITTLE)
            break;
    }
    return 0;
}
