/*
 * The cores that are reserved for a job at a later time, and the cores that other jobs may use
 * beside them, at present and at that time.  Pure.
 *
 * Other jobs can only use cores that are free at both times, so that most of the cores that are
 * released until then need no check: a list holds the contested nodes, and no order of free cores
 * exists for the later time.
 */

#ifndef ELASTIC_RM_CORE_RESERVED_CORES_H_INCLUDED
#define ELASTIC_RM_CORE_RESERVED_CORES_H_INCLUDED

#include "core/placement.h"

namespace elastic::rm {

class ReservedCores {
  public:
    /* At the later time `begun` and `given` are free.  The job gets as few as possible of the
     * cores that are free in `now`, which is `begun` or less.  It must fit.  A job that names
     * nodes or needs GPUs may also need those of `unlimited`, which are not known to be free
     * then. */
    ReservedCores(const State &state, const Space &begun, const std::vector<const Shares *> &given,
            const Space &now, const JobSpec &spec, int processes,
            const std::vector<const Shares *> &unlimited = {});

    /* Cores that are free then, besides the reserved ones. */
    int64_t left() const { return left_; }
    /* Whether other jobs fit in `now` without reserved cores.  `now` is always the one of the
     * construction, and only allocate() and changed() change it. */
    bool fits(const Space &now, const JobSpec &spec, int processes);
    /* Books it for both times. */
    Blocks allocate(Space &now, const JobSpec &spec, int processes);
    /* Fewer cores are free now. */
    void changed();

  private:
    /* Capacity that the reservation takes, for one kind of job. */
    struct Loss {
        Shape shape;
        bool whole_nodes;
        int64_t capacity;
    };
    void reserve_given(const Space &begun, const std::vector<const Shares *> &given,
                       const Space &now, const JobSpec &spec, int processes);
    void reserve_chosen(Space then, const JobSpec &spec, int processes);
    void reserve(const Node &node, int cores, int gpus);
    void take(const Node &node, int cores, int gpus);
    int cores_then(const Node &node) const { return std::max(then_[node.position], 0); }
    int gpus_then(const Node &node) const
    {
        return gpus_then_.empty() ? 0 : std::max(gpus_then_[node.position], 0);
    }
    int64_t unavailable_capacity(const Space &now, const JobSpec &spec);
    int64_t unavailable_cores(const Space &now);
    /* The free cores without the reserved cores. */
    Space beside(const Space &now) const;

    const State &state_;
    /* free besides the reserved cores, by position; negative: some of these are not free then */
    std::vector<int> then_;
    std::vector<int> gpus_then_;        /* the same for GPUs; empty if there are none */
    int64_t left_;
    /* reserved nodes with fewer free cores then than now; each once */
    std::vector<const Node *> contested_;
    std::vector<Loss> losses_;  /* computed so far */
    std::optional<int64_t> unavailable_cores_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_RESERVED_CORES_H_INCLUDED */
