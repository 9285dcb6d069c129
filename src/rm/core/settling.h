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
    /* nobody knows whether anybody leaves */
    Blocks staying = is_overdue(job) ? Blocks(job.blocks)
                                     : without(job.blocks, job.adaptation->leave);
    return append(std::move(staying), job.adaptation->joining);
}

/* And with it its places beside the world. */
inline Blocks settled_blocks(const Job &job)
{
    return job.state == JobState::COMPLETING ? Blocks() : append(settled_world(job), slots_of(job));
}

/* Of its processes after the change: what is lent goes first. */
inline int lent_to_come(const Job &job, const Adaptation &change)
{
    int given = change.overdue ? 0 : std::max(change.old_size - change.size, 0);
    return std::max(job.lent + change.lent - given, 0);
}

/* Of the processes of settled_world. */
inline int settled_lent(const Job &job)
{
    if (job.state == JobState::COMPLETING)
        return 0;
    return job.adaptation ? lent_to_come(job, *job.adaptation) : job.lent;
}

/* The size that is left to one of `size` processes when it has given back so many. */
inline int size_without(const JobSpec &spec, int size, int lent)
{
    int own = size_at_most(spec, size - lent);
    return own > 0 ? own : std::min(size, size_at_least(spec, 1));
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_SETTLING_H_INCLUDED */
