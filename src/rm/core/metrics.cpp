/* See metrics.h. */

#include "core/metrics.h"

#include "core/record.h"

namespace elastic::rm {

void MetricsCollector::advance(int64_t time_ms)
{
    if (first_ms_ != NEVER && time_ms > now_ms_) {
        busy_ += static_cast<double>(busy_cores_) * static_cast<double>(time_ms - now_ms_);
        up_ += static_cast<double>(up_cores_) * static_cast<double>(time_ms - now_ms_);
    }
    now_ms_ = std::max(now_ms_, time_ms);
}

void MetricsCollector::occupy(Life &life, int64_t processes)
{
    busy_cores_ -= life.cores;
    life.cores = processes * life.cores_per_process;
    busy_cores_ += life.cores;
}

void MetricsCollector::see(const Record &record)
{
    if (record.number <= last_)
        return;
    last_ = record.number;
    advance(record.time_ms);
    const std::string &event = record.event;
    const Json &data = record.data;
    if (event == record::NODE_UP || event == record::NODE_DOWN || event == record::NODE_REMOVED) {
        int &cores = nodes_[record.node];
        up_cores_ -= cores;
        cores = event == record::NODE_UP ? data.at("cores").get<int>() : 0;
        up_cores_ += cores;
        return;
    }
    if (record.job == 0)
        return;
    Life &life = lives_[record.job];
    if (event == record::SUBMITTED) {
        life.submitted_ms = record.time_ms;
        life.cores_per_process = record.spec->cores_per_process;
        first_ms_ = first_ms_ == NEVER ? record.time_ms : first_ms_;
    } else if (event == record::ALLOCATED) {
        life.started_ms = life.started_ms == NEVER ? record.time_ms : life.started_ms;
        occupy(life, data.at("size").get<int>());
    } else if (event == record::COMMITTED) {
        occupy(life, data.at("size").get<int>());
        sums_.adaptations++;
        sums_.standstill_ms += data.at("standstill_ms").get<int64_t>();
    } else if (event == record::WITHDRAWN) {
        sums_.withdrawn++;
    } else if (event == record::FAILED) {
        sums_.failed_adaptations++;
    } else if (event == record::REQUEUED) {
        occupy(life, 0);
    } else if (event == record::ENDED) {
        occupy(life, 0);
        life.ended_ms = last_end_ms_ = record.time_ms;
        life.state = data.at("state").get<std::string>();
        busy_at_end_ = busy_;
        up_at_end_ = up_;
    }
}

RunMetrics MetricsCollector::result() const
{
    RunMetrics result = sums_;
    std::vector<int64_t> waits;
    int64_t turnarounds = 0, ended = 0;
    for (const auto &[id, life] : lives_) {
        result.jobs++;
        if (life.started_ms != NEVER)
            waits.push_back(life.started_ms - life.submitted_ms);
        if (life.ended_ms == NEVER) {
            result.unfinished++;
            continue;
        }
        ended++;
        turnarounds += life.ended_ms - life.submitted_ms;
        result.done += life.state == to_string(JobState::DONE);
        result.failed += life.state == to_string(JobState::FAILED);
        result.cancelled += life.state == to_string(JobState::CANCELLED);
    }
    std::sort(waits.begin(), waits.end());
    if (!waits.empty()) {
        int64_t sum = 0;
        for (int64_t wait : waits)
            sum += wait;
        result.mean_wait_ms = sum / static_cast<int64_t>(waits.size());
        /* The smallest value that 95 % of the waits do not exceed. */
        result.p95_wait_ms = waits[(waits.size() * 95 + 99) / 100 - 1];
    }
    if (ended > 0) {
        result.mean_turnaround_ms = turnarounds / ended;
        result.makespan_ms = last_end_ms_ - first_ms_;
        result.utilisation = up_at_end_ > 0 ? busy_at_end_ / up_at_end_ : 0;
    }
    return result;
}

}  // namespace elastic::rm
