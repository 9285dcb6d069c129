/*
 * Generations of context ids, so that no message of an earlier world ever matches in a later one.
 *
 * An id of MPICH has 16 bits, which name a communicator among those that exist at the same time;
 * they are used again as soon as it is freed.  A message that was never received may exist longer,
 * unexpected in libfabric or still in the network.  So ids are wider here, and the upper bits hold
 * the generation in which a communicator was made.  Each adaptation has two: the generation of its
 * window and the generation of the world that follows.  A communicator has the generation of the
 * one that it is derived from, so that all its processes agree on it without communication, also
 * across different jobs.  Programs that never adapt stay in generation 0, whose ids are MPICH's
 * own.
 *
 * After a thousand adaptations the numbers are reused; by then everything that arrived in between
 * has been discarded (src/mpid/ch4/src/ch4_adapt_unexpected.c).
 */

#ifndef MPIR_ADAPT_CONTEXT_H_INCLUDED
#define MPIR_ADAPT_CONTEXT_H_INCLUDED

/* The bits that ch4:ofi's match bits leave free beside id, tag and protocol (20 to 23 collide with
 * the protocol's); not the sign bit of an int, because upstream stores some ids in an int. */
#define MPIR_ADAPT_GENERATION_MASK 0x7f0f0000u
#define MPIR_ADAPT_GENERATIONS 2048u

static inline MPIR_Context_id_t MPIR_Context_generation_bits(unsigned generation)
{
    return ((generation & 0xfu) << 16) | ((generation >> 4 & 0x7fu) << 24);
}

/* Adds the generation to an allocated id (0: none), for a communicator derived from one with id
 * `parent`. */
static inline MPIR_Context_id_t MPIR_Context_inherit_generation(MPIR_Context_id_t id,
                                                                MPIR_Context_id_t parent)
{
    return id ? id | (parent & MPIR_ADAPT_GENERATION_MASK) : 0;
}

/* Makes the id `rested` (0: none) available again.  Returns the next id that has rested long
 * enough, 0: none has; it stays unused until it is passed to this function.  mpir_context_rest.h */
MPIR_Context_id_t MPIR_Contextid_end_rest(MPIR_Context_id_t rested);

#endif /* MPIR_ADAPT_CONTEXT_H_INCLUDED */
