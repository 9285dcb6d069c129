/*
 * The fair share of each job that runs, or is among the first that wait: the cores, and the GPUs,
 * of all nodes that are up, divided equally.  If jobs may use different nodes (partitions, excluded
 * nodes, nodes with GPUs), the cores of a node are divided among the jobs that may use it, so that
 * those with the smallest share get most of them.
 *
 * Of one decision: computed when it is first needed.
 */

#ifndef ELASTIC_RM_CORE_POLICY_FAIR_SHARE_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_FAIR_SHARE_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

class FairShares {
  public:
    explicit FairShares(const State &state) : state_(state) {}

    /* In processes. */
    int size(const JobSpec &spec) const;
    /* Whether computed shares depend on which jobs wait, not only on their number. */
    bool depend_on_jobs() const;

  private:
    /* Jobs that may use the same nodes: those of a partition (null: all) without the excluded
     * ones, and only those with GPUs if they need some. */
    using Kind = std::tuple<const Partition *, bool, NodeSet>;
    struct Share {
        int64_t jobs = 0;
        int64_t cores = 0, gpus = 0;    /* of each job */
    };
    using Shares = std::map<Kind, Share>;
    static Kind kind_of(const JobSpec &spec);
    Shares jobs_of_kinds() const;
    void divide(Shares &shares) const;

    const State &state_;
    mutable std::optional<Shares> shares_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_FAIR_SHARE_H_INCLUDED */
