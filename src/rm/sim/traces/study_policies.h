/*
 * Strategies of another study, to compare with: Zojer, Posner, Özden 2026, "Evaluating Malleable
 * Job Scheduling in HPC Clusters using Real-World Workloads" (arXiv 2602.17318).  elasticd does not
 * have them: a job's preferred size says more than most users know.
 *
 *   keep-pref  malleable jobs are kept at their preferred size when possible: they start with it
 *              if it fits, give only to jobs that wait, and are grown up to it again
 *   pref       they start so, too, and are grown beyond it into what nobody can use
 *
 * Queue, reservations and placement are those of `fill`, so that sizes alone make the difference.
 * The study's strategy that starts jobs with their least size is `fill` itself.
 */

#ifndef ELASTIC_RM_SIM_TRACES_STUDY_POLICIES_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_STUDY_POLICIES_H_INCLUDED

#include <string>

#include "core/policy/policy.h"

namespace elastic::rm {

/* Null: it is none of these. */
const Policy *study_policy(const std::string &name);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_STUDY_POLICIES_H_INCLUDED */
