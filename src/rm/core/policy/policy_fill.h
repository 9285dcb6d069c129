/*
 * Resource filling: the sizes that jobs leave open are chosen so that waiting jobs start soon and
 * no core idles.
 *
 *   1 malleable jobs leave draining nodes
 *   2 waiting jobs, in queue order: a job that fits starts, small at first; for a job that does
 *     not fit, malleable jobs shrink; if that is not enough, it gets a reservation as in EASY
 *     backfilling, and later jobs may be backfilled; malleable jobs shrink for these, too, if they
 *     end before the reserved time (fill_starting.h, fill_donors.h)
 *   3 idle cores go to jobs that start and to running malleable jobs (fill_recipients.h)
 *
 * A policy limits the sizes of each job (size_rules.h): `fill` itself allows all.
 *
 * The gain of cores (gain.h) selects donors and recipients; with equal gains, the largest job
 * releases cores and the smallest gets them.
 *
 * The fair share is the machine divided by the number of running and waiting jobs.  A shrink for a
 * waiting job goes down to the fair share, and below it, to the minimum, only if the waiting job
 * could not start at its own minimum otherwise.  Cores that will soon be free belong to the
 * job for which they are freed.
 *
 * No decision moves a reservation (clause Q7): it is the time when enough cores are free if
 * malleable jobs have released all that they can, and backfilling respects it.  So a job that grows
 * into reserved cores returns them then, and moves nothing by its own time limit.
 *
 * No oscillation: a job grows only into cores that no waiting job can use now, and not again
 * within offer_pause_ms; it shrinks only for a job that starts because of it.  Both follow an
 * arrival or an end; without one, nothing changes.  After a failed change the job is not changed
 * for some time, longer each time.
 */

#ifndef ELASTIC_RM_CORE_POLICY_FILL_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_FILL_H_INCLUDED

#include "core/policy/gain.h"
#include "core/policy/policy.h"
#include "core/policy/size_rules.h"

namespace elastic::rm {

class Fill : public Policy {
  public:
    explicit Fill(const Gain &gain = equal_gain(), const SizeRules &rules = any_sizes())
        : gain_(gain), rules_(rules)
    {
    }
    Decisions decide(const State &state) const override;
    Sight sight(const State &state, const Job &job) const override;
    bool heeds_sample(const State &state, const Job &job, const Sight &before,
                      const Dependence &on) const override;
    std::string explain(const State &state, const Job &job) const override;
    std::optional<SizeBounds> bounds(const State &state, const Job &job) const override;
    std::optional<HeldBecause> held_because(const State &state, const Job &job) const override;

  private:
    const Gain &gain_;
    const SizeRules &rules_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FILL_H_INCLUDED */
