/* See report.h. */

#include "api/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace elastic::rm {

namespace {

/* The nearest-rank percentile. */
Json distribution(std::vector<int64_t> values)
{
    if (values.empty())
        return {{"mean", nullptr}, {"p95", nullptr}, {"max", nullptr}};
    std::sort(values.begin(), values.end());
    double sum = std::accumulate(values.begin(), values.end(), 0.0);
    auto rank = static_cast<size_t>(std::ceil(0.95 * static_cast<double>(values.size())));
    return {{"mean", sum / static_cast<double>(values.size())}, {"p95", values[rank - 1]}, {"max", values.back()}};
}

}  // namespace

Json make_report(const std::vector<Job> &jobs, const std::vector<Segment> &segments, int64_t cores, int64_t now_ms)
{
    std::vector<int64_t> waits, turnarounds;
    std::set<JobId> ids;
    int64_t first_ms = INT64_MAX, last_ms = 0, standstill_ms = 0, core_ms = 0;
    uint64_t committed = 0, withdrawn = 0, failed = 0;
    std::map<JobState, int> ended;
    for (const Job &job : jobs) {
        ids.insert(job.id);
        first_ms = std::min(first_ms, job.submitted_ms);
        last_ms = std::max(last_ms, job.ended_ms == NEVER ? now_ms : job.ended_ms);
        if (job.started_ms != NEVER)
            waits.push_back(job.started_ms - job.submitted_ms);
        if (job.ended_ms != NEVER && job.started_ms != NEVER)
            turnarounds.push_back(job.ended_ms - job.submitted_ms);
        ended[job.state]++;
        committed += job.committed;
        withdrawn += job.withdrawn;
        failed += job.failed;
        standstill_ms += job.standstill_ms;
    }
    for (const Segment &segment : segments)
        if (ids.contains(segment.job))
            core_ms += segment.cores * ((segment.to_ms == NEVER ? now_ms : segment.to_ms) - segment.from_ms);
    int64_t makespan_ms = jobs.empty() ? 0 : last_ms - first_ms;
    double capacity = static_cast<double>(makespan_ms) * static_cast<double>(cores);
    return {{"jobs", jobs.size()},
            {"done", ended[JobState::DONE]},
            {"failed", ended[JobState::FAILED]},
            {"cancelled", ended[JobState::CANCELLED]},
            {"makespan_ms", makespan_ms},
            {"wait_ms", distribution(waits)},
            {"turnaround_ms", distribution(turnarounds)},
            {"utilisation", capacity > 0 ? Json(static_cast<double>(core_ms) / capacity) : Json()},
            {"adaptations", {{"committed", committed}, {"withdrawn", withdrawn}, {"failed", failed}}},
            {"standstill_ms", standstill_ms},
            {"core_ms", core_ms}};
}

Json make_user_reports(const std::vector<Job> &jobs, const std::vector<Segment> &segments, int64_t cores,
                       int64_t now_ms)
{
    struct Part {
        std::vector<Job> jobs;
        std::vector<Segment> segments;
    };
    std::map<std::string, Part> parts;
    std::map<JobId, Part *> part_of;
    for (const Job &job : jobs) {
        Part &part = parts[job.spec.user];
        part.jobs.push_back(job);
        part_of[job.id] = &part;
    }
    for (const Segment &segment : segments)
        if (auto found = part_of.find(segment.job); found != part_of.end())
            found->second->segments.push_back(segment);
    std::vector<Json> reports;
    for (const auto &[user, part] : parts) {
        reports.push_back(make_report(part.jobs, part.segments, cores, now_ms));
        reports.back()["user"] = user;
    }
    std::stable_sort(reports.begin(), reports.end(),
                     [](const Json &a, const Json &b) { return a["core_ms"] > b["core_ms"]; });
    return reports;
}

}  // namespace elastic::rm
