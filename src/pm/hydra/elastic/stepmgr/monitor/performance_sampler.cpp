/*
 * See performance_sampler.h.  A sample leaves out proxies that do not reply within SAMPLE_WAIT_MS.
 * A sample belongs to one world: if an adaptation commits meanwhile, the sample is discarded.
 */

#include "stepmgr/monitor/performance_sampler.h"

#include <algorithm>

namespace elastic {

/* The reason why no sample is possible now, or nullptr. */
const char *PerformanceSampler::cannot_sample() const
{
    if (state_.mode == InitMode::RIGID)
        return "the program is rigid: it calls MPI_Init, not MPI_Init_adapt";
    if (state_.mode == InitMode::SETS)
        return "the program changes through process sets, and such programs are not measured";
    if (state_.mode == InitMode::UNKNOWN)
        return "not all processes have initialised MPI yet";
    if (state_.ending || state_.over)
        return "the job is ending";
    if (state_.adaptation && !before_agreement(state_.adaptation->state))
        return "the processes are adapting";
    return nullptr;
}

/* Returns the line to send; empty: the line is sent later, when the proxies have replied. */
std::string PerformanceSampler::answer_performance(int client, const Json &id,
                                                   const PerformanceRequest &request)
{
    if (request.interval_ms)
        interval_ms_ = request.interval_ms;
    if (const char *why = cannot_sample())
        return write_answer(id, {{"available", false}, {"reason", why}});
    bool under_way = sample_.has_value();
    if (!under_way) {
        sample_ = Sample();
        sample_->number = ++samples_;
        sample_->epoch = state_.epoch;
        sample_->until_ms = state_.now_ms + SAMPLE_WAIT_MS;
        for (const ProxyId &proxy_id : World::proxies_of(state_.world.members())) {
            if (!state_.world.disconnected(proxy_id))
                sample_->pending_from.insert(proxy_id);
        }
    }
    if (sample_->waiting.size() == SAMPLE_WAITING_MAX)
        return write_error(
            {id, ErrorCode::BUSY,
             std::to_string(SAMPLE_WAITING_MAX) +
                 " requests are pending already: wait for their replies"});
    sample_->waiting.push_back({client, id});
    if (!under_way)
        query_samples();
    return "";
}

void PerformanceSampler::query_samples()
{
    std::vector<step_proxy> to;
    for (const ProxyId &proxy_id : sample_->pending_from)
        to.push_back({proxy_id.group, proxy_id.number});
    /* sent each time, because proxies of joining processes do not have it */
    state_.effects.send(state_.effects.context, to.data(), static_cast<int>(to.size()),
                        STEP_PERFORMANCE, sample_->number, interval_ms_ ? &*interval_ms_ : nullptr,
                        interval_ms_ ? sizeof *interval_ms_ : 0);
}

/* A process of the world that has not ended, or nullptr. */
const Process *PerformanceSampler::sampled(uint32_t group, uint32_t rank)
{
    bool possible = group <= INT32_MAX && rank <= INT32_MAX;
    const Process *process =
        possible ? state_.world.find(static_cast<int>(group), static_cast<int>(rank)) : nullptr;
    return process && process->world_rank >= 0 && !process->ended ? process : nullptr;
}

/* A proxy may only report its own processes. */
void PerformanceSampler::on_performance(const ProxyId &proxy_id, uint32_t number,
                                        SampleReport &report)
{
    bool awaited =
        sample_ && number == sample_->number && sample_->pending_from.erase(proxy_id) > 0;
    if (!awaited)
        return;                 /* late */
    auto own = [this, &proxy_id](uint32_t rank) {
        const Process *process = sampled(static_cast<uint32_t>(proxy_id.group), rank);
        return process && process->proxy == proxy_id.number ? process : nullptr;
    };
    uint32_t ranks = 0;         /* number of ranks that it has reported */
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
    if (sample_->pending_from.empty())
        sample_complete();
}

/* Loops, merged on the way up the tree; they arrive before the rows of the last proxies. */
void PerformanceSampler::on_loops(uint32_t number, LoopsReport &report)
{
    bool awaited = sample_ && number == sample_->number && report.group <= INT32_MAX;
    if (!awaited)
        return;
    size_t ranks = state_.world.processes(static_cast<int>(report.group)).size();
    report.loops.renumber(static_cast<uint32_t>(ranks), [this, &report](uint32_t rank) -> int64_t {
        const Process *process = sampled(report.group, rank);
        return process ? process->world_rank : -1;
    });
    sample_->loops.merge(report.loops);
}

void PerformanceSampler::sample_complete()
{
    Sample sample = std::move(*sample_);
    sample_.reset();
    Json answer = {{"available", false}};
    if (const char *why = cannot_sample())
        answer["reason"] = why;
    else if (sample.epoch != state_.epoch)
        answer["reason"] = "the processes have adapted meanwhile";
    else if (sample.processes.empty())
        answer["reason"] = "no proxy has replied";
    else
        answer = describe_sample(sample);
    for (const Waiter &waiter : sample.waiting)
        state_.reply(waiter.client, write_answer(waiter.id, answer));
}

Json PerformanceSampler::describe_sample(Sample &sample)
{
    sample.loops.join_alone(static_cast<uint32_t>(state_.world.size()));
    ProbeCount probes = count_probes(sample.processes, state_.epoch, state_.now_ms);
    Json answer = {{"available", true},
                   {"epoch", state_.epoch},
                   {"size", state_.world.size()},
                   {"processes", sample.processes.size()},
                   {"stale", sample.stale},
                   {"progress", describe_progress(probes, state_.epoch_began_ms, probes_)},
                   {"phase", describe_phase(sample.processes, sample.loops)},
                   {"loops", describe_loops(sample.processes, sample.loops)}};
    bool apart = !probes_ || probes_->epoch != state_.epoch ||
                 state_.now_ms - probes_->at_ms >= SAMPLE_APART_MS;
    if (apart)
        probes_ = probes;
    return answer;
}

void PerformanceSampler::proxy_disconnected(const ProxyId &proxy_id)
{
    if (sample_ && sample_->pending_from.erase(proxy_id) > 0 && sample_->pending_from.empty())
        sample_complete();
}

void PerformanceSampler::client_disconnected(int client)
{
    if (sample_)
        std::erase_if(sample_->waiting,
                      [client](const Waiter &waiter) { return waiter.client == client; });
}

std::optional<int64_t> PerformanceSampler::until_ms() const
{
    return sample_ ? std::optional(sample_->until_ms) : std::nullopt;
}

void PerformanceSampler::check_time()
{
    if (sample_ && state_.now_ms >= sample_->until_ms)
        sample_complete();
}

}  // namespace elastic
