/*
 * For the first waiting job, for which nobody can make room: time balancing of those whose ends it
 * waits for (time_balance.h), where the policy's rules ask for it.  Part of one decision
 * (fill_plan.h).
 *
 * Those who shrink give at once; who grows gets cores that are free, and waits for those that the
 * others give.  Nobody remembers a balance: it is found again in each decision, with those who have
 * been changed as they are then, so that what has failed or come otherwise is taken as it is.
 *
 * What the first job is promised by limits (Q7) stays: nobody grows who might, by its limit, keep
 * cores beyond that time, and nobody shrinks so far that its limit would end it.
 */

#ifndef ELASTIC_RM_CORE_POLICY_FILL_BALANCE_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_FILL_BALANCE_H_INCLUDED

#include "core/policy/fill_plan.h"

namespace elastic::rm {

class Balancing {
  public:
    explicit Balancing(FillPlan &plan) : plan_(plan), state_(plan.state) {}
    void plan();

  private:
    bool find_members();
    BalanceMember member(const Job &job, int64_t end_ms) const;
    bool may_change(const Job &job) const;
    SizeBounds range(const Job &job, const BalanceMember &member) const;
    void carry_out(const Balance &found);
    void expect_start(int64_t in_ms);
    void grow(const Job &job, int size);

    FillPlan &plan_;
    const State &state_;
    int64_t promised_ms_ = NEVER;       /* by limits */
    int64_t first_end_ms_ = NEVER;      /* as expected */
    TimeBalance balance_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FILL_BALANCE_H_INCLUDED */
