/* See metrics.h. */

#include "api/metrics.h"

#include <algorithm>
#include <sstream>

#include "core/record.h"
#include "step/step_link.h"

namespace elastic::rm {

namespace {

void head(std::ostringstream &out, const char *name, const char *type, const char *help)
{
    out << "# HELP " << name << " " << help << "\n# TYPE " << name << " " << type << "\n";
}

template <class Value>
void single(std::ostringstream &out, const char *name, const char *type, const char *help, Value value)
{
    head(out, name, type, help);
    out << name << " " << value << "\n";
}

template <class Counts>
void labelled(std::ostringstream &out, const char *name, const char *type, const char *help,
              const char *label, const Counts &counts)
{
    head(out, name, type, help);
    for (const auto &[value, count] : counts)
        out << name << "{" << label << "=\"" << value << "\"} " << count << "\n";
}

void jobs_and_nodes(std::ostringstream &out, const State &state)
{
    std::map<std::string, uint64_t> jobs, nodes;
    int64_t cores = 0, used = 0;
    for (const char *name : NamesOf<JobState>::names)
        jobs[name] = 0;
    for (const auto &[id, job] : state.jobs)
        jobs[to_string(job.state)]++;
    for (const char *name : NamesOf<NodeState>::names)
        nodes[name] = 0;
    for (const auto &[name, node] : state.nodes) {
        nodes[to_string(node.state())]++;
        cores += node.cores;
        used += node.used;
    }
    labelled(out, "elasticd_jobs", "gauge", "Jobs in memory, by state.", "state", jobs);
    labelled(out, "elasticd_nodes", "gauge", "Nodes, by state.", "state", nodes);
    single(out, "elasticd_cores", "gauge", "Cores of all nodes.", cores);
    single(out, "elasticd_cores_used", "gauge", "Cores that jobs occupy.", used);
    single(out, "elasticd_unexpected_events_total", "counter", "Events that did not fit.", state.unexpected);
}

}  // namespace

void Metrics::Histogram::add(double seconds)
{
    size_t bucket = static_cast<size_t>(std::lower_bound(BOUNDS.begin(), BOUNDS.end(), seconds) - BOUNDS.begin());
    counts[bucket]++;
    sum += seconds;
}

std::string Metrics::Histogram::text(const char *name, const char *help) const
{
    std::ostringstream out;
    head(out, name, "histogram", help);
    uint64_t total = 0;
    for (size_t i = 0; i < counts.size(); i++) {
        total += counts[i];
        out << name << "_bucket{le=\"";
        if (i < BOUNDS.size())
            out << BOUNDS[i];
        else
            out << "+Inf";
        out << "\"} " << total << "\n";
    }
    out << name << "_sum " << sum << "\n" << name << "_count " << total << "\n";
    return out.str();
}

void Metrics::count_record(const Record &record)
{
    records_[record.event]++;
    if (record.event == record::COMMITTED)
        standstill_ms_ += record.data.value("standstill_ms", int64_t{0});
}

std::string Metrics::text(const State &state, int64_t started_ms, size_t connections, bool storage_works) const
{
    std::ostringstream out;
    jobs_and_nodes(out, state);
    labelled(out, "elasticd_events_total", "counter", "Events that the core has handled since the start.",
             "event", events_);
    labelled(out, "elasticd_records_total", "counter", "Records of the history since the start.", "event", records_);
    labelled(out, "elasticd_http_responses_total", "counter", "Answers, by status.", "status", responses_);
    single(out, "elasticd_standstill_seconds_total", "counter", "Time that programs stood still for adaptations.",
           static_cast<double>(standstill_ms_) / 1000);
    single(out, "elasticd_storage_errors_total", "counter", "Commits that failed.", storage_errors_);
    single(out, "elasticd_step_reports_redundant_total", "counter", "Reports of steps that said nothing new.",
           redundant_);
    single(out, "elasticd_steps_broken_total", "counter", "Steps that have broken the step protocol.",
           StepLink::counts().broken);
    single(out, "elasticd_step_events_dropped_total", "counter", "Events of steps that cannot be.",
           StepLink::counts().dropped);
    single(out, "elasticd_storage_works", "gauge", "1: the last commit was written.", storage_works ? 1 : 0);
    single(out, "elasticd_connections", "gauge", "Open connections.", connections);
    single(out, "elasticd_start_time_seconds", "gauge", "When this process started.", started_ms / 1000);
    out << commit_.text("elasticd_commit_seconds", "Time of one commit of the store.")
        << submit_.text("elasticd_submit_seconds", "From a submission's arrival to its answer.");
    return out.str();
}

}  // namespace elastic::rm
