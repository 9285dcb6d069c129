/*
 * How many waiting jobs a policy examines after the first: Config::backfill_depth of each
 * partition, so that a long queue of one does not hide the jobs of another.
 */

#ifndef ELASTIC_RM_CORE_POLICY_BACKFILL_DEPTH_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_BACKFILL_DEPTH_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

class BackfillDepth {
  public:
    /* After the first job, which waits. */
    BackfillDepth(const State &state, const JobSpec &first);

    /* Whether this job of the queue is to be examined; counts it. */
    bool takes(const JobSpec &spec);
    /* No further job of the queue is to be examined. */
    bool is_reached() const { return open_ == 0; }

  private:
    struct Part {
        int left, unseen;       /* jobs left to examine, and jobs of the queue not seen yet */
    };
    std::map<std::string, Part> parts_;         /* by partition; "" for jobs without one */
    size_t open_;               /* partitions with jobs that are to be examined */
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_BACKFILL_DEPTH_H_INCLUDED */
