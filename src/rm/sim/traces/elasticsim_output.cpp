/* See elasticsim_output.h. */

#include "sim/traces/elasticsim_output.h"

#include <cstdio>

#include "sim/traces/plots.h"

namespace elastic::rm {

namespace {

std::string duration(double ms)
{
    char text[64];
    if (ms >= 36e5)
        snprintf(text, sizeof(text), "%.2f h", ms / 36e5);
    else
        snprintf(text, sizeof(text), "%.1f s", ms / 1e3);
    return text;
}

void print_row(const std::string &name, const OutcomeSums &sums)
{
    printf("%-10s %8lld %8lld %6lld %10s %10s %10s %9.2f %12.0f %12.0f %8lld\n", name.c_str(),
           static_cast<long long>(sums.jobs), static_cast<long long>(sums.done),
           static_cast<long long>(sums.killed), duration(sums.mean_wait_ms).c_str(),
           duration(sums.p95_wait_ms).c_str(), duration(sums.mean_turnaround_ms).c_str(),
           sums.mean_bounded_slowdown, sums.core_hours, sums.wasted_core_hours,
           static_cast<long long>(sums.adaptations));
}

void print_mean(const char *name, const std::vector<Draw> &draws, double (*value)(const Draw &))
{
    std::vector<double> values;
    for (const Draw &each : draws)
        values.push_back(value(each));
    auto [mean, half] = mean_of(values);
    printf("%-22s %14.4g +- %.2g\n", name, mean, half);
}

}  // namespace

void write_csv_header(std::ostream &csv)
{
    csv << "policy,seed,job,user,class,submit_ms,start_ms,end_ms,done,trace_size,first_size,"
           "last_size,adaptations,standstill_ms\n";
}

Json to_json(const ElasticsimOptions &options, const Draw &draw)
{
    Json json = write(draw.all);
    json["policy"] = options.policy;
    json["seed"] = draw.seed;
    json["makespan_ms"] = draw.makespan_ms;
    json["utilisation"] = draw.utilisation;
    json["too_large"] = draw.too_large;
    json["events"] = draw.events;
    json["processor_seconds"] = draw.processor_seconds;
    json["whole"] = draw.whole;
    for (const auto &[kind, sums] : draw.classes)
        json["classes"][to_string(kind)] = write(sums);
    for (const auto &[user, sums] : draw.users)
        json["users"][user] = write(sums);
    return json;
}

void print(const ElasticsimOptions &options, const Draw &draw)
{
    printf("%s, seed %llu: makespan %s, utilisation %.3f; %lld events, %.1f s of processor time\n",
           options.policy.c_str(), static_cast<unsigned long long>(draw.seed),
           duration(static_cast<double>(draw.makespan_ms)).c_str(), draw.utilisation,
           static_cast<long long>(draw.events), draw.processor_seconds);
    printf("%-10s %8s %8s %6s %10s %10s %10s %9s %12s %12s %8s\n", "", "jobs", "done", "killed",
           "wait", "p95 wait", "turnaround", "slowdown", "core hours", "wasted", "adapted");
    print_row("all", draw.all);
    if (draw.classes.size() > 1) {
        for (const auto &[kind, sums] : draw.classes)
            print_row(to_string(kind), sums);
    }
    for (const auto &[user, sums] : draw.users)
        print_row(user, sums);
}

void print_means(const std::vector<Draw> &draws)
{
    printf("means of %zu draws, with 95 %% intervals\n", draws.size());
    print_mean("mean wait, s", draws, [](const Draw &d) { return d.all.mean_wait_ms / 1e3; });
    print_mean("mean turnaround, s", draws,
               [](const Draw &d) { return d.all.mean_turnaround_ms / 1e3; });
    print_mean("bounded slowdown", draws,
               [](const Draw &d) { return d.all.mean_bounded_slowdown; });
    print_mean("makespan, s", draws,
               [](const Draw &d) { return static_cast<double>(d.makespan_ms) / 1e3; });
    print_mean("utilisation", draws, [](const Draw &d) { return d.utilisation; });
}

void write_csv(std::ostream &csv, const ElasticsimOptions &options, uint64_t seed,
               const Workload &workload, const Outcome &outcome)
{
    for (size_t i = 0; i < workload.jobs.size(); i++) {
        const WorkloadJob &job = workload.jobs[i];
        const JobOutcome &of = outcome.jobs[i];
        csv << options.policy << ',' << seed << ',' << job.spec.name << ',' << job.spec.user
             << ',' << to_string(job.spec.elasticity) << ',' << job.submit_ms << ','
             << of.start_ms << ',' << of.end_ms << ',' << (of.done ? 1 : 0) << ',' << job.size
             << ',' << of.first_size << ',' << of.last_size << ',' << of.adaptations << ','
             << of.standstill_ms << '\n';
    }
}

std::string page_of_plots(const std::vector<ElasticsimOptions> &runs,
                          const std::vector<std::vector<Draw>> &draws)
{
    const ElasticsimOptions &options = runs.front();
    std::vector<PolicyPlot> policies;
    for (size_t i = 0; i < draws.size(); i++) {
        if (draws[i].empty())
            continue;
        PolicyPlot &plot = policies.emplace_back();
        plot.policy = runs[i].policy;
        plot.series = draws[i].front().series;
        for (const Draw &each : draws[i])
            plot.draws.push_back(each.all);
    }
    const std::string &from = options.store.empty() ? options.trace : options.store;
    size_t slash = from.rfind('/');
    std::string title = from.substr(slash == from.npos ? 0 : slash + 1) + ": " +
        options.workload.machine.words();
    return plots(title, policies);
}

}  // namespace elastic::rm
