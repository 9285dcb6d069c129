/*
 * The size requests of running programs (SizeRequest) in a policy's decision: a job shrinks at
 * once to the requested size, and grows to it when cores are free.  Pure.
 */

#ifndef ELASTIC_RM_CORE_POLICY_SIZE_REQUESTS_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_SIZE_REQUESTS_H_INCLUDED

#include "core/policy/policy.h"

namespace elastic::rm {

/* Reason and numbers of the change to `size`, for display and for the record (Change::why). */
std::string size_request_reason(const Job &job);
std::function<Json(const State &, const Job &)> size_request_numbers(int size);

/* For policies that do not change sizes themselves: called after their starts, if no job starts;
 * growth only while no job waits. */
void grant_size_requests(const State &state, Decisions &decisions);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_SIZE_REQUESTS_H_INCLUDED */
