/* See learned.h. */

#include "core/learned.h"

#include "core/program_key.h"
#include "core/scaling.h"

namespace elastic::rm {

namespace {

bool can_learn(const Job &job)
{
    return job.spec.elasticity != Elasticity::RIGID && !job.spec.program.empty();
}

/* Keeps speed and MPI share, for a shorter time. */
void shorten(Interval &interval)
{
    int64_t parts = (interval.ms + LEARNED_MS_MAX - 1) / LEARNED_MS_MAX;
    if (parts <= 1)
        return;
    interval.ms /= parts;
    interval.probes /= parts;
    interval.phase.iterations /= parts;
    interval.phase.loop_us /= parts;
    interval.phase.mpi_us /= parts;
}

std::vector<Interval> sizes_of(const Performance &known)
{
    const std::string &key = phase_key(known);
    std::map<int, Interval> sums;
    for (Interval interval : known.history) {
        if (interval.key != key || interval.ms <= 0 || interval.probes <= 0)
            continue;
        shorten(interval);
        auto [sum, is_new] = sums.try_emplace(interval.size, interval);
        if (!is_new)
            join(sum->second, interval);
    }
    while (sums.size() > LEARNED_SIZES_MAX)
        sums.erase(std::min_element(sums.begin(), sums.end(), [](const auto &a, const auto &b) {
            return a.second.until_ms < b.second.until_ms;
        }));
    std::vector<Interval> sizes;
    for (auto &[size, sum] : sums) {
        shorten(sum);
        if (sum.probes > 0)
            sizes.push_back(std::move(sum));
    }
    return sizes;
}

void remove_oldest(LearnedPrograms &programs)
{
    while (programs.size() > LEARNED_PROGRAMS_MAX)
        programs.erase(
            std::min_element(programs.begin(), programs.end(), [](const auto &a, const auto &b) {
                return a.second.ended_ms < b.second.ended_ms;
            }));
}

}  // namespace

std::string check(const Learned &learned)
{
    if (!is_program(learned.program) || learned.program.empty() || learned.ended_ms < 0)
        return "a stored program is not valid";
    Performance known;
    known.history = learned.sizes;
    if (learned.sizes.empty() || learned.sizes.size() > LEARNED_SIZES_MAX)
        return "a program is stored with too many sizes, or with none";
    bool times_fit = learned.mean_standstill_ms >= NEVER && learned.mean_duration_ms >= NEVER;
    return times_fit ? check(known) : "the adaptation time of a program is not valid";
}

const Learned *find_learned(const LearnedPrograms &programs, const Job &job)
{
    if (programs.empty() || !can_learn(job))
        return nullptr;
    auto known = programs.find({job.spec.uid, job.spec.program});
    return known == programs.end() ? nullptr : &known->second;
}

void learn(LearnedPrograms &programs, const Job &job, int64_t now_ms)
{
    if (!can_learn(job) || !job.performance)
        return;
    std::vector<Interval> sizes = sizes_of(*job.performance);
    if (sizes.empty())
        return;
    programs[{job.spec.uid, job.spec.program}] = {
        job.spec.uid,           job.spec.program,        now_ms, std::move(sizes),
        job.mean_standstill_ms, job.mean_duration_ms};
    remove_oldest(programs);
}

void recall(const LearnedPrograms &programs, Job &job)
{
    const Learned *known = find_learned(programs, job);
    if (!known)
        return;
    invalidate_epoch(job.performance.emplace(), job.epoch);
    job.performance->history = known->sizes;
    if (job.mean_standstill_ms != NEVER)
        return;
    job.mean_standstill_ms = known->mean_standstill_ms;
    job.mean_duration_ms = known->mean_duration_ms;
}

}  // namespace elastic::rm
