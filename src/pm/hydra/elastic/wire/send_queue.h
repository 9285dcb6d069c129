/*
 * Bytes that wait until a descriptor accepts them.  A block may wait in several queues.  A queue
 * only writes to descriptors, and never blocks.  The caller bounds a queue (HYD_queue.bytes).
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

/* The way to write to a descriptor without blocking. */
enum HYD_queue_way {
    HYD_QUEUE_SOCKET,           /* with any flags; a closed one raises no signal */
    HYD_QUEUE_NONBLOCK,         /* it has O_NONBLOCK */
    /* it blocks: one write in each call, short enough not to block after poll */
    HYD_QUEUE_LITTLE
};

/* A block with one reference; NULL: no memory. */
struct HYD_block *HYD_block_new(size_t bytes);
void HYD_block_drop(struct HYD_block *block);

void HYD_queue_init(struct HYD_queue *queue);
/* Takes over one reference to the block, which may be NULL. 0, or -1: no memory. */
int HYD_queue_add(struct HYD_queue *queue, struct HYD_block *block);
/* Adds a copy; joins small pieces to few blocks. 0, or -1: no memory. */
int HYD_queue_add_bytes(struct HYD_queue *queue, const void *bytes, size_t n);
/* Sends as much as the descriptor accepts. 0, or -1 with errno: it accepts no more data. */
int HYD_queue_send(struct HYD_queue *queue, int fd, enum HYD_queue_way way);
void HYD_queue_clear(struct HYD_queue *queue);

#endif /* SEND_QUEUE_H_INCLUDED */
