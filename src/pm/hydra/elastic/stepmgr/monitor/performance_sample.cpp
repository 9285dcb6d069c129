/* See performance_sample.h. */

#include "stepmgr/monitor/performance_sample.h"

#include <algorithm>
#include <map>

#include "base/change.h"

namespace elastic {

namespace {

double ratio_of(const ProcessSample &sample)
{
    return static_cast<double>(sample.report.mpi_ns) / static_cast<double>(sample.report.loop_ns);
}

/* Whether the data is valid: the time in MPI is not more than the total time. */
bool is_measured(const ProcessSample &sample)
{
    const PerformanceReport &report = sample.report;
    return report.iterations > 0 && report.loop_ns > 0 && report.mpi_ns <= report.loop_ns;
}

Json rate(uint64_t probes, int64_t ms)
{
    return ms > 0 ? Json(static_cast<double>(probes) * 1000 / static_cast<double>(ms)) : Json();
}

/* The processes for which the others wait: those with the smallest part of time in MPI. */
Json describe_slowest(const std::vector<const ProcessSample *> &by_ratio)
{
    Json slowest = Json::array();
    for (size_t i = 0; i < std::min(by_ratio.size(), SLOWEST_RANKS_MAX); i++)
        slowest.push_back({{"rank", by_ratio[i]->world_rank},
                           {"host", by_ratio[i]->host},
                           {"mpi_ratio", ratio_of(*by_ratio[i])}});
    return slowest;
}

/* Whether the iteration is a valid number in the protocol. */
bool is_in_phase(const ProcessSample &sample)
{
    constexpr uint64_t MOST = uint64_t{1} << 53;
    const PerformanceReport &report = sample.report;
    return report.phase != 0 && report.iteration <= MOST && report.element <= UINT32_MAX &&
           report.total >= -1 && report.total <= static_cast<int64_t>(MOST);
}

/* 0: no process is in a phase.  If several phases have equally many processes: the first phase of
 * the program. */
uint64_t most_frequent_phase(const std::vector<ProcessSample> &samples)
{
    std::map<std::pair<uint64_t, uint64_t>, size_t> processes;  /* by element, phase */
    uint64_t phase = 0;
    size_t most = 0;
    for (const ProcessSample &sample : samples)
        if (is_in_phase(sample))
            processes[{sample.report.element, sample.report.phase}]++;
    for (const auto &[where, count] : processes) {
        if (count > most) {
            most = count;
            phase = where.second;
        }
    }
    return phase;
}

/* The first few stragglers.  `in`: all processes of the phase, by iteration. */
Json describe_stragglers(const std::vector<const ProcessSample *> &in)
{
    Json stragglers = Json::array();
    for (size_t i = 0; i < std::min(in.size(), BEHIND_RANKS_MAX); i++) {
        const ProcessSample &sample = *in[i];
        if (sample.report.iteration + BEHIND_ITERATIONS <= in.back()->report.iteration)
            stragglers.push_back({{"rank", sample.world_rank},
                              {"host", sample.host},
                              {"iteration", sample.report.iteration}});
    }
    return stragglers;
}

}  // namespace

Json describe_phase(const std::vector<ProcessSample> &samples, const LoopSet &loops)
{
    uint64_t phase = most_frequent_phase(samples);
    std::vector<const ProcessSample *> in;
    for (const ProcessSample &sample : samples)
        if (phase != 0 && sample.report.phase == phase && is_in_phase(sample))
            in.push_back(&sample);
    if (in.empty())
        return nullptr;
    std::stable_sort(in.begin(), in.end(), [](const ProcessSample *x, const ProcessSample *y) {
        return x->report.iteration < y->report.iteration;
    });
    const PerformanceReport &first = in.front()->report;
    const loop *known = find_phase(loops, phase);
    bool measured = known && known->iterations > 0;
    return {{"element", first.element},
            {"name", known ? Json(known->name) : Json()},
            {"rigid", known ? Json(known->item[0].kind == LOOP_RIGID_PHASE) : Json()},
            {"processes", in.size()},
            {"iteration", first.iteration},
            {"iteration_max", in.back()->report.iteration},
            {"total", first.total >= 0 ? Json(first.total) : Json()},
            {"iteration_us", measured ? Json(known->loop_ns / 1000 / known->iterations) : Json()},
            {"behind", describe_stragglers(in)}};
}

ProbeCount count_probes(const std::vector<ProcessSample> &samples, uint32_t epoch, int64_t now_ms)
{
    ProbeCount count = {epoch, now_ms, samples.empty() ? 0 : UINT64_MAX};
    for (const ProcessSample &sample : samples)
        count.probes = std::min(count.probes, sample.report.count);
    return count;
}

Json describe_progress(const ProbeCount &now, int64_t epoch_began_ms,
                       const std::optional<ProbeCount> &previous)
{
    bool same = previous && previous->epoch == now.epoch && previous->probes <= now.probes;
    return {{"probes", now.probes},
            {"ms", now.at_ms - epoch_began_ms},
            {"per_second", rate(now.probes, now.at_ms - epoch_began_ms)},
            {"recent_per_second",
             same ? rate(now.probes - previous->probes, now.at_ms - previous->at_ms) : Json()}};
}

Json describe_loops(const std::vector<ProcessSample> &samples, const LoopSet &others)
{
    std::vector<const ProcessSample *> measured;
    std::vector<int> ranks;
    uint64_t iterations = 0, loop_us = 0, mpi_us = 0;
    uint32_t every = 0;

    for (const ProcessSample &sample : samples) {
        if (!is_measured(sample))
            continue;
        measured.push_back(&sample);
        ranks.push_back(sample.world_rank);
        iterations += sample.report.iterations;
        loop_us += sample.report.loop_ns / 1000;
        mpi_us += sample.report.mpi_ns / 1000;
        every = std::max(every, sample.report.every);
    }
    if (measured.empty())
        return Json::array();   /* inner loops are unknown too */
    std::sort(ranks.begin(), ranks.end());
    std::stable_sort(measured.begin(), measured.end(),
                     [](const ProcessSample *x, const ProcessSample *y) {
                         return ratio_of(*x) < ratio_of(*y);
                     });
    Json loops = describe_inner_loops(others);
    Json elastic = {{"key", "probe"},
                    {"parent", nullptr},
                    {"ranks", shorten(format_ranks(ranks), RANKS_TOLD_BYTES_MAX)},
                    {"processes", ranks.size()},
                    {"iterations", iterations},
                    {"measured_every", every},
                    {"loop_us", loop_us},
                    {"mpi_us", mpi_us},
                    {"ratio_min", ratio_of(*measured.front())},
                    {"ratio_max", ratio_of(*measured.back())},
                    {"slowest", describe_slowest(measured)}};
    loops.insert(loops.begin(), std::move(elastic));
    return loops;
}

}  // namespace elastic
