/*
 * What becomes of the wishes of running programs (ProgramWish) in a policy's decision: a job is
 * shrunk at once to what it wants, and grown to it when cores are there.  Pure.
 */

#ifndef ELASTIC_RM_CORE_POLICY_WISHES_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_WISHES_H_INCLUDED

#include "core/policy/policy.h"

namespace elastic::rm {

/* Of the change to `size`, for people and for the record (Change::why). */
std::string wish_words(const Job &job);
std::function<Json(const State &, const Job &)> wish_why(int size);

/* For policies that change no sizes of their own: after their starts, if there are none; growth
 * only while nobody waits. */
void fulfil_wishes(const State &state, Decisions &decisions);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_WISHES_H_INCLUDED */
