/* What comes of a job when what is under way with it has come to its end.  Pure. */

#ifndef ELASTIC_RM_CORE_SETTLING_H_INCLUDED
#define ELASTIC_RM_CORE_SETTLING_H_INCLUDED

#include "core/placement.h"

namespace elastic::rm {

/* Its processes then: none of one that ends. */
inline Blocks settled_world(const Job &job)
{
    if (job.state == JobState::COMPLETING)
        return {};
    if (!job.adaptation)
        return job.blocks;
    return append(without(job.blocks, job.adaptation->leave), job.adaptation->joining);
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_SETTLING_H_INCLUDED */
