/*
 * What is reserved for the first waiting job and idles until then is lent to running malleable
 * jobs that have shown that they change (SPEC-performance Q8), where the policy's rules let them
 * borrow.  Part of one decision (fill_plan.h).
 *
 * A loan is a number of processes of the job (Job::lent), the last that it has: reservations count
 * on them as if they idled, so that no loan moves one.  They are given back
 *
 *   for whoever starts by that, in its turn or ahead of the first job, before all other gifts
 *   (fill_donors.h), whatever the policy says of the job's size;
 *   two mean durations of the job's adaptations before the promised time, for the first job.
 *
 * Only cores that nobody else could have beside the reservation are lent, so that nobody waits for
 * them but those two.  Who does not give back what it was asked for gets no loan again
 * (Job::kept_loan), and is not counted on.
 */

#ifndef ELASTIC_RM_CORE_POLICY_FILL_LENDING_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_FILL_LENDING_H_INCLUDED

#include "core/policy/fill_plan.h"

namespace elastic::rm {

class Lending {
  public:
    explicit Lending(FillPlan &plan) : plan_(plan), state_(plan.state) {}

    /* What is wanted soon goes back. */
    void call_in();
    /* Whether the job, which would have growth.size processes, may have `more` on loan. */
    bool allows(const Growth &growth, int more);

  private:
    int64_t wanted_ms();
    bool pays(const Growth &growth, int64_t lendable);
    int64_t cores_of(const Job &job, int processes) const;

    FillPlan &plan_;
    const State &state_;
};

/* The growth of a job of which a part is lent. */
Change to_lend(FillPlan &plan, Growth &growth);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FILL_LENDING_H_INCLUDED */
