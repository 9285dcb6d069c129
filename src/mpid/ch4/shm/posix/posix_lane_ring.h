/*
 * The ring of a lane: one process puts records in, another one takes them out, in order.  Memory of both.
 *
 * Records lie one after the other, each in one piece, in multiples of a cache line.  `head` and `tail` count the bytes
 * ever put in and taken out; at most the capacity lies between.  Where a record does not fit before the end of the
 * ring, a filler takes that place.  Behind its first part a short record begins at the ring's beginning again as soon
 * as there is room, so that few and short messages stay in the same cache lines.  Long ones go on: lines that the
 * other processor's cache still holds modified take longer to come from there than from the cache that both share.
 *
 * Each side keeps its own count, and what it reads from the other's memory is checked.  No more than C and atomics.
 */

#ifndef POSIX_LANE_RING_H_INCLUDED
#define POSIX_LANE_RING_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANE_LINE 64
#define LANE_FRONT 128          /* of so many parts of a ring the first one is used as long as that will do */
#define LANE_SHORT 4            /* by records of which at least so many fit there */
#define LANE_ALIGNED __attribute__((aligned(LANE_LINE)))

struct lane_ring {
    uint64_t head LANE_ALIGNED; /* written by who puts in */
    uint64_t tail LANE_ALIGNED; /* written by who takes out */
    uint32_t closed LANE_ALIGNED;       /* by the same: it takes out no more */
    char bytes[] LANE_ALIGNED;
};

enum { LANE_FIRST, LANE_MORE, LANE_FILLER };

struct lane_record {
    uint32_t bytes;             /* of all of it */
    uint32_t payload;           /* bytes that follow this header */
    uint32_t kind;
    uint32_t unused;
    uint64_t header[2];         /* of the message that begins, if kind is LANE_FIRST */
};

#define LANE_RECORD_BYTES(payload) \
    (((uint64_t) sizeof(struct lane_record) + (payload) + LANE_LINE - 1) / LANE_LINE * LANE_LINE)

/* One side's view. */
struct lane_end {
    struct lane_ring *ring;
    uint64_t capacity;          /* bytes in the ring, a multiple of LANE_LINE */
    uint64_t count;             /* our own: head or tail */
    uint64_t other;             /* the other's when we looked last */
    uint64_t reach;             /* where a long record may begin at the latest, if there is room at the beginning */
};

static inline void *lane_payload(struct lane_record *record)
{
    return record + 1;
}

/* Whether so much payload ever fits. */
static inline bool lane_fits(const struct lane_end *end, uint64_t payload)
{
    return LANE_RECORD_BYTES(payload) <= end->capacity;
}

static inline struct lane_record *lane_at(const struct lane_end *end, uint64_t count)
{
    return (struct lane_record *) (end->ring->bytes + count % end->capacity);
}

/* Room for a record, to be filled and then published; NULL: not now.  payload must fit. */
static inline struct lane_record *lane_put(struct lane_end *out, uint64_t payload)
{
    uint64_t bytes = LANE_RECORD_BYTES(payload), place = out->count % out->capacity;
    uint64_t to_end = out->capacity - place;
    uint64_t front = out->capacity / LANE_FRONT;
    bool is_behind = place > (bytes <= front / LANE_SHORT ? front : out->reach);

    /* The other's count is in the other's cache: what was seen there last will do as long as there is room. */
    if (is_behind || bytes > to_end || out->count - out->other + bytes > out->capacity)
        out->other = __atomic_load_n(&out->ring->tail, __ATOMIC_ACQUIRE);
    if (out->count - out->other > out->capacity)
        return NULL;            /* a count that cannot be */
    bool skips = bytes > to_end || (is_behind && out->count - out->other + bytes + to_end <= out->capacity);
    if (out->count - out->other + bytes + (skips ? to_end : 0) > out->capacity &&
        !(skips && out->other == out->count))
        return NULL;
    if (skips) {
        struct lane_record *filler = lane_at(out, out->count);
        filler->bytes = (uint32_t) to_end;
        filler->payload = 0;
        filler->kind = LANE_FILLER;
        out->count += to_end;
        if (out->count - out->other + bytes > out->capacity) {
            /* the record needs nearly all of the ring: after the filler has been taken out */
            __atomic_store_n(&out->ring->head, out->count, __ATOMIC_RELEASE);
            return NULL;
        }
    }
    return lane_at(out, out->count);
}

/* The record that lane_put has returned, with no more payload than it was asked for. */
static inline void lane_publish(struct lane_end *out, struct lane_record *record, uint64_t payload)
{
    record->payload = (uint32_t) payload;
    record->bytes = (uint32_t) LANE_RECORD_BYTES(payload);
    out->count += record->bytes;
    __atomic_store_n(&out->ring->head, out->count, __ATOMIC_RELEASE);
}

static inline void lane_taken(struct lane_end *in, uint32_t bytes)
{
    in->count += bytes;
    __atomic_store_n(&in->ring->tail, in->count, __ATOMIC_RELEASE);
}

static inline bool lane_is_empty(const struct lane_end *in)
{
    return in->other == in->count && __atomic_load_n(&in->ring->head, __ATOMIC_ACQUIRE) == in->count;
}

/* The next record, which stays until lane_taken with its bytes; *wrong: there is none that can be.  bytes and payload
 * are what has been checked, whatever happens to the record meanwhile. */
static inline struct lane_record *lane_take(struct lane_end *in, uint32_t * bytes, uint32_t * payload,
                                            bool * wrong)
{
    *wrong = false;
    for (;;) {
        if (in->other == in->count)
            in->other = __atomic_load_n(&in->ring->head, __ATOMIC_ACQUIRE);
        uint64_t waiting = in->other - in->count;
        if (waiting == 0)
            return NULL;
        struct lane_record *record = lane_at(in, in->count);
        *bytes = *(volatile uint32_t *) &record->bytes;
        *payload = *(volatile uint32_t *) &record->payload;
        uint32_t kind = *(volatile uint32_t *) &record->kind;
        *wrong = waiting > in->capacity || *bytes > waiting || *bytes % LANE_LINE || *bytes == 0 ||
            *bytes > in->capacity - in->count % in->capacity || LANE_RECORD_BYTES(*payload) > *bytes ||
            kind > LANE_FILLER;
        if (*wrong)
            return NULL;
        if (kind != LANE_FILLER)
            return record;
        lane_taken(in, *bytes);
    }
}

#endif /* POSIX_LANE_RING_H_INCLUDED */
