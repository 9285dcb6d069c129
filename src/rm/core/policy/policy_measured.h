/*
 * Policy `measured`: cores go to the jobs that gain most speed from them, and are taken from jobs
 * that do not benefit.
 *
 * The measurement of each job is the part of a round that does not become shorter with more
 * processes (scaling.h).  Then:
 *
 *   expand   idle cores go, step by step, to the job whose logarithm of speed gains most, so that
 *            the sum over all jobs becomes maximal: a fair measure, because a small job gains more
 *            from one core than a large one
 *   floor    no job gets cores that gain less than `efficiency` of a proportional gain
 *   loan     except cores that would idle, as long as they gain `efficiency_idle` of it.  They
 *            return first, to waiting jobs and to running jobs that can use them
 *   trial    beyond the measured sizes a job is at most doubled; after a measurement at the new
 *            size the growth is taken back if it did not pay.  The measurement is stored while the
 *            phase lasts, so that the trial is not repeated
 *   balance  while no job waits and no core idles, cores go from the job with the lowest benefit to
 *            the job with the highest, if both together gain more than noise
 *   explore  MPI time does not show for every program that it needs fewer processes.  A job without
 *            measurements below its present size, and without evidence that it needs that size, is
 *            halved if another job needs cores (exploratory shrink)
 *   cost     no job grows that would stand still for longer than a tenth of its benefit
 *
 * The parts: measured_sizes.h (one job), measured_exchange.h (two jobs), measured_worth.h (the
 * gain, and the values stored with a job).
 *
 * A margin between growth and donation (RULE_MARGIN_PPM) is wider than the noise of the samples.
 */

#ifndef ELASTIC_RM_CORE_POLICY_MEASURED_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_MEASURED_H_INCLUDED

#include "core/policy/policy.h"

namespace elastic::rm {

const Policy &measured_policy();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_MEASURED_H_INCLUDED */
