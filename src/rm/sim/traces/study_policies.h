/*
 * Strategies of another study, to compare with: Zojer, Posner, Özden 2026, "Evaluating Malleable
 * Job Scheduling in HPC Clusters using Real-World Workloads" (arXiv 2602.17318).  elasticd does not
 * have them: a job's preferred size says more than most users know.
 *
 * Three of the study's strategies, by the rules that its authors publish for ElastiSim (project
 * Wagomu, MalleableJobScheduling), in our words:
 *
 *   min-common-pool          a job starts with its least size; the job that is farthest above its
 *                            least size gives first, the nearest one is grown first
 *   pref-common-pool         a job starts with its preferred size if it fits, else with what is
 *                            free; the job that is farthest above its preferred size gives first,
 *                            the one that is farthest below is grown first, then up to the maximum
 *   average-steal-agreement  a job starts with its least size; the job that has the largest part of
 *                            its range of sizes gives first, that with the least part is grown
 *
 * Two that were read from the study's abstract alone:
 *
 *   keep-pref  malleable jobs are kept at their preferred size when possible: they start with it
 *              if it fits, give only to jobs that wait, and are grown up to it again
 *   pref       they start so, too, and are grown beyond it into what nobody can use
 *
 * Queue, reservations and placement are those of `fill`, so that sizes alone make the difference:
 * the study's agreements, which keep nodes for a waiting job until all of them are free, are
 * `fill`'s cores that are about to be freed.
 */

#ifndef ELASTIC_RM_SIM_TRACES_STUDY_POLICIES_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_STUDY_POLICIES_H_INCLUDED

#include <string>

#include "core/policy/policy.h"

namespace elastic::rm {

/* Null: it is none of these. */
const Policy *study_policy(const std::string &name);
/* Whether its jobs have a preferred size, that of the trace. */
bool has_preferred_sizes(const std::string &name);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_STUDY_POLICIES_H_INCLUDED */
