/* The state of a job after all changes in progress.  Pure. */

#ifndef ELASTIC_RM_CORE_PENDING_CHANGES_H_INCLUDED
#define ELASTIC_RM_CORE_PENDING_CHANGES_H_INCLUDED

#include "core/placement.h"

namespace elastic::rm {

/* Its processes after the changes: none if it ends. */
inline Blocks pending_world(const Job &job)
{
    if (job.state == JobState::COMPLETING)
        return {};
    if (!job.adaptation)
        return job.blocks;
    /* it is unknown whether any process leaves */
    Blocks staying = is_overdue(job) ? Blocks(job.blocks)
                                     : without(job.blocks, job.adaptation->leave);
    return append(std::move(staying), job.adaptation->joining);
}

/* The same with its slots beside the world. */
inline Blocks pending_blocks(const Job &job)
{
    return job.state == JobState::COMPLETING ? Blocks() : append(pending_world(job), slots_of(job));
}

/* Number of core loans after the change; loans return first. */
inline int coming_loan(const Job &job, const Adaptation &change)
{
    int given = change.overdue ? 0 : std::max(change.old_size - change.size, 0);
    return std::max(job.loaned + change.loaned - given, 0);
}

/* Of the processes of pending_world. */
inline int pending_loan(const Job &job)
{
    if (job.state == JobState::COMPLETING)
        return 0;
    return job.adaptation ? coming_loan(job, *job.adaptation) : job.loaned;
}

/* The size that remains of `size` processes after a job has returned this number of loans. */
inline int size_without(const JobSpec &spec, int size, int loaned)
{
    int own = size_at_most(spec, size - loaned);
    return own > 0 ? own : std::min(size, size_at_least(spec, 1));
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_PENDING_CHANGES_H_INCLUDED */
