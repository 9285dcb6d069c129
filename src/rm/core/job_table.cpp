/* See job_table.h. */

#include "core/job_table.h"

namespace elastic::rm {

namespace {

using S = JobState;
using E = JobEvent;

constexpr JobTransition TABLE[] = {
    {S::PENDING, E::PLACE, S::STARTING},
    {S::PENDING, E::END_CANCELLED, S::CANCELLED},

    {S::STARTING, E::START, S::RUNNING},
    {S::STARTING, E::STOP, S::COMPLETING},
    {S::STARTING, E::OVER, S::COMPLETING},

    {S::RUNNING, E::ADAPT, S::ADAPTING},
    {S::RUNNING, E::SUSPEND, S::SUSPENDED},
    {S::RUNNING, E::STOP, S::COMPLETING},
    {S::RUNNING, E::OVER, S::COMPLETING},

    {S::ADAPTING, E::ADAPT_END, S::RUNNING},
    {S::ADAPTING, E::STOP, S::COMPLETING},
    {S::ADAPTING, E::OVER, S::COMPLETING},

    {S::SUSPENDED, E::RESUME, S::RUNNING},
    {S::SUSPENDED, E::STOP, S::COMPLETING},
    {S::SUSPENDED, E::OVER, S::COMPLETING},

    /* A change may end while the step is being ended, and the step may end by itself. */
    {S::COMPLETING, E::ADAPT_END, S::COMPLETING},
    {S::COMPLETING, E::OVER, S::COMPLETING},
    {S::COMPLETING, E::REQUEUE, S::PENDING},
    {S::COMPLETING, E::END_DONE, S::DONE},
    {S::COMPLETING, E::END_FAILED, S::FAILED},
    {S::COMPLETING, E::END_CANCELLED, S::CANCELLED},
};

}  // namespace

const JobTransition *find_transition(JobState state, JobEvent event)
{
    for (const JobTransition &row : TABLE) {
        if (row.state == state && row.event == event)
            return &row;
    }
    return nullptr;
}

}  // namespace elastic::rm
