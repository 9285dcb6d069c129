/*
 * Metrics of a run, from its records: the daemon's stored history, or a simulation's.
 */

#ifndef ELASTIC_RM_CORE_METRICS_H_INCLUDED
#define ELASTIC_RM_CORE_METRICS_H_INCLUDED

#include <map>

#include "core/action.h"

namespace elastic::rm {

struct RunMetrics {
    int jobs = 0, done = 0, failed = 0, cancelled = 0, unfinished = 0;
    int64_t makespan_ms = 0;            /* from the first submission to the last end */
    int64_t mean_wait_ms = 0, p95_wait_ms = 0;  /* from submission to the first start */
    int64_t mean_turnaround_ms = 0;     /* from submission to the end */
    /* used by jobs' processes, as a part of the cores of nodes that are up during the makespan */
    double utilisation = 0;
    int adaptations = 0, withdrawn = 0, failed_adaptations = 0;
    int64_t standstill_ms = 0;          /* of all jobs, for committed adaptations */
    ELASTIC_FIELDS(jobs, done, failed, cancelled, unfinished, makespan_ms, mean_wait_ms,
                   p95_wait_ms, mean_turnaround_ms, utilisation, adaptations, withdrawn,
                   failed_adaptations, standstill_ms)
};

class MetricsCollector {
  public:
    /* Call it in the order of the records' numbers; a repeated record is ignored. */
    void see(const Record &record);
    RunMetrics result() const;

  private:
    struct Life {
        int64_t submitted_ms = 0, started_ms = NEVER, ended_ms = NEVER;
        int cores_per_process = 1;
        int64_t cores = 0;
        std::string state;
    };
    void advance(int64_t time_ms);
    void occupy(Life &life, int64_t processes);

    uint64_t last_ = 0;
    int64_t first_ms_ = NEVER, last_end_ms_ = NEVER, now_ms_ = 0;
    int64_t busy_cores_ = 0, up_cores_ = 0;
    double busy_ = 0, up_ = 0;          /* core-milliseconds since the first submission */
    double busy_at_end_ = 0, up_at_end_ = 0;    /* at the last end */
    std::map<std::string, int> nodes_;          /* cores of the nodes that are up */
    std::map<JobId, Life> lives_;
    RunMetrics sums_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_METRICS_H_INCLUDED */
