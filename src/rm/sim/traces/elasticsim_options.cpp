/* See elasticsim_options.h. */

#include "sim/traces/elasticsim_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <iostream>
#include <set>

#include "sim/traces/study_policies.h"

namespace elastic::rm {

namespace {

constexpr const char *ORACLE = "oracle";

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
std::string choose_policy(ElasticsimOptions &options)
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
std::string complete(ElasticsimOptions &options)
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
    config.poll_interval_ms = int64_t{1} << 40; /* no event is missed here */
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

}  // namespace

std::optional<int> parse_options(int argc, char **argv, std::vector<ElasticsimOptions> &runs)
{
    ElasticsimOptions options;
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
                   "the policy that starts, grows and shrinks jobs (fill); given more than once: "
                   "one after the other")
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
                   "LOW:HIGH, smallest and largest size of these, in units of the trace's "
                   "(0.25:4)");
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
                   "measured: no job gets cores that give less than this part of a proportional "
                   "gain (0.5)")
        ->check(CLI::Range(0.01, 0.99));
    app.add_option("--efficiency-idle", options.efficiency_idle,
                   "measured: the same for cores that no other job can use; 0: all get them that "
                   "do not become slower (0)")
        ->check(CLI::Range(0.0, 0.99));
    app.add_option("--over-limit", options.over_limit,
                   "jobs that ran longer than requested: kill or run (kill)")
        ->check(CLI::IsMember({"kill", "run"}));
    app.add_option("--backfill-depth", options.replay.config.backfill_depth,
                   "waiting jobs that are considered after the first (100)")
        ->check(CLI::Range(0, 1000000));
    app.add_option("--jobs", options.jobs, "only so many jobs, from the first on")
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
    app.add_flag("--strict", options.strict, "refuse a trace with a line that is not a job");
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
    std::set<std::string> known;
    for (const std::string &policy : options.policies) {
        ElasticsimOptions &run = runs.emplace_back(options);
        run.policy = policy;
        std::string wrong = complete(run);
        if (!known.insert(policy).second)
            wrong = "--policy " + policy + " is given twice";
        if (!wrong.empty()) {
            std::cerr << "elasticsim: " << wrong << "\n";
            return 2;
        }
    }
    return std::nullopt;
}

}  // namespace elastic::rm
