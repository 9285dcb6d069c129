/*
 * Included before both sides of the board in its litmus test.  At atomic accesses a thread
 * sometimes yields, so that every order of the accesses of several threads occurs.  Relaxed stores
 * stay in a store buffer until a fence or some accesses later, as in a processor but far more
 * often.  The plan is written in pieces.
 */

#ifndef LITMUS_STEPS_H_INCLUDED
#define LITMUS_STEPS_H_INCLUDED

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#define LITMUS_YIELD_EVERY 12
#define LITMUS_DRAIN_EVERY 6
#define LITMUS_PIECE 4000

static struct {
    uint32_t random;
    /* address of the store that other threads do not see yet, NULL: none */
    uint64_t *address;
    uint64_t value;
} litmus = {.random = 1 };

static inline uint32_t litmus_random(void)
{
    litmus.random = (uint32_t) ((uint64_t) litmus.random * 48271u % 2147483647u);
    return litmus.random;
}

static inline void litmus_drain(void)
{
    if (litmus.address)
        __atomic_store_n(litmus.address, litmus.value, __ATOMIC_RELAXED);
    litmus.address = NULL;
}

static inline void litmus_step(void)
{
    if (litmus_random() % LITMUS_DRAIN_EVERY == 0)
        litmus_drain();
    if (litmus_random() % LITMUS_YIELD_EVERY == 0)
        sched_yield();
}

static inline void litmus_store_late(void *address, uint64_t value)
{
    litmus_drain();
    litmus.address = (uint64_t *) address;
    litmus.value = value;
}

static inline ssize_t litmus_pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    litmus_step();
    return pwrite(fd, bytes, count < LITMUS_PIECE ? count : LITMUS_PIECE, offset);
}

#define pwrite litmus_pwrite
#define __atomic_load_n(address, order) (litmus_step(), __atomic_load_n(address, order))
#define __atomic_store_n(address, value, order)                     \
    do {                                                            \
        litmus_step();                                              \
        if ((order) == __ATOMIC_RELAXED && sizeof(*(address)) == 8) { \
            litmus_store_late(address, (uint64_t) (value));         \
        } else {                                                    \
            litmus_drain();                                         \
            __atomic_store_n(address, value, order);                \
        }                                                           \
    } while (0)
#define __atomic_add_fetch(address, value, order) \
    (litmus_drain(), litmus_step(), __atomic_add_fetch(address, value, order))
#define __atomic_fetch_add(address, value, order) \
    (litmus_drain(), litmus_step(), __atomic_fetch_add(address, value, order))
#define __atomic_thread_fence(order) \
    do { litmus_drain(); __atomic_thread_fence(order); } while (0)

#endif
