/*
 * Strategies of another study, for comparison: Zojer, Posner, Özden 2026, "Evaluating Malleable
 * Job Scheduling in HPC Clusters using Real-World Workloads" (arXiv 2602.17318).  elasticd does
 * not have them: a preferred size requires knowledge that most users do not have.
 *
 *   keep-pref  malleable jobs stay at their preferred size when possible: they start with it
 *              if it fits, release cores only for waiting jobs, and grow up to it again
 *   pref       they start so, too, and grow beyond it into idle cores
 *   min-common-pool
 *              jobs start with their least size; the one farthest above it releases cores first,
 *              the nearest one grows first
 *   pref-common-pool
 *              the same by the distance from the preferred size, with which jobs start if it fits
 *   average-steal-agreement
 *              jobs start with their least size; the part of its range that each job has decides
 *
 * Queue, reservations and allocation are those of `fill`, so that sizes alone make the difference.
 */

#ifndef ELASTIC_RM_SIM_TRACES_STUDY_POLICIES_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_STUDY_POLICIES_H_INCLUDED

#include <string>
#include <vector>

#include "core/policy/policy.h"

namespace elastic::rm {

std::vector<std::string> study_policy_names();
/* Null: not one of these. */
const Policy *study_policy(const std::string &name);
/* Whether its jobs have a preferred size, equal to that of the trace. */
bool has_preferred_sizes(const std::string &name);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_STUDY_POLICIES_H_INCLUDED */
