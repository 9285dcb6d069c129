/* See api.h: the use of time of jobs. The core has the history (core/job_performance.h); loops are
 * those of the step's newest answer (step/sampler.h). */

#include <algorithm>

#include "api/api.h"
#include "core/mpi_share.h"
#include "core/policy/policies.h"
#include "core/scaling.h"

namespace elastic::rm {

namespace {

constexpr int64_t WAIT_MS = 3000;       /* a proxy without an answer for 2 s is omitted */
constexpr int64_t AGE_MAX_MS = 3600 * 1000;

Json ratio(const std::optional<int64_t> &ppm)
{
    return ppm ? Json(static_cast<double>(*ppm) / static_cast<double>(PPM)) : Json();
}

Json per_second(int64_t probes, int64_t ms)
{
    return ms > 0 ? Json(static_cast<double>(probes) * 1000 / static_cast<double>(ms)) : Json();
}

Json iteration_us(const LoopSums &sums)
{
    return sums.iterations > 0 ? Json(sums.loop_us / sums.iterations) : Json();
}

}  // namespace

/* In the present epoch; null: unknown. */
Json Api::performance_json(const Job &job) const
{
    if (!job.performance || job.performance->samples == 0)
        return nullptr;
    const Performance &known = *job.performance;
    const Interval &last = known.history.back();
    const LoopSample *phase = phase_loop(known);
    LoopSums sums = phase_sums(known);
    auto recent = recent_mtct_ppm(known);
    const State &state = daemon_.state();
    auto held = policy(state.config.policy).held_because(state, job);
    auto bounds = policy(state.config.policy).bounds(state, job);
    int64_t left_ms = is_allocated(job.state) ? remaining_ms(state, job) : NEVER;
    return {{"epoch", known.newest.epoch},
            {"size", known.newest.size},
            {"samples", known.samples},
            {"sampled_ms", daemon_.shown_ms(known.sampled_ms)},
            {"per_second", per_second(known.newest.probes, known.newest.epoch_ms)},
            {"per_second_recent", per_second(last.probes, last.ms)},
            {"phase", phase ? Json(phase->key) : Json()},
            {"iterations", sums.iterations},
            {"iteration_us", iteration_us(sums)},
            {"mpi_share", ratio(mpi_share_ppm(sums))},
            {"mpi_share_recent", recent ? Json(mpi_share_of_mtct(*recent)) : Json()},
            {"mtct", ratio(accumulated_mtct_ppm(known))},
            {"mtct_recent", ratio(recent)},
            {"mtct_deviation", ratio(known.statistics.deviation_ppm())},
            {"ratio_min", phase ? ratio(phase->ratio_min_ppm) : Json()},
            {"ratio_max", phase ? ratio(phase->ratio_max_ppm) : Json()},
            {"has_data", has_data(known)},
            {"range", bounds ? Json({bounds->low, bounds->high}) : Json()},
            {"ceiling", bounds && bounds->ceiling > 0 ? Json(bounds->ceiling) : Json()},
            {"remaining_ms", left_ms == NEVER ? Json() : Json(left_ms)},
            {"held_because", held ? Json(to_string(*held)) : Json()}};
}

/* Position of a program with phases, from the newest answer of its step; null: unknown. */
Json Api::phase_json(const Job &job) const
{
    const Sampler::Newest *newest = daemon_.sampler().newest(job.id);
    bool known = newest && newest->answer.available && newest->answer.phase;
    return known ? to_json(*newest->answer.phase) : Json();
}

/* Of all epochs of the step. */
Json Api::history_json(const Job &job) const
{
    Json history = Json::array();
    for (const Interval &interval :
         job.performance ? job.performance->history : std::vector<Interval>()) {
        if (interval.until_ms <= job.started_ms) /* of an earlier run (core/learned.h) */
            continue;
        history.push_back({{"until_ms", daemon_.shown_ms(interval.until_ms)},
                           {"ms", interval.ms},
                           {"size", interval.size},
                           {"per_second", per_second(interval.probes, interval.ms)},
                           {"mpi_share", ratio(mpi_share_ppm(interval.phase))}});
    }
    return history;
}

/* Its estimated speed-up over one process, at sizes that it can have, and the measured sizes;
 * null: unknown. */
Json Api::scaling_json(const Job &job) const
{
    constexpr int SHOWN = 40;           /* maximum number of shown sizes */
    if (is_end(job.state) && !job.performance)
        return nullptr;
    Scaling scaling = scaling_of(job);
    if (scaling.sizes == 0 && !scaling.hinted)
        return nullptr;
    double one = relative_speed(scaling, 1);
    Json curve = Json::array(), points = Json::array();
    int step = std::max((job.spec.maximum - job.spec.minimum) / SHOWN, 1);
    for (int size = size_at_least(job.spec, 1); size > 0;
         size = size_at_least(job.spec, size + step))
        curve.push_back({{"size", size}, {"speedup", relative_speed(scaling, size) / one}});
    auto speeds = job.performance && scaling.sizes > 0 ? measured_speeds(*job.performance)
                                                       : std::vector<MeasuredSpeed>();
    /* The unit of speed is the measured size that is nearest to the present one. */
    auto nearest = std::ranges::min_element(speeds, {}, [&](const MeasuredSpeed &each) {
        return std::abs(each.size - scaling.size);
    });
    for (const MeasuredSpeed &each : speeds) {
        double speedup = relative_speed(scaling, nearest->size) / one * each.per_second /
            nearest->per_second;
        points.push_back({{"size", each.size},
                          {"intervals", each.intervals},
                          {"per_second", each.per_second},
                          {"speedup", speedup}});
    }
    return {{"size", scaling.size},
            {"end", scaling.end > 0 ? Json(scaling.end) : Json()},
            {"error", ratio(scaling.error_ppm)},
            {"hinted", scaling.hinted},
            {"curve", std::move(curve)},
            {"points", std::move(points)}};
}

std::string Api::reason_without_sample(const Job &job) const
{
    if (is_end(job.state))
        return "the job has ended";
    if (!is_allocated(job.state) || job.state == JobState::STARTING)
        return "the job does not run yet";
    if (!job.broken.empty())
        return "step protocol broken: " + job.broken;
    if (job.mode == StepMode::UNKNOWN)
        return "not all processes have initialised MPI yet";
    if (job.mode == StepMode::RIGID)
        return "the program is rigid: it calls MPI_Init, not MPI_Init_adapt";
    if (!daemon_.sampler().is_on())
        return "nothing is measured: monitor.interval is 0 in the configuration";
    return "no sample has been taken yet";
}

Json Api::loops_json(const Job &job)
{
    const Sampler::Newest *newest = daemon_.sampler().newest(job.id);
    Json json = newest ? to_json(newest->answer)
                       : Json{{"available", false}, {"reason", reason_without_sample(job)}};
    int64_t age_ms = newest ? monotonic_ms() - newest->at_ms : 0;
    json["job"] = job.id;
    json["sampled_ms"] = newest ? Json(unix_ms() - age_ms) : Json();
    json["performance"] = performance_json(job);
    json["history"] = history_json(job);
    json["scaling"] = scaling_json(job);
    return json;
}

/* With max_age_ms the step is queried, if the known answer is older. */
void Api::get_loops(Call &call)
{
    QueryReader query(call.request.query);
    int64_t max_age_ms = query.number("max_age_ms", Sampler::LOOK_MS, AGE_MAX_MS, AGE_MAX_MS);
    query.finish();
    Job job = job_of(call, false);
    int64_t since_ms = monotonic_ms() - max_age_ms;
    auto is_fresh = [this, id = job.id, since_ms] {
        const Sampler::Newest *newest = daemon_.sampler().newest(id);
        return newest && newest->at_ms >= since_ms;
    };
    bool can_wait = job.state == JobState::RUNNING && job.mode == StepMode::ADAPTIVE &&
        job.broken.empty() && daemon_.sampler().is_on() && max_age_ms < AGE_MAX_MS && !is_fresh();
    if (can_wait)
        daemon_.sampler().query_soon(job.id);
    wait(call.responder, can_wait ? WAIT_MS : 0,
         [this, responder = call.responder, job, is_fresh](bool late) {
             if (!late && !is_fresh())
                 return false;
             const Job *now = daemon_.state().job(job.id);
             respond_json(responder, loops_json(now ? *now : job));
             return true;
         });
}

}  // namespace elastic::rm
