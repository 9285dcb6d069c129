/*
 * Context ids of freed communicators rest before they are used again.
 *
 * A message may arrive after its communicator was freed here: freeing is local.  While the id
 * rests, no process of this one's communicators can choose it, because all must have it free; so
 * what arrives with it is nobody's.  That is discarded when the rest ends, after MPIR_CONTEXT_RESTS
 * other communicators have been freed.  There are fewer of them than ids that threads choose from
 * first (MPIR_CVAR_CTXID_EAGER_SIZE), which would take longer without these.
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

/* The id that rests longest; 0: there are not more than `limit`. */
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

/* One more rests.  Nothing rests where ids are scarce: the last word of the mask is used when the
 * others are. */
static inline void begin_rest(uint32_t mask[], MPIR_Context_id_t id)
{
    const bool is_scarce = mask[MPIR_MAX_CONTEXT_MASK - 1] != UINT32_MAX;

    make_free(mask, end_rest(MPIR_CONTEXT_RESTS_MAX - 1));
    resting.ids[(resting.first + resting.n++) % MPIR_CONTEXT_RESTS_MAX] = id;
    while (is_scarce && resting.n)
        make_free(mask, end_rest(0));
}

#endif /* MPIR_CONTEXT_REST_H_INCLUDED */
