/*
 * Core loans: cores that are reserved for the first waiting job and idle until then go to running
 * malleable jobs that have changed before (clause Q8 of the performance specification), where the
 * rules of the policy allow loans.  Part of one decision (fill_plan.h).
 *
 * A loan is a number of processes of the job (Job::loaned), the last that it has.  Reservations
 * count loans as idle cores, so that no loan moves a reservation.  Loans return
 *
 *   for each job that starts by them, in its turn or by backfilling, before all other donations
 *   (fill_donors.h), whatever the policy decides about the size of the borrower;
 *   two mean durations of the borrower's adaptations before the reserved time, for the first job.
 *
 * Only cores that no other job could have beside the reservation are loaned, so that no other job
 * waits for them.  A job that does not return a loan on request gets no other one
 * (Job::withheld_loan), and plans do not count on its cores.
 */

#ifndef ELASTIC_RM_CORE_POLICY_FILL_LOANS_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_FILL_LOANS_H_INCLUDED

#include "core/policy/fill_plan.h"

namespace elastic::rm {

class CoreLoans {
  public:
    explicit CoreLoans(FillPlan &plan) : plan_(plan), state_(plan.state) {}

    /* Returns the loans that are needed soon. */
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

/* The growth of a job of which a part is a loan. */
Change to_loan(FillPlan &plan, Growth &growth);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FILL_LOANS_H_INCLUDED */
