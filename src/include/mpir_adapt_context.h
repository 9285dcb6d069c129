/*
 * Generations of context ids, so that no message of an earlier world ever matches in a later one.
 *
 * An id of MPICH has 16 bits, which name a communicator among those that exist at the same time:
 * they are given out again as soon as it is freed.  A message that nobody received may exist
 * longer, unexpected in libfabric or still on its way.  So ids are wider here, and the bits above
 * state in which generation a communicator was made.  Each adaptation has two: that of its window
 * and that of the world that it leaves.  Everything that is derived from a communicator is of its
 * generation, so that all its processes agree on it without communication, also where they belong
 * to different jobs.  Programs that never adapt stay in generation 0, whose ids are MPICH's own.
 *
 * After a thousand adaptations the numbers come again; by then everything that arrived in between
 * has been thrown away (src/mpid/ch4/src/ch4_adapt_unexpected.c).
 */

#ifndef MPIR_ADAPT_CONTEXT_H_INCLUDED
#define MPIR_ADAPT_CONTEXT_H_INCLUDED

/* The bits that ch4:ofi's match bits leave free beside id, tag and protocol (20 to 23 fall on the
 * protocol's); not the sign of an int, in which upstream keeps ids here and there. */
#define MPIR_ADAPT_GENERATION_MASK 0x7f0f0000u
#define MPIR_ADAPT_GENERATIONS 2048u

static inline MPIR_Context_id_t MPIR_Context_generation_bits(unsigned generation)
{
    return ((generation & 0xfu) << 16) | ((generation >> 4 & 0x7fu) << 24);
}

/* The id as allocated (0: none) for a communicator derived from one with id `parent`. */
static inline MPIR_Context_id_t MPIR_Context_inherit_generation(MPIR_Context_id_t id,
                                                                MPIR_Context_id_t parent)
{
    return id ? id | (parent & MPIR_ADAPT_GENERATION_MASK) : 0;
}

/* `rested` (0: none) can be used again.  The result is the next id that has rested long enough,
 * which nobody uses before it is given back so; 0: none has.  mpir_context_rest.h */
MPIR_Context_id_t MPIR_Contextid_end_rest(MPIR_Context_id_t rested);

#endif /* MPIR_ADAPT_CONTEXT_H_INCLUDED */
