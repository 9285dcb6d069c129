/* See step.h: samples of what the processes do with their time.
 *
 * One sample at a time; who asks meanwhile gets the same one.  Daemons that are silent for SAMPLE_WAIT_MS are left out.
 * Numbers of the processes are of one world only: a sample that meets an adaptation is worth nothing. */

#include <algorithm>

#include "stepmgr/step.h"

namespace elastic {

/* Why there is nothing to be sampled now, or nullptr. */
const char *Step::cannot_sample() const
{
    if (mode_ == InitMode::RIGID)
        return "the program is rigid: it calls MPI_Init, not MPI_Init_adapt";
    if (mode_ == InitMode::SETS)
        return "the program changes through process sets, in which nothing is measured";
    if (mode_ == InitMode::UNKNOWN)
        return "not all processes have initialised MPI yet";
    if (ending_ || over_)
        return "the job is ending";
    if (adaptation_ && !before_agreement(adaptation_->state))
        return "the processes are adapting";
    return nullptr;
}

/* The line to send; empty if it is sent when the daemons have answered. */
std::string Step::answer_performance(int client, const Json &id, const PerformanceRequest &request)
{
    if (request.interval_ms)
        interval_ms_ = request.interval_ms;
    if (const char *why = cannot_sample())
        return write_answer(id, {{"available", false}, {"reason", why}});
    bool under_way = sample_.has_value();
    if (!under_way) {
        sample_ = Sample();
        sample_->number = ++samples_;
        sample_->epoch = epoch_;
        sample_->until_ms = now_ms_ + SAMPLE_WAIT_MS;
        for (const Agent &agent : World::agents_of(world_.members())) {
            if (!world_.departed(agent))
                sample_->owed.insert(agent);
        }
    }
    if (sample_->waiting.size() == SAMPLE_WAITING_MAX)
        return write_error({id, ErrorCode::BUSY, std::to_string(SAMPLE_WAITING_MAX) +
                                                     " answers are under way already: wait for them"});
    sample_->waiting.push_back({client, id});
    if (!under_way)
        ask_samples();
    return "";
}

void Step::ask_samples()
{
    std::vector<step_agent> to;
    for (const Agent &agent : sample_->owed)
        to.push_back({agent.group, agent.proxy});
    /* each time, because daemons of joining processes do not know it */
    effects_.send(effects_.context, to.data(), static_cast<int>(to.size()), STEP_PERFORMANCE, sample_->number,
                  interval_ms_ ? &*interval_ms_ : nullptr, interval_ms_ ? sizeof *interval_ms_ : 0);
}

/* A process of the world that has not ended, or nullptr. */
const Process *Step::sampled(uint32_t group, uint32_t rank)
{
    bool possible = group <= INT32_MAX && rank <= INT32_MAX;
    const Process *process = possible ? world_.find(static_cast<int>(group), static_cast<int>(rank)) : nullptr;
    return process && process->world_rank >= 0 && !process->ended ? process : nullptr;
}

/* A daemon speaks of its own processes alone. */
void Step::on_performance(const Agent &agent, uint32_t number, SampleReport &report)
{
    bool awaited = sample_ && number == sample_->number && sample_->owed.erase(agent) > 0;
    if (!awaited)
        return;                 /* late */
    auto own = [this, &agent](uint32_t rank) {
        const Process *process = sampled(static_cast<uint32_t>(agent.group), rank);
        return process && process->proxy == agent.proxy ? process : nullptr;
    };
    uint32_t ranks = 0;         /* of those that it has told of */
    for (const PerformanceReport &row : report.rows) {
        const Process *process = own(row.rank);
        if (!process)
            continue;
        ranks = std::max(ranks, row.rank + 1);
        sample_->processes.push_back({process->world_rank, process->host, row});
    }
    sample_->stale += std::min(report.stale, static_cast<uint32_t>(report.rows.size()));
    report.loops.renumber(ranks, [&own](uint32_t rank) -> int64_t {
        const Process *process = own(rank);
        return process ? process->world_rank : -1;
    });
    sample_->loops.merge(report.loops);
    if (sample_->owed.empty())
        sample_complete();
}

/* Put together on the way up the tree: they come before the rows of the last daemons. */
void Step::on_loops(uint32_t number, LoopsReport &report)
{
    bool awaited = sample_ && number == sample_->number && report.group <= INT32_MAX;
    if (!awaited)
        return;
    size_t ranks = world_.processes(static_cast<int>(report.group)).size();
    report.loops.renumber(static_cast<uint32_t>(ranks), [this, &report](uint32_t rank) -> int64_t {
        const Process *process = sampled(report.group, rank);
        return process ? process->world_rank : -1;
    });
    sample_->loops.merge(report.loops);
}

void Step::sample_complete()
{
    Sample sample = std::move(*sample_);
    sample_.reset();
    Json answer = {{"available", false}};
    if (const char *why = cannot_sample())
        answer["reason"] = why;
    else if (sample.epoch != epoch_)
        answer["reason"] = "the processes have adapted meanwhile";
    else if (sample.processes.empty())
        answer["reason"] = "no node daemon has answered";
    else
        answer = describe_sample(sample);
    for (const Waiter &waiter : sample.waiting)
        effects_.reply(effects_.context, waiter.client, write_answer(waiter.id, answer).c_str());
}

Json Step::describe_sample(Sample &sample)
{
    sample.loops.join_alone(static_cast<uint32_t>(world_.size()));
    ProbeCount probes = count_probes(sample.processes, epoch_, now_ms_);
    Json answer = {{"available", true},
                   {"epoch", epoch_},
                   {"size", world_.size()},
                   {"processes", sample.processes.size()},
                   {"stale", sample.stale},
                   {"progress", describe_progress(probes, epoch_began_ms_, probes_)},
                   {"phase", describe_phase(sample.processes, sample.loops)},
                   {"loops", describe_loops(sample.processes, sample.loops)}};
    bool apart = !probes_ || probes_->epoch != epoch_ || now_ms_ - probes_->at_ms >= SAMPLE_APART_MS;
    if (apart)
        probes_ = probes;
    return answer;
}

}  // namespace elastic
