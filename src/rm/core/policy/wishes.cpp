/* See wishes.h. */

#include "core/policy/wishes.h"

#include "core/placement.h"

namespace elastic::rm {

namespace {

std::optional<Change> shrunk(const State &state, const Job &job, int size)
{
    return Change{job.id,
                  size,
                  choose_leaving(state, job.blocks, job.size() - size),
                  {},
                  wish_words(job),
                  wish_why(size)};
}

/* As far as there is room now. */
std::optional<Change> grown(Space &now, const Job &job, int size)
{
    Blocks own = present(job);
    size = size_at_most(job.spec, std::min(size, job.size() + now.room(job.spec, own)));
    if (size <= job.size())
        return std::nullopt;
    Blocks joining = now.place(job.spec, size - job.size(), own);
    return Change{job.id, size, {}, std::move(joining), wish_words(job), wish_why(size)};
}

}  // namespace

namespace {

/* Whether the job is too large for the places that its program waits for. */
bool is_for_places(const Job &job)
{
    return job.size() + claimed_slots(job) > most_processes(job.spec);
}

}  // namespace

std::string wish_words(const Job &job)
{
    if (!job.wish || is_for_places(job))
        return "its program wishes for places for processes that it starts";
    return (job.wish->modify ? "its program waits for " : "its program wishes for ") +
           std::to_string(job.wish->size);
}

std::function<Json(const State &, const Job &)> wish_why(int size)
{
    return [size](const State &, const Job &job) -> Json {
        if (!job.wish || is_for_places(job))
            return {{"rule", "wish"}, {"places", claimed_slots(job)}, {"size", size}};
        const ProgramWish &wish = *job.wish;
        return {{"rule", "wish"},           {"wish", wish.number},     {"wanted", wish.size},
                {"minimum", wish.minimum}, {"maximum", wish.maximum}, {"size", size}};
    };
}

void fulfil_wishes(const State &state, Decisions &decisions)
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
            decisions.look_again_at(from_ms);
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
