/*
 * The waiting jobs that start, in queue order, and the jobs for which others free cores.  Part of
 * one decision (fill_plan.h).
 */

#ifndef ELASTIC_RM_CORE_POLICY_FILL_STARTING_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_FILL_STARTING_H_INCLUDED

#include "core/policy/fill_donors.h"

namespace elastic::rm {

class Starting {
  public:
    explicit Starting(FillPlan &plan) : plan_(plan), state_(plan.state), donors_(plan) {}

    /* Jobs of others come before all own jobs. */
    void examine_others();
    void examine_waiting();

  private:
    bool help_in_order();
    bool nothing_to_give() const;
    bool start(const Job &job);
    bool wait_for_cores(const Job &job);
    void claim(const JobSpec &spec, int size);
    bool start_backfill(const Job &job);
    void free_cores_for_backfill(const Job &job);
    int64_t end_of(const JobSpec &spec) const;
    StartNumbers numbers_of(const Job &job, int size) const;
    void add_start(const Job &job, Blocks blocks, const StartNumbers &numbers);

    FillPlan &plan_;
    const State &state_;
    Donors donors_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FILL_STARTING_H_INCLUDED */
