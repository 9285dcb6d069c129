/*
 * The ring of a lane: one process puts records in, another one takes them out, in order.  Memory of both.
 *
 * Records lie one after the other, each in one piece, in multiples of a cache line.  `head` and `tail` count the bytes
 * ever put in and taken out; at most the capacity lies between.  Where a record does not fit before the end of the
 * ring, a filler takes that place.  Behind its first part a short record that follows others begins at the ring's
 * beginning again as soon as there is room, so that few and short messages stay in the same cache lines.  Long ones,
 * and what is between them, go on: lines that the other processor's own cache still holds are slower to write than
 * those that it has given up.
 *
 * Each side keeps its own count, and what it reads from the other's memory is checked.  No more than C, atomics and,
 * for copying, instructions of x86-64.
 */

#ifndef POSIX_LANE_RING_H_INCLUDED
#define POSIX_LANE_RING_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define LANE_LINE 64
#define LANE_FRONT 512          /* of so many parts of a ring the first one is used as long as that will do */
#define LANE_SHORTS 4           /* by records of which so many have followed each other */
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
    uint64_t shorts;            /* records, since a long one */
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
    bool is_behind = place > (bytes <= front && out->shorts >= LANE_SHORTS ? front : out->reach);

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
    out->shorts = record->bytes <= out->capacity / LANE_FRONT ? out->shorts + 1 : 0;
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

/* ---- copying what is long -------------------------------------------------------------------------------------- */

/*
 * The reader copies by plain loads and stores, where memcpy may have `rep movsb` for so much.  With what was read by
 * that on AMD's Zen 4 the writer often waits for each line the next time, as if both caches still shared it.
 *
 * The writer may also stream: store past its cache.  That costs more where both share a cache, and less where a line
 * that the other processor has read has to be fetched back from far away.  Nothing tells which it is, and a virtual
 * machine's processors change places.  So the writer measures its own copies, and now and then one of the other kind.
 */

#define LANE_LONG 8192          /* bytes to be copied so */
#define LANE_TRIAL 256          /* of so many copies one is of the other kind: */
#define LANE_FIRST_TRIAL 64     /* this one, when most of the memory has been touched before */
#define LANE_DEARER 3           /* so many times dearer is writing into the cache where it is better to stream */

struct lane_pace {
    uint64_t cached, streamed;  /* ticks of the processor's clock for 1024 bytes; 0: not known yet */
    uint32_t copies;
};

static inline uint64_t lane_ticks(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return 0;                   /* never streams */
#endif
}

/* Whether the next copy is to be streamed. */
static inline bool lane_streams(const struct lane_pace *pace)
{
    bool better = pace->streamed && pace->cached / LANE_DEARER > pace->streamed;

    return better != (pace->copies % LANE_TRIAL == LANE_FIRST_TRIAL);
}

/* What is cheaper than before counts at once, what is dearer bit by bit: a process may have been interrupted. */
static inline void lane_took(struct lane_pace *pace, bool streamed, uint64_t ticks, uint64_t bytes)
{
    uint64_t *known = streamed ? &pace->streamed : &pace->cached, cost = ticks * 1024 / bytes;

    if (cost <= *known || *known == 0)
        *known = cost;
    else
        *known += (cost < 2 * *known ? cost - *known : *known) / 8;
    pace->copies++;
}

#ifdef __x86_64__

/* Bytes up to the first whole line, after which the others can be stored line by line. */
static inline size_t lane_copy_head(void *to, const void *from, size_t bytes)
{
    size_t head = (size_t) (-(uintptr_t) to % LANE_LINE);

    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    return head;
}

static inline void lane_copy_streamed(char *to, const char *from, size_t bytes)
{
    size_t i = lane_copy_head(to, from, bytes);

    for (; i + LANE_LINE <= bytes; i += LANE_LINE) {
        const __m128i *in = (const __m128i *) (from + i);
        __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1), c = _mm_loadu_si128(in + 2);
        __m128i d = _mm_loadu_si128(in + 3), *out = (__m128i *) (to + i);
        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
    }
    memcpy(to + i, from + i, bytes - i);
    _mm_sfence();               /* no release orders streamed stores */
}

__attribute__((target("avx")))
static inline void lane_copy_plainly(char *to, const char *from, size_t bytes)
{
    size_t i = lane_copy_head(to, from, bytes);

    for (; i + 2 * LANE_LINE <= bytes; i += 2 * LANE_LINE) {
        const __m256i_u *in = (const __m256i_u *) (from + i);
        __m256i a = _mm256_loadu_si256(in), b = _mm256_loadu_si256(in + 1), c = _mm256_loadu_si256(in + 2);
        __m256i d = _mm256_loadu_si256(in + 3), *out = (__m256i *) (to + i);
        _mm256_store_si256(out, a);
        _mm256_store_si256(out + 1, b);
        _mm256_store_si256(out + 2, c);
        _mm256_store_si256(out + 3, d);
    }
    memcpy(to + i, from + i, bytes - i);
}

#endif

/* By the writer. */
static inline void lane_copy_in(void *to, const void *from, size_t bytes, bool streams)
{
#ifdef __x86_64__
    if (streams) {
        lane_copy_streamed((char *) to, (const char *) from, bytes);
        return;
    }
#endif
    (void) streams;
    memcpy(to, from, bytes);
}

/* By the reader. */
static inline void lane_copy_out(void *to, const void *from, size_t bytes)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx")) {
        lane_copy_plainly((char *) to, (const char *) from, bytes);
        return;
    }
#endif
    memcpy(to, from, bytes);
}

#endif /* POSIX_LANE_RING_H_INCLUDED */
