/*
 * The ended jobs of a store, for reading only: the folder is neither created, locked nor changed,
 * and an elasticd may use it at the same time.
 */

#ifndef ELASTIC_RM_STORE_ENDED_JOBS_H_INCLUDED
#define ELASTIC_RM_STORE_ENDED_JOBS_H_INCLUDED

#include <string>
#include <vector>

#include "base/result.h"
#include "core/job.h"

namespace elastic::rm {

struct StoredJobs {
    std::vector<Job> jobs;      /* by their numbers */
    int64_t unreadable = 0;     /* omitted: this version cannot read them */
};

/* From the store in this folder (elasticd's state_dir). */
Result<StoredJobs> read_ended_jobs(const std::string &folder);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_ENDED_JOBS_H_INCLUDED */
