/* See prometheus_metrics.h. */

#include "monitor/prometheus_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/mpi_share.h"
#include "core/record.h"
#include "step/step_link.h"

namespace elastic::rm {

namespace {

void head(std::ostringstream &out, const MetricInfo &info)
{
    out << "# HELP " << info.name << " " << info.help << "\n# TYPE " << info.name << " "
        << info.type << "\n";
}

template <class Value> void single(std::ostringstream &out, const MetricInfo &info, Value value)
{
    head(out, info);
    out << info.name << " " << Json(value).dump() << "\n"; /* all digits */
}

template <class Counts>
void labelled(std::ostringstream &out, const MetricInfo &info, const Counts &counts)
{
    head(out, info);
    for (const auto &[value, count] : counts)
        out << info.name << "{" << info.label << "=\"" << value << "\"} " << count << "\n";
}

void jobs_and_nodes(std::ostringstream &out, const State &state)
{
    std::map<std::string, int64_t> jobs, nodes;
    const NodeCounts &counts = state.indices().nodes;
    for (size_t i = 0; i < std::size(NamesOf<JobState>::names); i++)
        jobs[NamesOf<JobState>::names[i]] = state.indices().jobs.states[i];
    for (size_t i = 0; i < std::size(NamesOf<NodeState>::names); i++)
        nodes[NamesOf<NodeState>::names[i]] = counts.states[i];
    labelled(out, metric::JOBS, jobs);
    labelled(out, metric::NODES, nodes);
    single(out, metric::CORES, counts.cores);
    single(out, metric::CORES_USED, counts.used_cores);
    single(out, metric::GPUS, counts.gpus);
    single(out, metric::GPUS_USED, counts.used_gpus);
    single(out, metric::UNEXPECTED, state.unexpected);
}

/* Data of the last samples, weighted by cores. */
void time_in_mpi(std::ostringstream &out, const State &state)
{
    int64_t cores = 0;
    double in_mpi = 0;
    for (JobId id : state.indices().allocated) {
        const Job &job = state.jobs.at(id);
        auto mtct = job.performance ? recent_mtct_ppm(*job.performance) : std::nullopt;
        if (!mtct)
            continue;
        int64_t own = int64_t{job.size()} * job.spec.cores_per_process;
        cores += own;
        in_mpi += static_cast<double>(own) * mpi_share_of_mtct(*mtct);
    }
    single(out, metric::CORES_MEASURED, cores);
    single(out, metric::MPI_RATIO, cores > 0 ? in_mpi / static_cast<double>(cores) : 0);
}

/* The names of Prometheus' client libraries. */
void this_process(std::ostringstream &out)
{
    labelled(out, metric::BUILD, std::map<std::string, int>{{ELASTIC_VERSION, 1}});
    int64_t total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    single(out, metric::MEMORY, resident * sysconf(_SC_PAGESIZE));
    rusage use = {};
    getrusage(RUSAGE_SELF, &use);
    auto seconds = [](const timeval &time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    single(out, metric::CPU, seconds(use.ru_utime) + seconds(use.ru_stime));
}

}  // namespace

void Metrics::Histogram::add(double seconds)
{
    size_t bucket = static_cast<size_t>(
        std::lower_bound(BOUNDS.begin(), BOUNDS.end(), seconds) - BOUNDS.begin());
    counts[bucket]++;
    sum += seconds;
}

std::string Metrics::Histogram::text(const MetricInfo &info) const
{
    std::ostringstream out;
    head(out, info);
    uint64_t total = 0;
    for (size_t i = 0; i < counts.size(); i++) {
        total += counts[i];
        out << info.name << "_bucket{le=\"";
        if (i < BOUNDS.size())
            out << BOUNDS[i];
        else
            out << "+Inf";
        out << "\"} " << total << "\n";
    }
    out << info.name << "_sum " << Json(sum).dump() << "\n"
        << info.name << "_count " << total << "\n";
    return out.str();
}

void Metrics::count_record(const Record &record)
{
    records_[record.event]++;
    if (record.event == record::COMMITTED)
        standstill_ms_ += record.data.value("standstill_ms", int64_t{0});
}

std::string Metrics::text(const State &state, const Now &now) const
{
    std::ostringstream out;
    jobs_and_nodes(out, state);
    labelled(out, metric::EVENTS, events_);
    labelled(out, metric::RECORDS, records_);
    labelled(out, metric::RESPONSES, responses_);
    single(out, metric::STANDSTILL, static_cast<double>(standstill_ms_) / 1000);
    single(out, metric::STORAGE_ERRORS, storage_errors_);
    single(out, metric::REDUNDANT, redundant_);
    single(out, metric::STEPS_BROKEN, StepLink::counts().broken);
    single(out, metric::EVENTS_DROPPED, StepLink::counts().dropped);
    labelled(out, metric::SAMPLES,
             std::map<std::string, uint64_t>{
                 {"taken", now.samples.taken}, {"unavailable", now.samples.unavailable}});
    time_in_mpi(out, state);
    single(out, metric::STORAGE_WORKS, now.storage_works ? 1 : 0);
    single(out, metric::CONNECTIONS, now.connections);
    single(out, metric::START_TIME, now.started_ms / 1000);
    single(out, metric::TURN_LONGEST, turn_longest_s_);
    this_process(out);
    out << commit_.text(metric::COMMIT) << submit_.text(metric::SUBMIT) << turn_.text(metric::TURN);
    return out.str();
}

}  // namespace elastic::rm
