/* See report.h. */

#include "api/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

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

struct ReportMetric {
    const char *title;
    std::vector<const char *> path;
    const char *unit;           /* count, ms, part (of 1), core_ms */
};

const std::vector<ReportMetric> METRICS = {
    {"Jobs", {"jobs"}, "count"},
    {"Done", {"done"}, "count"},
    {"Failed", {"failed"}, "count"},
    {"Cancelled", {"cancelled"}, "count"},
    {"Makespan", {"makespan_ms"}, "ms"},
    {"Wait, mean", {"wait_ms", "mean"}, "ms"},
    {"Wait, p95", {"wait_ms", "p95"}, "ms"},
    {"Wait, longest", {"wait_ms", "max"}, "ms"},
    {"Turnaround, mean", {"turnaround_ms", "mean"}, "ms"},
    {"Turnaround, p95", {"turnaround_ms", "p95"}, "ms"},
    {"Utilisation", {"utilisation"}, "part"},
    {"Core hours", {"core_ms"}, "core_ms"},
    {"Adaptations", {"adaptations", "committed"}, "count"},
    {"Withdrawn", {"adaptations", "withdrawn"}, "count"},
    {"Failed adaptations", {"adaptations", "failed"}, "count"},
    {"Stood still", {"standstill_ms"}, "ms"},
};

}  // namespace

Json report_metrics()
{
    Json metrics = Json::array();
    for (const ReportMetric &metric : METRICS)
        metrics.push_back({{"title", metric.title}, {"path", metric.path}, {"unit", metric.unit}});
    return metrics;
}

JobFacts facts_of(const Job &job, int64_t core_ms)
{
    return {job.id,         job.spec.uid,      job.state, job.spec.user, job.submitted_ms, job.started_ms,
            job.ended_ms,   job.standstill_ms, core_ms,   job.committed, job.withdrawn,    job.failed};
}

/* ---- the past ---------------------------------------------------------------------------------------------- */

void EndedJobs::load(const std::vector<Job> &jobs, const std::function<int64_t(JobId)> &core_ms)
{
    for (const Job &job : jobs)
        if (!new_.contains(job.id))
            facts_.push_back(facts_of(job, core_ms(job.id)));
}

void EndedJobs::loaded()
{
    is_complete_ = true;
    new_.clear();
}

void EndedJobs::add(JobFacts facts)
{
    if (!is_complete_)
        new_.insert(facts.id);
    facts_.push_back(std::move(facts));
}

void EndedJobs::forget_before(int64_t time_ms)
{
    std::erase_if(facts_, [time_ms](const JobFacts &facts) { return facts.ended_ms < time_ms; });
}

/* ---- reports ----------------------------------------------------------------------------------------------- */

Json make_report(const ChosenJobs &jobs, int64_t cores, int64_t now_ms)
{
    std::vector<int64_t> waits, turnarounds;
    int64_t first_ms = INT64_MAX, last_ms = 0, standstill_ms = 0, core_ms = 0;
    uint64_t committed = 0, withdrawn = 0, failed = 0;
    std::map<JobState, int> ended;
    for (const JobFacts *job : jobs) {
        first_ms = std::min(first_ms, job->submitted_ms);
        last_ms = std::max(last_ms, job->ended_ms == NEVER ? now_ms : job->ended_ms);
        if (job->started_ms != NEVER)
            waits.push_back(job->started_ms - job->submitted_ms);
        if (job->ended_ms != NEVER && job->started_ms != NEVER)
            turnarounds.push_back(job->ended_ms - job->submitted_ms);
        ended[job->state]++;
        committed += job->committed;
        withdrawn += job->withdrawn;
        failed += job->failed;
        standstill_ms += job->standstill_ms;
        core_ms += job->core_ms;
    }
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

Json make_user_reports(const ChosenJobs &jobs, int64_t cores, int64_t now_ms)
{
    std::map<std::string, ChosenJobs> of_users;
    for (const JobFacts *job : jobs)
        of_users[job->user].push_back(job);
    std::vector<Json> reports;
    for (const auto &[user, theirs] : of_users) {
        reports.push_back(make_report(theirs, cores, now_ms));
        reports.back()["user"] = user;
    }
    std::stable_sort(reports.begin(), reports.end(),
                     [](const Json &a, const Json &b) { return a["core_ms"] > b["core_ms"]; });
    return reports;
}

}  // namespace elastic::rm
