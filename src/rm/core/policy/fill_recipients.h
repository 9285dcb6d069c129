/*
 * The jobs that get idle cores: jobs that start and running malleable jobs, first those with the
 * highest gain, among equals the smallest.  Part of one decision (fill_plan.h), and its last one.
 */

#ifndef ELASTIC_RM_CORE_POLICY_FILL_RECIPIENTS_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_FILL_RECIPIENTS_H_INCLUDED

#include "core/policy/fill_plan.h"

namespace elastic::rm {

/* False if the first job will start soon and would take the cores back. */
bool worth_growing(const FillPlan &plan);

class Recipients {
  public:
    explicit Recipients(FillPlan &plan) : plan_(plan), state_(plan.state) {}
    void spread();

  private:
    void add_starts();
    void add_running(const std::vector<JobId> &jobs);
    bool is_free(const Job &job) const;
    bool may_grow(const Job &job) const;
    std::vector<JobId> growers();
    std::vector<JobId> roomy();
    void fill_own_nodes();
    void grow_to_level();
    int target(const Growth &growth, int level) const;
    Space::Resources more_at(const std::vector<const Growth *> &some, int level) const;
    int level_of(const std::vector<const Growth *> &some, const Space::Resources &free) const;
    void limit_levels();
    void grow_by_steps();
    void grow_by_gain();
    int next_size(const Growth &growth) const;
    Unit unit_of(const Growth &growth) const;
    bool grow_a_step(Growth &growth, int next);
    bool grow(Growth &growth, int size);
    bool grow_beside_reserved(Growth &growth, int size);
    bool grow_on_loan(Growth &growth, int size);
    int capacity_for(Growth &growth) const;
    bool fills_its_nodes(const Growth &growth) const;
    GrowingJob &nodes_of(Growth &growth) const;
    bool may_have_capacity_within(const Growth &growth) const;
    void decide();
    Change change_to(Growth &growth) const;

    FillPlan &plan_;
    const State &state_;
    std::vector<Growth> growing_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FILL_RECIPIENTS_H_INCLUDED */
