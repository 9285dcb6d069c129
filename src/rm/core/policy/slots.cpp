/* See slots.h. */

#include "core/policy/slots.h"

#include "core/placement.h"
#include "core/policy/policy_easy.h"

namespace elastic::rm {

namespace {

constexpr size_t BLOCKS_MAX = 200;      /* of one grant: a line of the step protocol */

/* The first job that waits and may start now, if nothing that is given for a wish of then may delay
 * it; else null. */
const Job *protected_job(const State &state, int64_t since_ms)
{
    for (const QueueKey &key : state.indices().runnable) {
        const Job &job = state.jobs.at(key.job);
        if (job.offer_after_ms > state.now_ms)
            continue;
        int64_t waits_since_ms = job.eligible_ms == NEVER ? job.submitted_ms : job.eligible_ms;
        return since_ms < waits_since_ms ? nullptr : &job;
    }
    return nullptr;
}

int start_size(const State &state, const JobSpec &spec)
{
    bool is_fixed =
        state.config.policy == PolicyKind::FCFS || state.config.policy == PolicyKind::EASY;
    return is_fixed ? fixed_size(state, spec) : size_at_least(spec, 1);
}

/* When the first job starts at the latest, with and without a place; nobody gives it back before
 * its job's end. */
class Protected {
  public:
    Protected(const State &state, const Job &job, int64_t since_ms)
        : state_(state), job_(job), first_(protected_job(state, since_ms))
    {
    }
    bool allows(const Space &before, const Space &after)
    {
        if (!first_)
            return true;
        if (!time_ms_)
            time_ms_ = start_of_first(before);
        if (job_.limit_at_ms != NEVER && (*time_ms_ == NEVER || job_.limit_at_ms <= *time_ms_))
            return true;
        return *time_ms_ != NEVER && start_of_first(after) == *time_ms_;
    }

  private:
    int64_t start_of_first(const Space &space) const
    {
        return Reservation(state_, space, first_->spec, start_size(state_, first_->spec)).time_ms();
    }

    const State &state_;
    const Job &job_;
    const Job *first_;
    std::optional<int64_t> time_ms_;
};

/* How many of its processes are on the node, wherever they belong. */
int processes_on(const Job &job, const NodeName &node)
{
    int count = 0;
    auto add = [&](const Blocks &blocks) {
        for (const Block &block : blocks)
            count += block.node == node ? block.processes : 0;
    };
    add(present(job));
    if (job.adaptation)
        add(job.adaptation->joining);
    return count;
}

/* Its nodes, each once, that the wish allows. */
std::vector<NodeName> nodes_for(const Job &job, const SlotWish &wish)
{
    std::vector<NodeName> nodes;
    for (const Block &block : job.blocks) {
        bool suits = wish.host.empty() || block.node == wish.host;
        if (suits && std::ranges::find(nodes, block.node) == nodes.end())
            nodes.push_back(block.node);
    }
    return nodes;
}

/* What the job has, or is about to have. */
int room_of_job(const Job &job)
{
    int world = job.adaptation ? std::max(job.size(), job.adaptation->size) : job.size();
    return most_processes(job.spec) - world - count_slots(job);
}

}  // namespace

std::vector<SlotTurn> slot_turns(const State &state)
{
    std::vector<SlotTurn> turns;
    for (JobId id : state.indices().slot_wishers) {
        const Job &job = state.jobs.at(id);
        for (const SlotWish &wish : job.slots->wishes) {
            if (open_slots(job, wish) > 0)
                turns.push_back({wish.since_ms, id, wish.number});
        }
    }
    std::ranges::sort(turns);
    return turns;
}

Blocks places_for(const State &state, const Job &job, const SlotWish &wish, int64_t most)
{
    int count = static_cast<int>(std::min<int64_t>(
        {open_slots(job, wish), room_of_job(job), most}));
    if (count <= 0 || state.wanted_nodes > 0 ||
        (state.indices().free_cores == 0 && !job.spec.whole_nodes))
        return {};
    Space now(state);
    Protected first(state, job, wish.since_ms);
    Blocks places;
    for (const NodeName &node : nodes_for(job, wish)) {
        Blocks own = {{node, processes_on(job, node)}};
        for (; count > 0 && now.room_within(job.spec, own) > 0; count--) {
            Space after = now;
            Blocks place = after.place(job.spec, 1, own);
            if (!first.allows(now, after))
                return places;
            now = after;
            own[0].processes++;
            append(places, place[0]);
        }
        if (places.size() >= BLOCKS_MAX)
            break;
    }
    return places;
}

Blocks created_for(const State &state, const Job &job, int64_t most)
{
    int count = job.wish->size - job.size();
    if (count > most || state.wanted_nodes > 0)
        return {};
    Space now(state);
    Blocks own = present(job);
    if (!now.fits(job.spec, count, own))
        return {};
    Space after = now;
    Blocks created = after.place(job.spec, count, own);
    return Protected(state, job, job.wish->since_ms).allows(now, after) ? created : Blocks();
}

}  // namespace elastic::rm
