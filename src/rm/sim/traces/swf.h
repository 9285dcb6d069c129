/*
 * Job traces in the Standard Workload Format (18 columns,
 * https://www.cs.huji.ac.il/labs/parallel/workload/swf.html), plain or gzip.  Columns that a
 * simulation does not use (memory, queues, applications) are not read.
 */

#ifndef ELASTIC_RM_SIM_TRACES_SWF_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_SWF_H_INCLUDED

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace elastic::rm {

struct TraceJob {
    int64_t number = 0;      /* number in the trace */
    int64_t submit_s = 0;    /* since the begin of the trace */
    int64_t run_s = 0;       /* on the recorded machine */
    int64_t requested_s = 0; /* time limit; 0: not recorded */
    int processors = 0;      /* cores; allocated, else requested */
    int user = -1;           /* -1: not recorded */
    bool never_ran = false;  /* cancelled while it waited */
};

/* An omitted line, and the reason. */
struct TraceProblem {
    int64_t line = 0; /* from 1 */
    std::string what;
};

struct Trace {
    std::vector<TraceJob> jobs;         /* in the order of submission */
    int64_t max_processors = 0;         /* header MaxProcs; 0: not given */
    int64_t skipped = 0;                /* number of lines */
    std::vector<TraceProblem> problems; /* the first PROBLEMS_MAX of these */
};
constexpr size_t TRACE_PROBLEMS_MAX = 20;
constexpr size_t TRACE_LINE_MAX = 4096; /* bytes */
constexpr int TRACE_PROCESSORS_MAX = 100'000'000;

/* One line with a job, or the error in it. */
Result<TraceJob> read_trace_line(std::string_view line);

/* Reads a file; fails if it cannot be read, and with `strict` at the first line that is not a
 * job. */
Result<Trace> read_trace(const std::string &path, bool strict);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_SWF_H_INCLUDED */
