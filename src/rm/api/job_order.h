/*
 * Jobs in a display order, computed lazily: a list of the first few costs their number, not the
 * number of all jobs.  Pure.
 */

#ifndef ELASTIC_RM_JOB_ORDER_H_INCLUDED
#define ELASTIC_RM_JOB_ORDER_H_INCLUDED

#include <functional>
#include <string>
#include <vector>

#include "core/state.h"

namespace elastic::rm {

enum class JobOrder {
    ID,
    NEWEST,             /* descending ID */
    /* jobs on nodes, the queue, jobs that wait for something else, ended jobs */
    QUEUE
};
/* The order with this name in a query (empty: ID); nullopt: there is none. */
std::optional<JobOrder> job_order(const std::string &name);

struct JobRange {
    JobId after = 0, before = 0;        /* 0: no bound */
    std::vector<JobId> ids;             /* only these; empty: any */
};

/* Calls back for the jobs that have not ended and for `ended` (in any order) until `take`
 * returns false.  With QUEUE the bounds of the range are ignored. */
void each_job(const State &state, const std::vector<Job> &ended, JobOrder order,
              const JobRange &range, const std::function<bool(const Job &)> &take);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_JOB_ORDER_H_INCLUDED */
