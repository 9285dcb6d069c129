/* The metrics of a run, over any set of jobs: for /v1/report.  Pure. */

#ifndef ELASTIC_RM_REPORT_H_INCLUDED
#define ELASTIC_RM_REPORT_H_INCLUDED

#include <vector>

#include "api/timeline.h"
#include "core/state.h"

namespace elastic::rm {

/* `segments`: those of the jobs; `cores`: of the machine.  Shape: doc/elasticd-api.md. */
Json make_report(const std::vector<Job> &jobs, const std::vector<Segment> &segments, int64_t cores, int64_t now_ms);

/* The same of each user's jobs: a list of {"user", ...}, who has used most first. */
Json make_user_reports(const std::vector<Job> &jobs, const std::vector<Segment> &segments, int64_t cores,
                       int64_t now_ms);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_REPORT_H_INCLUDED */
