/* See requested_sizes.h. */

#include "core/policy/requested_sizes.h"

#include "core/placement.h"

namespace elastic::rm {

namespace {

std::optional<Change> shrunk(const State &state, const Job &job, int size)
{
    return Change{job.id,
                  size,
                  choose_leaving(state, job.blocks, job.size() - size),
                  {},
                  size_request_reason(job),
                  size_request_numbers(size)};
}

/* As far as it fits now. */
std::optional<Change> grown(Space &now, const Job &job, int size)
{
    Blocks own = present(job);
    size = size_at_most(job.spec, std::min(size, job.size() + now.capacity(job.spec, own)));
    if (size <= job.size())
        return std::nullopt;
    Blocks joining = now.allocate(job.spec, size - job.size(), own);
    return Change{
        job.id, size, {}, std::move(joining), size_request_reason(job), size_request_numbers(size)};
}

}  // namespace

namespace {

/* Whether the job is too large for the slots that its program waits for. */
bool is_for_slots(const Job &job)
{
    return job.size() + claimed_slots(job) > most_processes(job.spec);
}

}  // namespace

std::string size_request_reason(const Job &job)
{
    if (!job.size_request || is_for_slots(job))
        return "its program requests slots for processes that it starts";
    return (job.size_request->modify ? "its program waits for " : "its program requests ") +
           std::to_string(job.size_request->size);
}

std::function<Json(const State &, const Job &)> size_request_numbers(int size)
{
    return [size](const State &, const Job &job) -> Json {
        if (!job.size_request || is_for_slots(job))
            return {{"rule", "wish"}, {"places", claimed_slots(job)}, {"size", size}};
        const SizeRequest &size_request = *job.size_request;
        return {{"rule", "wish"},
                {"wish", size_request.number},
                {"wanted", size_request.size},
                {"minimum", size_request.minimum},
                {"maximum", size_request.maximum},
                {"size", size}};
    };
}

void grant_size_requests(const State &state, Decisions &decisions)
{
    const State::Indices &indices = state.indices();
    if (indices.wishers.empty() || !decisions.starts.empty())
        return;
    bool may_take = indices.queue.empty() && state.wanted_nodes == 0 && indices.free_cores > 0;
    std::optional<Space> now;
    for (JobId id : indices.wishers) {
        const Job &job = state.jobs.at(id);
        int size = size_wished(job);
        bool grows = size > job.size();
        if (grows && !may_take)
            continue;
        int64_t from_ms = grows ? state.growth_from_ms(job) : job.offer_after_ms;
        if (from_ms > state.now_ms) {
            decisions.recheck_at(from_ms);
            continue;
        }
        if (grows && !now)
            now.emplace(state);
        auto change = grows ? grown(*now, job, size) : shrunk(state, job, size);
        if (change)
            decisions.changes.push_back(std::move(*change));
    }
}

}  // namespace elastic::rm
