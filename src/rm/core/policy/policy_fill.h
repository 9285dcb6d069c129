/*
 * Resource filling: sizes that jobs leave open are chosen so that waiting jobs start soon and no
 * core idles.
 *
 *   1 malleable jobs leave draining nodes
 *   2 waiting jobs, in the queue's order: one that fits starts, small at first; for one that does
 *     not, malleable jobs are shrunk; if that is not enough either, it gets a reservation as in
 *     EASY backfilling, and later ones may go ahead beside it; malleable jobs are shrunk for these,
 *     too, if they end before it (fill_starting.h, fill_donors.h)
 *   3 what then idles goes to those that start and to running malleable jobs (fill_recipients.h)
 *
 * Within what a policy allows each job (size_rules.h): `fill` itself any size.
 *
 * Who gives and who gets is decided by what a core is worth to whom (gain.h); to all the same, the
 * largest gives and the smallest gets.
 *
 * The fair share is the machine divided by the number of jobs that run or wait.  A shrink for a
 * waiting job goes down to that, and below it, to the minimum, only if the waiting job could not
 * start at its own minimum otherwise.  Cores that are about to be freed belong to the job that they
 * are freed for.
 *
 * A reservation is not moved by a decision (SPEC-performance Q7): it is for the time when enough is
 * free if malleable jobs have given what they can, and others go ahead beside that.  So whoever
 * grows into reserved cores gives them back then, and moves nothing by its own time limit.
 *
 * No oscillation: a job is grown only into cores that no waiting job can use now, and not again
 * within offer_pause_ms; it is shrunk only for a job that starts because of it.  Both follow an
 * arrival or an end; without one, nothing changes. After a change that came to nothing the job is
 * left alone for a while, longer each time.
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
    std::string explain(const State &state, const Job &job) const override
    {
        return rules_.explain(state, job);
    }
    std::optional<SizeBounds> bounds(const State &state, const Job &job) const override;
    std::optional<HeldBecause> held_because(const State &state, const Job &job) const override;

  private:
    const Gain &gain_;
    const SizeRules &rules_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FILL_H_INCLUDED */
