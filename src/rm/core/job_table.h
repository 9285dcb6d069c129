/*
 * The states of a job as a table: state and event give the next state.  A pair that is not listed
 * is an error of the core, which calls allowed() where other processes decide.
 *
 *   PENDING -PLACE-> STARTING -START-> RUNNING <-ADAPT, ADAPT_END-> ADAPTING
 *      ^                |                 |    <-SUSPEND, RESUME-> SUSPENDED
 *      |                |                 |                           |
 *      |                +------- STOP, OVER -------> COMPLETING <-----+
 *      +-- REQUEUE ------------------------------------+
 *                                                      +-- END_* --> DONE, FAILED, CANCELLED
 */

#ifndef ELASTIC_RM_CORE_JOB_TABLE_H_INCLUDED
#define ELASTIC_RM_CORE_JOB_TABLE_H_INCLUDED

#include "core/job.h"

namespace elastic::rm {

enum class JobEvent {
    PLACE,              /* cores are booked, the step is being started */
    START,              /* it runs */
    ADAPT,              /* another size has been decided */
    ADAPT_END,          /* ... and is reached, or given up */
    SUSPEND,            /* its processes are to be stopped */
    RESUME,             /* ... and continue */
    STOP,               /* the step is to be ended */
    OVER,               /* it has ended, or could not be started */
    REQUEUE,            /* all resources are released, and it waits again */
    END_DONE,           /* ... and it has finally ended */
    END_FAILED,
    END_CANCELLED
};

struct JobTransition {
    JobState state;
    JobEvent event;
    JobState next;
};

/* nullptr if the pair is not listed. */
const JobTransition *find_transition(JobState state, JobEvent event);

inline bool allowed(JobState state, JobEvent event)
{
    return find_transition(state, event) != nullptr;
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_JOB_TABLE_H_INCLUDED */
