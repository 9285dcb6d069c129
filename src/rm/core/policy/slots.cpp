/* See slots.h. */

#include "core/policy/slots.h"

#include "core/placement.h"
#include "core/policy/policy_easy.h"
#include "core/settling.h"

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

/* Where the wish gets no place, as one is to be alone there: where the job has such a one, or, if
 * those of the wish are to be so, any. */
std::vector<NodeName> closed_nodes(const Job &job, const SlotWish &wish)
{
    if (!wish.exclusive)
        return exclusive_slots(job);
    std::vector<NodeName> nodes;
    for (const Block &block : slots_of(job))
        nodes.push_back(block.node);
    return nodes;
}

/* Places are put one after the other, as long as one more is wanted and allowed. */
class PlacesFor {
  public:
    PlacesFor(const State &state, const Job &job, const SlotWish &wish, int count)
        : job_(job), wish_(wish), now_(state), open_(state), closed_(closed_nodes(job, wish)),
          first_(state, job, wish.since_ms), left_(count)
    {
        for (const NodeName &node : closed_)
            open_.close(node);
    }
    /* What it may be put on. */
    const Space &open() const { return open_; }
    bool is_closed(const NodeName &node) const
    {
        return std::ranges::find(closed_, node) != closed_.end();
    }
    const Blocks &blocks() const { return blocks_; }
    /* One, beside `own`, for which there is room.  False: no more. */
    bool add(const Blocks &own)
    {
        if (left_ == 0 || blocks_.size() >= BLOCKS_MAX)
            return false;
        Space left_open = open_;
        Blocks place = left_open.place(job_.spec, 1, own);
        Space after = closed_.empty() ? left_open : now_;
        if (!closed_.empty())
            after.take(open_.more_than(left_open));
        if (!first_.allows(now_, after)) {
            left_ = 0;
            return false;
        }
        left_--;
        append(blocks_, place[0]);
        now_ = after;
        open_ = left_open;
        if (wish_.exclusive) {
            closed_.push_back(place[0].node);
            open_.close(place[0].node);
        }
        return true;
    }

  private:
    const Job &job_;
    const SlotWish &wish_;
    Space now_, open_;          /* what is free; and that without what is closed to the wish */
    std::vector<NodeName> closed_;
    Protected first_;
    int left_;
    Blocks blocks_;
};

/* Where its processes are, or will be, wherever they belong. */
Blocks all_of(const Job &job)
{
    return job.adaptation ? append(present(job), job.adaptation->joining) : present(job);
}

int processes_on(const Job &job, const NodeName &node)
{
    int count = 0;
    for (const Block &block : all_of(job))
        count += block.node == node ? block.processes : 0;
    return count;
}

/* What it keeps of what a back end has got for it: where processes stay, and where places are. */
Blocks kept(const Job &job)
{
    Blocks staying = job.adaptation ? without(job.blocks, job.adaptation->leave) : job.blocks;
    return append(std::move(staying), slots_of(job));
}

/* Its nodes, each once, that the wish allows. */
std::vector<NodeName> own_nodes(const State &state, const Job &job, const SlotWish &wish)
{
    std::vector<NodeName> nodes;
    for (const Block &block : state.config.asynchronous_nodes ? kept(job) : all_of(job)) {
        bool suits = wish.host.empty() || block.node == wish.host;
        if (suits && std::ranges::find(nodes, block.node) == nodes.end())
            nodes.push_back(block.node);
    }
    return nodes;
}

/* And the one that it names. */
std::vector<NodeName> nodes_for(const State &state, const Job &job, const SlotWish &wish)
{
    std::vector<NodeName> nodes = own_nodes(state, job, wish);
    bool may_be_another = !job.spec.whole_nodes && !state.config.asynchronous_nodes;
    if (!wish.host.empty() && nodes.empty() && state.node(wish.host) && may_be_another)
        nodes.push_back(state.node(wish.host)->name);
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
    bool on_own_alone = state.config.asynchronous_nodes;
    if (count <= 0 || (state.wanted_nodes > 0 && !on_own_alone) ||
        (state.indices().free_cores == 0 && !job.spec.whole_nodes))
        return {};
    PlacesFor places(state, job, wish, count);
    for (const NodeName &node : nodes_for(state, job, wish)) {
        Blocks own = {{node, processes_on(job, node)}};
        while (!places.is_closed(node) && places.open().room_within(job.spec, own) > 0 &&
               places.add(own))
            own[0].processes++;
    }
    if (on_own_alone)
        return places.blocks();
    auto is_closed = [&](const Block &block) { return places.is_closed(block.node); };
    Blocks own = append(all_of(job), places.blocks());
    std::erase_if(own, is_closed);
    while (wish.host.empty() && places.open().fits(job.spec, 1, own) && places.add(own)) {
        append(own, {places.blocks().back().node, 1});
        if (wish.exclusive)
            std::erase_if(own, is_closed);
    }
    return places.blocks();
}

int room_on_own_nodes(const State &state, const Job &job, const SlotWish &wish)
{
    int room = 0;
    const Blocks world = settled_world(job);
    for (const NodeName &name : own_nodes(state, job, wish)) {
        const Node *node = state.node(name);
        int here = node ? room_on(job.spec, node->cores, node->cores, 0) : 0;
        for (const Block &block : world)
            here -= block.node == name ? block.processes : 0;
        room += std::max(wish.exclusive ? std::min(here, 1) : here, 0);
    }
    return room;
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
