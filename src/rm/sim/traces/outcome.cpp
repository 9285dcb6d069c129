/* See outcome.h. */

#include "sim/traces/outcome.h"

#include <algorithm>
#include <functional>

namespace elastic::rm {

namespace {

constexpr double SHORT_MS = 10000;
constexpr double HOUR_MS = 3600000;

double percentile(std::vector<double> &values, double share)
{
    if (values.empty())
        return 0;
    auto at = values.begin() + static_cast<int64_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

/* Sums over some of the jobs. */
class Summation {
  public:
    void add(const WorkloadJob &job, const JobOutcome &outcome)
    {
        sums_.jobs++;
        sums_.adaptations += outcome.adaptations;
        sums_.standstill_ms += outcome.standstill_ms;
        sums_.core_hours += outcome.core_ms / HOUR_MS;
        if (outcome.start_ms != NEVER)
            waits_.push_back(static_cast<double>(outcome.start_ms - job.submit_ms));
        if (outcome.end_ms == NEVER) {
            sums_.unfinished++;
            return;
        }
        if (!outcome.done)
            sums_.killed++;
        else
            sums_.done++;
        double turnaround = static_cast<double>(outcome.end_ms - job.submit_ms);
        turnaround_ += turnaround;
        slowdown_ +=
            std::max(1.0, turnaround / std::max(static_cast<double>(job.run_ms), SHORT_MS));
        if (outcome.done)
            sums_.wasted_core_hours +=
                std::max(outcome.core_ms - job.work * job.spec.cores_per_process, 0.0) / HOUR_MS;
    }

    OutcomeSums result()
    {
        auto ended = static_cast<double>(std::max<int64_t>(sums_.jobs - sums_.unfinished, 1));
        double waited = 0;
        for (double wait : waits_)
            waited += wait;
        sums_.mean_wait_ms = waits_.empty() ? 0 : waited / static_cast<double>(waits_.size());
        sums_.p95_wait_ms = percentile(waits_, 0.95);
        sums_.p99_wait_ms = percentile(waits_, 0.99);
        sums_.mean_turnaround_ms = turnaround_ / ended;
        sums_.mean_bounded_slowdown = slowdown_ / ended;
        return sums_;
    }

  private:
    OutcomeSums sums_;
    std::vector<double> waits_;
    double turnaround_ = 0, slowdown_ = 0;
};

template <class Key>
std::map<Key, OutcomeSums> grouped(const Workload &workload, const Outcome &outcome,
                                   const std::function<Key(const WorkloadJob &)> &key)
{
    std::map<Key, Summation> groups;
    for (size_t i = 0; i < workload.jobs.size(); i++)
        groups[key(workload.jobs[i])].add(workload.jobs[i], outcome.jobs[i]);
    std::map<Key, OutcomeSums> results;
    for (auto &[name, group] : groups)
        results.emplace(name, group.result());
    return results;
}

}  // namespace

OutcomeSums sums_of(const Workload &workload, const Outcome &outcome)
{
    auto all = grouped<int>(workload, outcome, [](const WorkloadJob &) { return 0; });
    return all.empty() ? OutcomeSums{} : all.at(0);
}

std::map<Elasticity, OutcomeSums> sums_by_class(const Workload &workload, const Outcome &outcome)
{
    return grouped<Elasticity>(workload, outcome,
                               [](const WorkloadJob &job) { return job.spec.elasticity; });
}

std::map<std::string, OutcomeSums> sums_by_user(const Workload &workload, const Outcome &outcome)
{
    return grouped<std::string>(workload, outcome,
                                [](const WorkloadJob &job) { return job.spec.user; });
}

int64_t makespan_ms(const Workload &workload, const Outcome &outcome)
{
    if (workload.jobs.empty())
        return 0;
    int64_t last = workload.jobs.front().submit_ms;
    for (const JobOutcome &job : outcome.jobs)
        last = std::max(last, job.end_ms);
    return last - workload.jobs.front().submit_ms;
}

double utilisation(const Workload &workload, const Outcome &outcome, int64_t cores)
{
    double booked = 0;
    for (const JobOutcome &job : outcome.jobs)
        booked += job.core_ms;
    auto available =
        static_cast<double>(makespan_ms(workload, outcome)) * static_cast<double>(cores);
    return available > 0 ? booked / available : 0;
}

}  // namespace elastic::rm
