/*
 * elasticsim: replays a job trace (SWF), or the jobs of an elasticd, with elasticd's own core, on a
 * simulated machine, and reports the results.  `elasticsim --help` lists the options,
 * doc/admin/simulation.md explains them.
 *
 * Exit codes: 0 done; 1 the trace cannot be read, a file cannot be written, or it was interrupted;
 * 2 wrong usage.
 */

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "sim/traces/elasticsim_output.h"
#include "store/ended_jobs.h"

namespace elastic::rm {
namespace {

volatile std::sig_atomic_t interrupted;

constexpr size_t PLOT_INTERVALS = 300;

void interrupt(int) { interrupted = 1; }

/* The replayed jobs: of a trace or of an elasticd. */
struct Source {
    Trace trace;
    std::vector<Job> ended;
};

/* A bar on a terminal, for long runs. */
bool show_progress(int64_t ended, size_t jobs, bool quiet)
{
    if (!quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%lld of %zu jobs", static_cast<long long>(ended), jobs);
    return !interrupted;
}

Draw draw(const ElasticsimOptions &options, const Source &source, uint64_t seed, std::ostream *csv)
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
    if (csv)
        write_csv(*csv, options, seed, workload, outcome);
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

void report_problems(const std::string &path, const Trace &trace)
{
    for (const TraceProblem &problem : trace.problems)
        std::cerr << path << ", line " << problem.line << ": " << problem.what << "\n";
    if (trace.skipped > 0)
        std::cerr << path << ": " << trace.skipped
                  << " line(s) left out (--strict refuses such a trace)\n";
}

/* Runs each draw of one policy, and reports each at its end. */
std::vector<Draw>
draw_all(const ElasticsimOptions &options, const Source &source, std::ostream *csv)
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

Result<Source> read_source(const ElasticsimOptions &options)
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

/* `runs`: the options for each policy. */
int simulate(const std::vector<ElasticsimOptions> &runs)
{
    const ElasticsimOptions &options = runs.front();
    auto source = read_source(options);
    if (!source) {
        std::cerr << "elasticsim: " << source.error() << "\n";
        return 1;
    }
    std::ofstream csv;
    if (!options.csv.empty()) {
        csv.open(options.csv);
        write_csv_header(csv);
    }
    std::vector<std::vector<Draw>> draws;
    for (const ElasticsimOptions &each : runs)
        draws.push_back(draw_all(each, source.value(), csv.is_open() ? &csv : nullptr));
    if (!draws.front().empty()) {
        report_omitted(draws.front().front().too_large, "larger than the machine");
        report_omitted(draws.front().front().never_ran, "they have ended without having run");
    }
    bool all_written = options.csv.empty() || written(options.csv, csv);
    if (!options.svg.empty()) {
        std::ofstream svg(options.svg);
        svg << page_of_plots(runs, draws);
        all_written = written(options.svg, svg) && all_written;
    }
    return all_written && !interrupted ? 0 : 1;
}

}  // namespace
}  // namespace elastic::rm

int main(int argc, char **argv)
{
    std::vector<elastic::rm::ElasticsimOptions> runs;
    if (auto code = elastic::rm::parse_options(argc, argv, runs))
        return *code;
    signal(SIGINT, elastic::rm::interrupt);
    return elastic::rm::simulate(runs);
}
