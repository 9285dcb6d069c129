/* See report.h. */

#include "monitor/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace elastic::rm {

namespace {

/* Percentiles by nearest rank. */
Json distribution(std::vector<int64_t> values)
{
    if (values.empty())
        return {{"mean", nullptr}, {"p95", nullptr}, {"max", nullptr}};
    double sum = std::accumulate(values.begin(), values.end(), 0.0);
    auto rank = static_cast<std::ptrdiff_t>(std::ceil(0.95 * static_cast<double>(values.size())));
    auto p95 = values.begin() + (rank - 1);
    std::nth_element(values.begin(), p95, values.end());
    return {{"mean", sum / static_cast<double>(values.size())},
            {"p95", *p95},
            {"max", *std::max_element(p95, values.end())}};
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
    {"Standstill", {"standstill_ms"}, "ms"},
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
    return {job.id,           job.spec.uid,   job.state,     job.spec.user,
            job.submitted_ms, job.started_ms, job.ended_ms,  job.standstill_ms,
            core_ms,          job.committed,  job.withdrawn, job.failed};
}

/* ---- ended jobs ------------------------------------------------------------------------------ */

void EndedJobs::Facts::each(const std::function<void(const JobFacts &)> &visit) const
{
    for (const auto &chunk : chunks_)
        for (const JobFacts &facts : *chunk)
            if (facts.ended_ms >= from_ms_)
                visit(facts);
}

void EndedJobs::keep(JobFacts facts)
{
    newest_.push_back(std::move(facts));
    if (newest_.size() < CHUNK)
        return;
    int64_t last_end_ms = std::ranges::max_element(newest_, {}, &JobFacts::ended_ms)->ended_ms;
    chunks_.push_back({std::make_shared<std::vector<JobFacts>>(std::move(newest_)), last_end_ms});
    newest_ = {};
    if (chunks_.size() > CHUNKS_MAX)
        chunks_.pop_front();
}

void EndedJobs::load(std::vector<JobFacts> jobs)
{
    for (JobFacts &facts : jobs)
        if (!new_.contains(facts.id))
            keep(std::move(facts));
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
    keep(std::move(facts));
}

/* A chunk is removed as a whole; jobs in it that ended before the time are no longer shown. */
void EndedJobs::remove_before(int64_t time_ms)
{
    from_ms_ = std::max(from_ms_, time_ms);
    std::erase_if(chunks_, [this](const Chunk &chunk) { return chunk.last_end_ms < from_ms_; });
}

EndedJobs::Facts EndedJobs::facts() const
{
    Facts facts;
    facts.from_ms_ = from_ms_;
    for (const Chunk &chunk : chunks_)
        facts.chunks_.push_back(chunk.facts);
    facts.chunks_.push_back(std::make_shared<std::vector<JobFacts>>(newest_));
    return facts;
}

/* ---- reports --------------------------------------------------------------------------------- */

void Report::add(const JobFacts &job)
{
    jobs_++;
    first_ms_ = std::min(first_ms_, job.submitted_ms);
    last_ms_ = std::max(last_ms_, job.ended_ms == NEVER ? now_ms_ : job.ended_ms);
    if (job.started_ms != NEVER)
        waits_ms_.push_back(job.started_ms - job.submitted_ms);
    if (job.ended_ms != NEVER && job.started_ms != NEVER)
        turnarounds_ms_.push_back(job.ended_ms - job.submitted_ms);
    states_[static_cast<size_t>(job.state)]++;
    committed_ += job.committed;
    withdrawn_ += job.withdrawn;
    failed_ += job.failed;
    standstill_ms_ += job.standstill_ms;
    core_ms_ += job.core_ms;
}

Json Report::json(int64_t cores) const
{
    int64_t makespan_ms = jobs_ == 0 ? 0 : last_ms_ - first_ms_;
    double capacity = static_cast<double>(makespan_ms) * static_cast<double>(cores);
    auto ended = [this](JobState state) { return states_[static_cast<size_t>(state)]; };
    return {{"jobs", jobs_},
            {"done", ended(JobState::DONE)},
            {"failed", ended(JobState::FAILED)},
            {"cancelled", ended(JobState::CANCELLED)},
            {"makespan_ms", makespan_ms},
            {"wait_ms", distribution(waits_ms_)},
            {"turnaround_ms", distribution(turnarounds_ms_)},
            {"utilisation", capacity > 0 ? Json(static_cast<double>(core_ms_) / capacity) : Json()},
            {"adaptations",
             {{"committed", committed_}, {"withdrawn", withdrawn_}, {"failed", failed_}}},
            {"standstill_ms", standstill_ms_},
            {"core_ms", core_ms_}};
}

void UserReports::add(const JobFacts &job)
{
    /* Jobs of one user are often adjacent. */
    if (last_ == users_.end() || last_->first != job.user)
        last_ = users_.try_emplace(job.user, now_ms_).first;
    last_->second.add(job);
}

Json UserReports::json(int64_t cores) const
{
    std::vector<Json> reports;
    for (const auto &[user, theirs] : users_) {
        reports.push_back(theirs.json(cores));
        reports.back()["user"] = user;
    }
    std::stable_sort(reports.begin(), reports.end(),
                     [](const Json &a, const Json &b) { return a["core_ms"] > b["core_ms"]; });
    return reports;
}

}  // namespace elastic::rm
