/*
 * The place that a job is promised at a later time, and what others may have beside it, now and
 * then.  Pure.
 *
 * Only what is free now as well as then can be wanted by others, so that most of what is given back
 * until then need not be looked at again: what is contested is a list, and no free cores are
 * ordered for the later time.
 */

#ifndef ELASTIC_RM_CORE_PROMISE_H_INCLUDED
#define ELASTIC_RM_CORE_PROMISE_H_INCLUDED

#include "core/placement.h"

namespace elastic::rm {

class Promise {
  public:
    /* Then `begun` is free, and `given`.  The job gets as little as possible of what is free in
     * `now`: that is `begun`, or less.  There must be room for it. */
    Promise(const State &state, const Space &begun, const std::vector<const Shares *> &given,
            const Space &now, const JobSpec &spec, int processes);

    /* Cores that are free then, beside the promised place. */
    int64_t left() const { return left_; }
    /* Whether others have room in `now` without taking what is promised.  `now` is always the one
     * of the construction, and changes by place() and changed() alone. */
    bool fits(const Space &now, const JobSpec &spec, int processes);
    /* Books it, now and then. */
    Blocks place(Space &now, const JobSpec &spec, int processes);
    /* Less is free now. */
    void changed();

  private:
    /* What room is lost by the promise, for one kind of job. */
    struct Loss {
        Shape shape;
        bool whole_nodes;
        int64_t room;
    };
    void take(const Node &node, int cores);
    int64_t lost_room(const Space &now, const JobSpec &spec);
    int64_t lost_cores(const Space &now);

    const State &state_;
    std::vector<int> then_;     /* free beside the promised place, by position */
    int64_t left_;
    /* of the place, where less is free then than now; each once */
    std::vector<const Node *> contested_;
    std::vector<Loss> losses_;  /* known so far */
    std::optional<int64_t> lost_cores_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_PROMISE_H_INCLUDED */
