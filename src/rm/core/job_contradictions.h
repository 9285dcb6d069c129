/* Contradictions in the state of one job, without regard to other jobs: of a snapshot, and after
 * each event of a test.  Pure. */

#ifndef ELASTIC_RM_CORE_JOB_CONTRADICTIONS_H_INCLUDED
#define ELASTIC_RM_CORE_JOB_CONTRADICTIONS_H_INCLUDED

#include <string>

#include "core/job.h"

namespace elastic::rm {

/* Empty, or the error in its state: "adapts to nothing". */
inline std::string contradiction(const Job &job)
{
    bool is_suspended = job.state == JobState::SUSPENDED;
    if (job.state == JobState::ADAPTING && !job.adaptation)
        return "adapts to nothing";
    if (is_suspended != (job.suspended_at_ms != NEVER) || job.suspended_ms < 0)
        return "has a wrong time of its suspension";
    if (is_suspended && job.limit_at_ms != NEVER)
        return "is suspended, and its time limit is not";
    return "";
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_JOB_CONTRADICTIONS_H_INCLUDED */
