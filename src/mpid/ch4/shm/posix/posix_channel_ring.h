/*
 * The ring of a channel, in memory of two processes: one inserts records, the other removes them,
 * in order.
 *
 * Records are contiguous, in multiples of a cache line.  `head` and `tail` count all bytes ever
 * inserted and removed; they differ by at most the capacity.  If a record does not fit before the
 * end of the ring, a filler takes that position.  After the first part of the ring, a short record
 * that follows other short ones is written to the beginning of the ring as soon as that has space,
 * so that few and short messages stay in the same cache lines.  Long records, and those between
 * them, continue to the end of the ring: lines that the other processor's cache still holds are
 * slower to write than lines that it has evicted.
 *
 * Each side keeps its own count, and checks all values that it reads from the other's memory.  Uses
 * only C, atomics and, for copying, instructions of x86-64.
 */

#ifndef POSIX_CHANNEL_RING_H_INCLUDED
#define POSIX_CHANNEL_RING_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define CHANNEL_LINE 64
/* number of parts of a ring; short records use the first one as long as possible */
#define CHANNEL_FRONT 512
#define CHANNEL_SHORTS 4           /* after so many short records in succession */
#define CHANNEL_ALIGNED __attribute__((aligned(CHANNEL_LINE)))

struct channel_ring {
    uint64_t head CHANNEL_ALIGNED; /* written by the writer */
    uint64_t tail CHANNEL_ALIGNED; /* written by the reader */
    uint32_t closed CHANNEL_ALIGNED;    /* by the reader: it removes no more records */
    char bytes[] CHANNEL_ALIGNED;
};

enum { CHANNEL_FIRST, CHANNEL_MORE, CHANNEL_FILLER };

struct channel_record {
    uint32_t bytes;             /* of the whole record */
    uint32_t payload;           /* bytes that follow this header */
    uint32_t kind;
    uint32_t unused;
    uint64_t header[2];         /* of the message that begins, if kind is CHANNEL_FIRST */
};

#define CHANNEL_RECORD_BYTES(payload) \
    (((uint64_t) sizeof(struct channel_record) + (payload) + CHANNEL_LINE - 1) / CHANNEL_LINE * \
     CHANNEL_LINE)

/* The state of one side. */
struct channel_end {
    struct channel_ring *ring;
    uint64_t capacity;          /* bytes in the ring, a multiple of CHANNEL_LINE */
    uint64_t count;             /* our own: head or tail */
    uint64_t other;             /* the other side's count at the last poll */
    /* max offset of a long record while the beginning of the ring has space */
    uint64_t reach;
    uint64_t shorts;            /* records since the last long one */
};

static inline void *channel_payload(struct channel_record *record)
{
    return record + 1;
}

/* Whether so much payload ever fits. */
static inline bool channel_fits(const struct channel_end *end, uint64_t payload)
{
    return CHANNEL_RECORD_BYTES(payload) <= end->capacity;
}

static inline struct channel_record *channel_at(const struct channel_end *end, uint64_t count)
{
    return (struct channel_record *) (end->ring->bytes + count % end->capacity);
}

/* Space for a record, which the caller fills and exports with channel_publish; NULL: no space at
 * present.  payload must fit. */
static inline struct channel_record *channel_put(struct channel_end *out, uint64_t payload)
{
    uint64_t bytes = CHANNEL_RECORD_BYTES(payload), offset = out->count % out->capacity;
    uint64_t to_end = out->capacity - offset;
    uint64_t front = out->capacity / CHANNEL_FRONT;
    bool is_past = offset > (bytes <= front && out->shorts >= CHANNEL_SHORTS ? front : out->reach);

    /* The other side's count is in its cache: the value of the last poll is used as long as it
     * leaves space. */
    if (is_past || bytes > to_end || out->count - out->other + bytes > out->capacity)
        out->other = __atomic_load_n(&out->ring->tail, __ATOMIC_ACQUIRE);
    if (out->count - out->other > out->capacity)
        return NULL;    /* an impossible count */
    bool skips = bytes > to_end || (is_past &&
                                    out->count - out->other + bytes + to_end <= out->capacity);
    if (out->count - out->other + bytes + (skips ? to_end : 0) > out->capacity &&
        !(skips && out->other == out->count))
        return NULL;
    if (skips) {
        struct channel_record *filler = channel_at(out, out->count);
        filler->bytes = (uint32_t) to_end;
        filler->payload = 0;
        filler->kind = CHANNEL_FILLER;
        out->count += to_end;
        if (out->count - out->other + bytes > out->capacity) {
            /* the record needs nearly the whole ring: retry after the filler has been removed */
            __atomic_store_n(&out->ring->head, out->count, __ATOMIC_RELEASE);
            return NULL;
        }
    }
    return channel_at(out, out->count);
}

/* Exports the record that channel_put has returned; payload must not exceed the requested one. */
static inline void channel_publish(struct channel_end *out, struct channel_record *record,
                                   uint64_t payload)
{
    record->payload = (uint32_t) payload;
    record->bytes = (uint32_t) CHANNEL_RECORD_BYTES(payload);
    out->shorts = record->bytes <= out->capacity / CHANNEL_FRONT ? out->shorts + 1 : 0;
    out->count += record->bytes;
    __atomic_store_n(&out->ring->head, out->count, __ATOMIC_RELEASE);
}

static inline void channel_taken(struct channel_end *in, uint32_t bytes)
{
    in->count += bytes;
    __atomic_store_n(&in->ring->tail, in->count, __ATOMIC_RELEASE);
}

static inline bool channel_is_empty(const struct channel_end *in)
{
    return in->other == in->count &&
        __atomic_load_n(&in->ring->head, __ATOMIC_ACQUIRE) == in->count;
}

/* The next record, which stays until channel_taken is called with its bytes; *wrong: the record is
 * malformed.  bytes and payload are the checked values, also if the record changes meanwhile. */
static inline struct channel_record *channel_take(struct channel_end *in, uint32_t * bytes,
                                                  uint32_t * payload, bool *wrong)
{
    *wrong = false;
    for (;;) {
        if (in->other == in->count)
            in->other = __atomic_load_n(&in->ring->head, __ATOMIC_ACQUIRE);
        uint64_t waiting = in->other - in->count;
        if (waiting == 0)
            return NULL;
        struct channel_record *record = channel_at(in, in->count);
        *bytes = *(volatile uint32_t *) &record->bytes;
        *payload = *(volatile uint32_t *) &record->payload;
        uint32_t kind = *(volatile uint32_t *) &record->kind;
        *wrong = waiting > in->capacity || *bytes > waiting || *bytes % CHANNEL_LINE || *bytes == 0
            || *bytes > in->capacity - in->count % in->capacity ||
            CHANNEL_RECORD_BYTES(*payload) > *bytes || kind > CHANNEL_FILLER;
        if (*wrong)
            return NULL;
        if (kind != CHANNEL_FILLER)
            return record;
        channel_taken(in, *bytes);
    }
}

/* ---- copying long payloads ------------------------------------------------------------------- */

/*
 * The reader copies by plain loads and stores.  memcpy may use `rep movsb` for such lengths; after
 * that, on AMD's Zen 4, the writer often waits for each line the next time, as if both caches still
 * shared it.
 *
 * The writer may also stream, that is, store past its cache.  This is slower if both processors
 * share a cache, and faster if a line that the other processor has read must be fetched from a
 * distant cache.  No query reports which case applies, and a virtual machine's processors change
 * cores.  So the writer measures its own copies, and regularly one of the other kind.
 */

#define CHANNEL_LONG 8192          /* min bytes of such a copy */
#define CHANNEL_TRIAL 256          /* one in so many copies is of the other kind: */
#define CHANNEL_FIRST_TRIAL 64     /* this one, when most of the memory has been touched */
/* streams if writes to the cache cost so many times as much */
#define CHANNEL_DEARER 3

struct channel_pace {
    /* ticks of the processor's clock for 1024 bytes; 0: not known yet */
    uint64_t cached, streamed;
    uint32_t copies;
};

static inline uint64_t channel_ticks(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    return 0;                   /* never streams */
#endif
}

/* Whether the next copy is to be streamed. */
static inline bool channel_streams(const struct channel_pace *pace)
{
    bool better = pace->streamed && pace->cached / CHANNEL_DEARER > pace->streamed;

    return better != (pace->copies % CHANNEL_TRIAL == CHANNEL_FIRST_TRIAL);
}

/* A lower cost replaces the average at once, a higher one gradually: a process may have been
 * interrupted. */
static inline void channel_took(struct channel_pace *pace, bool streamed, uint64_t ticks,
                                uint64_t bytes)
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
static inline size_t channel_copy_head(void *to, const void *from, size_t bytes)
{
    size_t head = (size_t) (-(uintptr_t) to % CHANNEL_LINE);

    head = head < bytes ? head : bytes;
    memcpy(to, from, head);
    return head;
}

static inline void channel_copy_streamed(char *to, const char *from, size_t bytes)
{
    size_t i = channel_copy_head(to, from, bytes);

    for (; i + CHANNEL_LINE <= bytes; i += CHANNEL_LINE) {
        const __m128i *in = (const __m128i *) (from + i);
        __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1), c = _mm_loadu_si128(in + 2);
        __m128i d = _mm_loadu_si128(in + 3), *out = (__m128i *) (to + i);
        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
    }
    memcpy(to + i, from + i, bytes - i);
    _mm_sfence();               /* a release does not order streamed stores */
}

__attribute__((target("avx")))
static inline void channel_copy_plainly(char *to, const char *from, size_t bytes)
{
    size_t i = channel_copy_head(to, from, bytes);

    for (; i + 2 * CHANNEL_LINE <= bytes; i += 2 * CHANNEL_LINE) {
        const __m256i_u *in = (const __m256i_u *) (from + i);
        __m256i a = _mm256_loadu_si256(in), b = _mm256_loadu_si256(in + 1), c =
            _mm256_loadu_si256(in + 2);
        __m256i d = _mm256_loadu_si256(in + 3), *out = (__m256i *) (to + i);
        _mm256_store_si256(out, a);
        _mm256_store_si256(out + 1, b);
        _mm256_store_si256(out + 2, c);
        _mm256_store_si256(out + 3, d);
    }
    memcpy(to + i, from + i, bytes - i);
}

#endif

/* Called by the writer. */
static inline void channel_copy_in(void *to, const void *from, size_t bytes, bool streams)
{
#ifdef __x86_64__
    if (streams) {
        channel_copy_streamed((char *) to, (const char *) from, bytes);
        return;
    }
#endif
    (void) streams;
    memcpy(to, from, bytes);
}

/* Called by the reader. */
static inline void channel_copy_out(void *to, const void *from, size_t bytes)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx")) {
        channel_copy_plainly((char *) to, (const char *) from, bytes);
        return;
    }
#endif
    memcpy(to, from, bytes);
}

#endif /* POSIX_CHANNEL_RING_H_INCLUDED */
