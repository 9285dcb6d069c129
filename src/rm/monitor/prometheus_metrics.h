/*
 * The metrics for Prometheus at /metrics: counters of this process, and the state of the core.
 * Names no jobs and no users.  One thread.
 */

#ifndef ELASTIC_RM_METRICS_H_INCLUDED
#define ELASTIC_RM_METRICS_H_INCLUDED

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "core/action.h"
#include "core/state.h"
#include "monitor/metric_list.h"
#include "step/sampler.h"

namespace elastic::rm {

class Metrics {
  public:
    void count_response(int status) { responses_[status]++; }
    void count_event(const char *name) { events_[name]++; }
    void count_record(const Record &record);
    void count_storage_error() { storage_errors_++; }
    void count_redundant() { redundant_++; }
    void time_commit(double seconds) { commit_.add(seconds); }
    void time_submit(double seconds) { submit_.add(seconds); }
    void time_turn(double seconds)
    {
        turn_.add(seconds);
        turn_longest_s_ = std::max(turn_longest_s_, seconds);
    }

    struct Now {                /* in addition to the counters */
        int64_t started_ms = 0;
        size_t connections = 0;
        bool storage_works = true;
        Sampler::Counts samples;
    };
    std::string text(const State &state, const Now &now) const;

  private:
    struct Histogram {
        static constexpr std::array<double, 11> BOUNDS = {0.001, 0.0025, 0.005, 0.01, 0.02,
                                                          0.03,  0.04,   0.05,  0.1,  0.5, 2.5};
        std::array<uint64_t, BOUNDS.size() + 1> counts = {};
        double sum = 0;
        void add(double seconds);
        std::string text(const MetricInfo &info) const;
    };

    std::map<int, uint64_t> responses_;
    std::map<std::string, uint64_t> events_, records_;
    uint64_t storage_errors_ = 0, redundant_ = 0;
    int64_t standstill_ms_ = 0;
    Histogram commit_, submit_, turn_;
    double turn_longest_s_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_METRICS_H_INCLUDED */
