/*
 * Context ids of freed communicators rest before they are used again.
 *
 * A message may arrive after its communicator was freed here: freeing is local.  While the id
 * rests, no other process can choose it for a communicator with this one, because an id must be
 * free in all members; so a message that arrives with it has no receiver.  It is discarded when the
 * rest ends, after MPIR_CONTEXT_RESTS other communicators have been freed.  Fewer ids rest than
 * threads choose from first (MPIR_CVAR_CTXID_EAGER_SIZE): otherwise their choice would take longer.
 *
 * Part of contextid.c, whose critical section protects the state.
 */

#ifndef MPIR_CONTEXT_REST_H_INCLUDED
#define MPIR_CONTEXT_REST_H_INCLUDED

#define MPIR_CONTEXT_RESTS 16
#define MPIR_CONTEXT_RESTS_MAX 64

static struct {
    MPIR_Context_id_t ids[MPIR_CONTEXT_RESTS_MAX];
    unsigned first, n;
} resting;

/* Removes the id that has rested longest; 0: not more than `limit` rest. */
static inline MPIR_Context_id_t end_rest(unsigned limit)
{
    if (resting.n <= limit)
        return 0;
    MPIR_Context_id_t id = resting.ids[resting.first];
    resting.first = (resting.first + 1) % MPIR_CONTEXT_RESTS_MAX;
    resting.n--;
    return id;
}

static inline void make_free(uint32_t mask[], MPIR_Context_id_t id)
{
    unsigned prefix = MPIR_CONTEXT_READ_FIELD(PREFIX, id);

    if (id)
        mask[prefix / MPIR_CONTEXT_INT_BITS] |= 1U << prefix % MPIR_CONTEXT_INT_BITS;
}

/* The rest of this id begins.  No id rests while ids are scarce: the last word of the mask is used
 * only when the others are full. */
static inline void begin_rest(uint32_t mask[], MPIR_Context_id_t id)
{
    const bool is_scarce = mask[MPIR_MAX_CONTEXT_MASK - 1] != UINT32_MAX;

    make_free(mask, end_rest(MPIR_CONTEXT_RESTS_MAX - 1));
    resting.ids[(resting.first + resting.n++) % MPIR_CONTEXT_RESTS_MAX] = id;
    while (is_scarce && resting.n)
        make_free(mask, end_rest(0));
}

#endif /* MPIR_CONTEXT_REST_H_INCLUDED */
