/*
 * Bytes that wait until a descriptor accepts them.  A block may wait in several queues; a queue
 * knows of descriptors only how to write to one without blocking.  The caller bounds a queue
 * (HYD_queue.bytes).
 */

#ifndef SEND_QUEUE_H_INCLUDED
#define SEND_QUEUE_H_INCLUDED

#include <stddef.h>

struct HYD_block {
    int users;
    size_t bytes, capacity;
    char data[];
};

struct HYD_chunk;

struct HYD_queue {
    struct HYD_chunk *first, **last;
    size_t bytes;
};

/* How the descriptor is written to without blocking. */
enum HYD_queue_way {
    HYD_QUEUE_SOCKET,           /* whatever its flags are; a closed one is no signal */
    HYD_QUEUE_NONBLOCK,         /* it has O_NONBLOCK */
    /* it blocks: so little at a time that it is accepted if poll reports so, once a call */
    HYD_QUEUE_LITTLE
};

/* With one user; NULL: no memory. */
struct HYD_block *HYD_block_new(size_t bytes);
void HYD_block_drop(struct HYD_block *block);

void HYD_queue_init(struct HYD_queue *queue);
/* Takes over one use of the block, which may be NULL.  0, or -1 without memory. */
int HYD_queue_add(struct HYD_queue *queue, struct HYD_block *block);
/* Copies; many small pieces become few blocks.  Likewise. */
int HYD_queue_add_bytes(struct HYD_queue *queue, const void *bytes, size_t n);
/* Sends what the descriptor takes.  0, or -1 with errno: it takes nothing any more. */
int HYD_queue_send(struct HYD_queue *queue, int fd, enum HYD_queue_way way);
void HYD_queue_clear(struct HYD_queue *queue);

#endif /* SEND_QUEUE_H_INCLUDED */
