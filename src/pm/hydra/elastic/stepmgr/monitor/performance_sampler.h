/*
 * Samples of the use of time by the processes of the world, for the operation `performance` of the
 * step protocol.  One sample is taken at a time: proxies send the rows of their processes, and all
 * clients that query meanwhile get the same reply.  SPEC-performance J1.
 */

#ifndef ELASTIC_PERFORMANCE_SAMPLER_H_INCLUDED
#define ELASTIC_PERFORMANCE_SAMPLER_H_INCLUDED

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stepmgr/monitor/performance_sample.h"
#include "stepmgr/proto/payload.h"
#include "stepmgr/proto/protocol.h"
#include "stepmgr/state/step_state.h"

namespace elastic {

class PerformanceSampler {
  public:
    explicit PerformanceSampler(StepState &state) : state_(state) {}

    /* Returns the line to send; empty: the line is sent later, when the proxies have replied. */
    std::string answer_performance(int client, const Json &id, const PerformanceRequest &request);
    void on_performance(const ProxyId &proxy_id, uint32_t number, SampleReport &report);
    void on_loops(uint32_t number, LoopsReport &report);
    void proxy_disconnected(const ProxyId &proxy_id);
    void client_disconnected(int client);

    /* Time at which the sample under way is complete at the latest; nothing: none is under way. */
    std::optional<int64_t> until_ms() const;
    void check_time();

  private:
    static constexpr int64_t SAMPLE_WAIT_MS = 2000;     /* for the reply of a proxy */
    static constexpr size_t SAMPLE_WAITING_MAX = 64;
    /* between the two samples of a recent rate */
    static constexpr int64_t SAMPLE_APART_MS = 1000;

    struct Sample {
        uint32_t number = 0, epoch = 0;
        int64_t until_ms = 0;
        std::set<ProxyId> pending_from;
        std::vector<ProcessSample> processes;
        uint32_t stale = 0;
        LoopSet loops;
        std::vector<Waiter> waiting;
    };

    const char *cannot_sample() const;
    void query_samples();
    const Process *sampled(uint32_t group, uint32_t rank);
    void sample_complete();
    Json describe_sample(Sample &sample);

    StepState &state_;
    std::optional<Sample> sample_;
    uint32_t samples_ = 0;      /* number of samples that were begun */
    /* interval at which processes write their loops, if a client has set one */
    std::optional<uint32_t> interval_ms_;
    std::optional<ProbeCount> probes_;  /* of an earlier sample */
};

}  // namespace elastic

#endif /* ELASTIC_PERFORMANCE_SAMPLER_H_INCLUDED */
