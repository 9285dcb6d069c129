/*
 * The jobs that give cores to a waiting job, and how many: first those with the lowest gain from
 * them, among equals the largest, as few cores as possible.  Part of one decision (fill_plan.h).
 */

#ifndef ELASTIC_RM_CORE_POLICY_FILL_DONORS_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_FILL_DONORS_H_INCLUDED

#include "core/policy/fill_plan.h"

namespace elastic::rm {

/* Limit of a shrink: core loans alone; down to the fair share; down to the minimum. */
enum class DonorLimit { LOANS, FAIR_SHARE, MINIMUM };

class Donors {
  public:
    explicit Donors(FillPlan &plan) : plan_(plan), state_(plan.state) {}

    /* Plans shrinks until this number of processes will fit; returns false, with nothing
     * planned, if that is impossible.  Loans are returned first.  `whom` is the waiting job; 0:
     * a job of others. */
    bool shrink_for(const JobSpec &spec, int want, DonorLimit limit, JobId whom = 0);

  private:
    struct Trial {
        Space space;
        int capacity;
        std::map<JobId, int> planned;   /* new sizes */
    };
    void shrink(Trial &trial, const JobSpec &spec, int want, DonorLimit limit);
    std::vector<const Job *> find_donors();
    void recheck_when_one_may();
    void sort_by_gain(std::vector<const Job *> &donors) const;
    int floor(const Job &job, DonorLimit limit) const;
    bool helps(const Space &space, const JobSpec &spec, const Job &donor, int from, int to) const;
    int shrink_to(const Job &donor, int from, int less, int floor);
    /* A node that the job has left after this number of its processes has left. */
    struct Emptied {
        int leaving;
        const Node *node;
    };
    /* All of its nodes, in the order in which it leaves them. */
    const std::vector<Emptied> &emptied_by(const Job &job);
    static void keep_slots(const Job &job, std::vector<Emptied> &emptied);
    void release(Space &space, const Job &job, int from, int to);

    FillPlan &plan_;
    const State &state_;
    std::unordered_map<JobId, std::vector<Emptied>> emptied_;   /* so far */
    /* Valid until another shrink is planned. */
    std::optional<std::vector<const Job *>> may_shrink_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FILL_DONORS_H_INCLUDED */
