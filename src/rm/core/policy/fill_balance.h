/*
 * Time balancing for the first waiting job, if no job can free cores for it: the jobs for whose
 * ends it waits get sizes with which they end together (time_balance.h), if the rules of the policy
 * require it.  Part of one decision (fill_plan.h).
 *
 * Jobs that shrink release cores at once; jobs that grow get free cores, and wait for the released
 * ones.  No balance is stored: each decision computes it again, with the present sizes, so that a
 * change which failed needs no special case.
 *
 * The reservation of the first job by time limits (clause Q7) stays: no job grows that might, by
 * its limit, hold cores beyond that time, and no job shrinks so far that its limit would end it.
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
