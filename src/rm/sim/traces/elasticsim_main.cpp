/*
 * elasticsim: replays a job trace (SWF), or the jobs of an elasticd, with elasticd's own core, on a
 * simulated machine, and says how it went.  `elasticsim --help` lists the options,
 * doc/admin/simulation.md explains them.
 *
 * Exit codes: 0 done; 1 the trace cannot be read, a file cannot be written, or it was interrupted;
 * 2 wrong usage.
 */

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <unistd.h>

#include "sim/traces/plots.h"
#include "sim/traces/study_policies.h"
#include "sim/traces/trace_replay.h"
#include "store/ended_jobs.h"

namespace elastic::rm {
namespace {

volatile std::sig_atomic_t interrupted;

constexpr const char *ORACLE = "oracle";
constexpr size_t PLOT_INTERVALS = 300;

void interrupt(int) { interrupted = 1; }

struct Options {
    std::string trace, store; /* one of these */
    std::string nodes;
    int cores = 0; /* of each node; 0: as in `nodes` */
    std::string policy, over_limit = "kill", range = "0.25:4", csv, svg;
    std::vector<std::string> policies = {"fill"}; /* one after the other */
    std::vector<std::string> speedups = {"linear"};
    WorkloadOptions workload;
    ReplayOptions replay;
    double adapt_cost_s = -1; /* <0: measured */
    double sample_s = 60, efficiency = 0.5, efficiency_idle = 0;
    double gigabytes_per_core = 0;
    int draws = 1;
    int64_t jobs = 0; /* the first so many; 0: all */
    bool json = false, strict = false, quiet = false, users = false;
};

/* The jobs that are replayed: of a trace or of an elasticd. */
struct Source {
    Trace trace;
    std::vector<Job> ended;
};

struct Draw {
    uint64_t seed;
    OutcomeSums all;
    std::map<Elasticity, OutcomeSums> classes;
    std::map<std::string, OutcomeSums> users;
    int64_t makespan_ms;
    double utilisation;
    int64_t events, too_large, never_ran;
    double processor_seconds;
    bool whole; /* not interrupted */
    Series series; /* of the first draw, for plots */
};

/* The whole text. */
bool read_number(std::string_view text, double &value)
{
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

bool read_range(std::string_view text, double &low, double &high)
{
    size_t colon = text.find(':');
    if (colon == text.npos || !read_number(text.substr(0, colon), low) ||
        !read_number(text.substr(colon + 1), high))
        return false;
    return low > 0 && low <= 1 && high >= 1 && high <= 1e6;
}

/* The policies of elasticd, the oracle, and the strategies of another study. */
std::vector<std::string> policy_names()
{
    std::vector<std::string> names(std::begin(NamesOf<PolicyKind>::names),
                                   std::end(NamesOf<PolicyKind>::names));
    names.emplace_back(ORACLE);
    for (std::string &name : study_policy_names())
        names.push_back(std::move(name));
    return names;
}

/* The oracle is `measured` with the true models from the beginning, without measurements. */
std::string choose_policy(Options &options)
{
    Config &config = options.replay.config;
    options.replay.sample_ms = std::llround(options.sample_s * 1000);
    if (const Policy *policy = study_policy(options.policy)) {
        options.replay.policy = policy;
        options.replay.sample_ms = 0;
        options.workload.prefer_trace_size = has_preferred_sizes(options.policy);
        return "";
    }
    if (options.policy != ORACLE) {
        read(Json(options.policy), config.policy, "policy");
        if (config.policy != PolicyKind::MEASURED && config.policy != PolicyKind::EFFICIENT)
            options.replay.sample_ms = 0; /* they are not used */
        options.workload.prefer_trace_size =
            config.policy == PolicyKind::FCFS || config.policy == PolicyKind::EASY;
        return "";
    }
    for (const Speedup &law : options.workload.speedups) {
        if (!std::holds_alternative<LinearSpeedup>(law) &&
            !std::holds_alternative<AmdahlSpeedup>(law))
            return "--policy oracle knows linear and amdahl speed-ups alone";
    }
    config.policy = PolicyKind::MEASURED;
    options.workload.hints = true;
    options.replay.sample_ms = 0;
    return "";
}

/* The error in the options; empty: none. */
std::string complete(Options &options)
{
    options.workload.speedups.clear();
    for (const std::string &text : options.speedups) {
        auto law = read_speedup(text);
        if (!law)
            return "--speedup: " + law.error();
        options.workload.speedups.push_back(law.value());
    }
    if (std::string wrong = choose_policy(options); !wrong.empty())
        return wrong;
    if (!read_range(options.range, options.workload.range_low, options.workload.range_high))
        return "--range: '" + options.range +
            "' is no LOW:HIGH with 0 < LOW <= 1 <= HIGH, such as 0.25:4";
    if (options.workload.malleable + options.workload.moldable > 1)
        return "--malleable and --moldable are more than 1 together";
    options.workload.kill_over_limit = options.over_limit == "kill";
    Config &config = options.replay.config;
    config.efficiency_ppm = std::llround(options.efficiency * 1e6);
    config.efficiency_idle_ppm = std::llround(options.efficiency_idle * 1e6);
    config.jobs_max = std::numeric_limits<int>::max();
    config.finished_max = 0;
    config.check_capacity = false;
    config.poll_interval_ms = int64_t{1} << 40; /* nothing is missed here */
    AdaptationCost &cost = options.replay.cost;
    if (options.adapt_cost_s >= 0)
        cost.standstill_ms = std::llround(options.adapt_cost_s * 1000);
    cost.bytes_per_core = options.gigabytes_per_core * 1e9;
    auto machine = read_machine(options.nodes, options.cores);
    if (!machine)
        return machine.error();
    options.workload.machine = options.replay.machine = machine.value();
    cost.cores_per_node = static_cast<int>(
        std::max<int64_t>(machine.value().cores() / machine.value().nodes(), 1));
    return check(config);
}

/* A bar on a terminal, for long runs. */
bool show_progress(int64_t ended, size_t jobs, bool quiet)
{
    if (!quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%lld of %zu jobs", static_cast<long long>(ended), jobs);
    return !interrupted;
}

Draw draw(const Options &options, const Source &source, uint64_t seed, std::ostream *csv)
{
    WorkloadOptions slot_requests = options.workload;
    slot_requests.seed = seed;
    Workload workload = options.store.empty() ? make_workload(source.trace, slot_requests)
                                              : make_workload(source.ended, slot_requests);
    ReplayOptions how = options.replay;
    how.seed = seed;
    how.keep_sizes = !options.svg.empty() && seed == options.workload.seed;
    Outcome outcome = replay(workload, how, [&](int64_t ended) {
        return show_progress(ended, workload.jobs.size(), options.quiet);
    });
    if (csv) {
        for (size_t i = 0; i < workload.jobs.size(); i++) {
            const WorkloadJob &job = workload.jobs[i];
            const JobOutcome &of = outcome.jobs[i];
            *csv << options.policy << ',' << seed << ',' << job.spec.name << ',' << job.spec.user
                 << ',' << to_string(job.spec.elasticity) << ',' << job.submit_ms << ','
                 << of.start_ms << ',' << of.end_ms << ',' << (of.done ? 1 : 0) << ',' << job.size
                 << ',' << of.first_size << ',' << of.last_size << ',' << of.adaptations << ','
                 << of.standstill_ms << '\n';
        }
    }
    Draw result{seed,
                sums_of(workload, outcome),
                sums_by_class(workload, outcome),
                {},
                makespan_ms(workload, outcome),
                utilisation(workload, outcome, options.replay.machine.cores()),
                outcome.events,
                workload.too_large,
                workload.never_ran,
                outcome.processor_seconds,
                !interrupted,
                {}};
    if (how.keep_sizes)
        result.series =
            series_of(workload, outcome, options.replay.machine.cores(), PLOT_INTERVALS);
    if (options.users)
        result.users = sums_by_user(workload, outcome);
    return result;
}

Json to_json(const Options &options, const Draw &draw)
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

void print(const Options &options, const Draw &draw)
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

void print_mean(const char *name, const std::vector<Draw> &draws, double (*value)(const Draw &))
{
    std::vector<double> values;
    for (const Draw &each : draws)
        values.push_back(value(each));
    auto [mean, half] = mean_of(values);
    printf("%-22s %14.4g +- %.2g\n", name, mean, half);
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

void report_problems(const std::string &path, const Trace &trace)
{
    for (const TraceProblem &problem : trace.problems)
        std::cerr << path << ", line " << problem.line << ": " << problem.what << "\n";
    if (trace.skipped > 0)
        std::cerr << path << ": " << trace.skipped
                  << " line(s) left out (--strict refuses such a trace)\n";
}

/* Each draw of one policy, reported as it ends. */
std::vector<Draw> draw_all(const Options &options, const Source &source, std::ostream *csv)
{
    std::vector<Draw> draws;
    for (int i = 0; i < options.draws && !interrupted; i++) {
        draws.push_back(
            draw(options, source, options.workload.seed + static_cast<uint64_t>(i), csv));
        if (!options.quiet && isatty(STDERR_FILENO))
            fprintf(stderr, "\r\033[K");
        if (options.json)
            std::cout << to_json(options, draws.back()).dump() << std::endl;
        else
            print(options, draws.back());
    }
    if (draws.size() > 1 && !options.json)
        print_means(draws);
    return draws;
}

std::string page(const Options &options, const std::vector<std::vector<Draw>> &draws)
{
    std::vector<PolicyPlot> policies;
    for (size_t i = 0; i < draws.size(); i++) {
        if (draws[i].empty())
            continue;
        PolicyPlot &plot = policies.emplace_back();
        plot.policy = options.policies[i];
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

/* False, with a message, if it cannot be written. */
bool written(const std::string &name, std::ofstream &file)
{
    if (!file.is_open() || !file.flush()) {
        std::cerr << "elasticsim: " << name << " cannot be written\n";
        return false;
    }
    return true;
}

template <class Jobs> void keep_first(Jobs &jobs, int64_t count)
{
    if (count > 0 && jobs.size() > static_cast<size_t>(count))
        jobs.resize(static_cast<size_t>(count));
}

Result<Source> read_source(const Options &options)
{
    Source source;
    if (!options.store.empty()) {
        auto ended = read_ended_jobs(options.store);
        if (!ended)
            return Error{ended.error()};
        source.ended = std::move(ended.value().jobs);
        if (ended.value().unreadable > 0)
            std::cerr << options.store << ": " << ended.value().unreadable
                      << " job(s) left out: not understood\n";
        if (source.ended.empty())
            return Error{options.store + " has no job that has ended"};
        keep_first(source.ended, options.jobs);
        return source;
    }
    auto trace = read_trace(options.trace, options.strict);
    if (!trace)
        return Error{trace.error()};
    source.trace = std::move(trace.value());
    report_problems(options.trace, source.trace);
    if (source.trace.jobs.empty())
        return Error{"trace " + options.trace + " has no jobs"};
    keep_first(source.trace.jobs, options.jobs);
    return source;
}

void report_omitted(int64_t jobs, const char *why)
{
    if (jobs > 0)
        std::cerr << "elasticsim: " << jobs << " job(s) left out: " << why << "\n";
}

/* `runs`: the options as they are for each policy. */
int simulate(const Options &options, const std::vector<Options> &runs)
{
    auto source = read_source(options);
    if (!source) {
        std::cerr << "elasticsim: " << source.error() << "\n";
        return 1;
    }
    std::ofstream csv;
    if (!options.csv.empty()) {
        csv.open(options.csv);
        csv << "policy,seed,job,user,class,submit_ms,start_ms,end_ms,done,trace_size,first_size,"
               "last_size,adaptations,standstill_ms\n";
    }
    std::vector<std::vector<Draw>> draws;
    for (const Options &each : runs)
        draws.push_back(draw_all(each, source.value(), csv.is_open() ? &csv : nullptr));
    if (!draws.front().empty()) {
        report_omitted(draws.front().front().too_large, "larger than the machine");
        report_omitted(draws.front().front().never_ran, "they have ended without having run");
    }
    bool all_written = options.csv.empty() || written(options.csv, csv);
    if (!options.svg.empty()) {
        std::ofstream svg(options.svg);
        svg << page(runs.front(), draws);
        all_written = written(options.svg, svg) && all_written;
    }
    return all_written && !interrupted ? 0 : 1;
}

int run(int argc, char **argv)
{
    Options options;
    CLI::App app("Replays a job trace with elasticd's scheduler on a simulated machine.",
                 "elasticsim");
    auto *trace = app.add_option(
        "TRACE", options.trace, "a trace in the Standard Workload Format, plain or gzip");
    app.add_option("--store", options.store,
                   "instead of a trace: the ended jobs of an elasticd, from its state directory")
        ->excludes(trace);
    app.add_option("--nodes", options.nodes,
                   "nodes of the machine; of several kinds: NODESxCORES,... instead of --cores")
        ->required();
    app.add_option("--cores", options.cores, "cores of each node")
        ->check(CLI::Range(1, 100000));
    app.add_option("--policy", options.policies,
                   "who starts, grows and shrinks (fill); given more than once: one after the "
                   "other")
        ->check(CLI::IsMember(policy_names()))
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("--malleable", options.workload.malleable,
                   "share of jobs whose size changes while they run (0)")
        ->check(CLI::Range(0.0, 1.0));
    app.add_option("--moldable", options.workload.moldable,
                   "share of jobs whose size is chosen at their start (0)")
        ->check(CLI::Range(0.0, 1.0));
    app.add_option("--range", options.range,
                   "LOW:HIGH, least and greatest size of these, in units of the trace's (0.25:4)");
    app.add_option("--speedup", options.speedups,
                   "how they scale: linear, amdahl:SHARE, downey:A,SIGMA, table:1=1,SIZE=SPEED,... "
                   "(linear); given more than "
                   "once each job has one of them, by lot")
        ->allow_extra_args(false);
    app.add_option("--adapt-cost", options.adapt_cost_s,
                   "seconds that a job stands still for an adaptation (0.001)")
        ->check(CLI::Range(0.0, 1e6));
    app.add_option("--data", options.gigabytes_per_core,
                   "gigabytes on each core that an adaptation redistributes (0)")
        ->check(CLI::Range(0.0, 1e6));
    app.add_option("--sample", options.sample_s,
                   "seconds between two samples of a malleable job, for efficient and measured; 0: "
                   "none (60)")
        ->check(CLI::Range(0.0, 3600.0));
    app.add_option("--noise", options.replay.sample_noise,
                   "each sample is wrong by up to this part (0)")
        ->check(CLI::Range(0.0, 0.9));
    app.add_option("--efficiency,--target", options.efficiency,
                   "measured: nobody gets cores that bring less than this part of a proportional "
                   "gain (0.5)")
        ->check(CLI::Range(0.01, 0.99));
    app.add_option("--efficiency-idle", options.efficiency_idle,
                   "measured: the same of cores that nobody else can use; 0: they go to all "
                   "that do not become slower (0)")
        ->check(CLI::Range(0.0, 0.99));
    app.add_option("--over-limit", options.over_limit,
                   "jobs that ran longer than requested: kill or run (kill)")
        ->check(CLI::IsMember({"kill", "run"}));
    app.add_option("--backfill-depth", options.replay.config.backfill_depth,
                   "waiting jobs that are considered after the first (100)")
        ->check(CLI::Range(0, 1000000));
    app.add_option("--jobs", options.jobs, "only the first so many")
        ->check(CLI::Range(1, 2000000000));
    app.add_option("--seed", options.workload.seed, "decides which jobs are elastic (1)");
    app.add_option("--draws", options.draws, "so many seeds, beginning there (1)")
        ->check(CLI::Range(1, 100000));
    app.add_option("--csv", options.csv, "a line for each job, into this file");
    app.add_option("--svg", options.svg,
                   "plots into this file: waiting jobs, utilisation and sizes over time, and how "
                   "the policies compare");
    app.add_flag("--users", options.users, "sums by user, too");
    app.add_flag("--json", options.json, "a JSON object for each draw");
    app.add_flag("--strict", options.strict, "refuse a trace with a line that is no job");
    app.add_flag("--quiet", options.quiet, "show no progress");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (options.trace.empty() && options.store.empty()) {
        std::cerr << "elasticsim: give a trace, or --store and the state directory of an "
                     "elasticd\n";
        return 2;
    }
    std::vector<Options> runs;
    std::set<std::string> known;
    for (const std::string &policy : options.policies) {
        Options &run = runs.emplace_back(options);
        run.policy = policy;
        std::string wrong = complete(run);
        if (!known.insert(policy).second)
            wrong = "--policy " + policy + " is given twice";
        if (!wrong.empty()) {
            std::cerr << "elasticsim: " << wrong << "\n";
            return 2;
        }
    }
    signal(SIGINT, interrupt);
    return simulate(options, runs);
}

}  // namespace
}  // namespace elastic::rm

int main(int argc, char **argv) { return elastic::rm::run(argc, argv); }
