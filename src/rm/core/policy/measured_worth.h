/*
 * Policy `measured` (policy_measured.h): the gain of a job from cores, and all its values that
 * decisions need, stored with the job.
 */

#ifndef ELASTIC_RM_CORE_MEASURED_WORTH_H_INCLUDED
#define ELASTIC_RM_CORE_MEASURED_WORTH_H_INCLUDED

#include "core/policy/gain.h"
#include "core/policy/measured_sizes.h"

namespace elastic::rm {

/* Computes all values that decisions need; or returns the stored ones while the job does not
 * change. */
SizeWorth find_worth(const State &state, const Job &job);
const SizeWorth &worth_of(const State &state, const Job &job);

/* gain.h: by how much the logarithm of the job's speed grows for each core. */
const Gain &measured_gain();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_MEASURED_WORTH_H_INCLUDED */
