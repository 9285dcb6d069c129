/* See core_impl.h: places beside the worlds of running jobs, for processes that their programs
 * start one by one (SPEC DA1, DA2).
 *
 * They are booked from their grant on until the step says that it has them no more, or has ended.
 * The step tells all that it has; what is granted and not in it yet is said again.  World and
 * places together never are more than the job's maximum. */

#include "core/core_impl.h"
#include "core/placement.h"
#include "core/policy/slots.h"
#include "core/record.h"

namespace elastic::rm {

namespace {

std::map<std::string, int> count_by_node(const Blocks &blocks)
{
    std::map<std::string, int> counts;
    for (const Block &block : blocks)
        counts[block.node.str()] += block.processes;
    return counts;
}

/* What matters first: it is cut at WISH_REASON_BYTES_MAX. */
std::string describe_own_nodes(const SlotWish &wish, int room)
{
    const std::string where = wish.host.empty() ? "the nodes of the job have"
                                                : "of the job's nodes " + wish.host + " has";
    return where + " room for " + std::to_string(room) + (wish.exclusive ? " (exclusive)" : "") +
           " beside its processes, and under Slurm it gets places there alone: ask for fewer, "
           "submit it with more processes, or run it in one allocation (salloc) by elastic run or "
           "mpiexec";
}

std::vector<NodeName> exclusive_nodes(const StepSlots &event)
{
    std::vector<NodeName> nodes;
    for (const StepSlots::Held &held : event.held) {
        if (held.exclusive)
            nodes.emplace_back(held.node);
    }
    return nodes;
}

/* Nodes on which nothing of the job is any more. */
Blocks left_nodes(const Job &job, const Blocks &before)
{
    Blocks now = present(job), left;
    if (job.adaptation)
        now = append(std::move(now), job.adaptation->joining);
    for (const Block &block : before) {
        if (std::ranges::find(now, block.node, &Block::node) == now.end())
            append(left, block);
    }
    return left;
}

std::string describe_too_few(int places, int nodes)
{
    return std::to_string(places) + " places that are each to have a node for themselves " +
           "(exclusive) need as many nodes, and there are " + std::to_string(nodes);
}

bool is_same(const SlotWish &known, const SlotWish &told)
{
    return known.number == told.number && known.count == told.count;
}

}  // namespace

/* Empty, or what of it cannot be: it would hold what it was not given. */
std::string check(const Slots &known, const StepSlots &event)
{
    if (event.granted > known.granted)
        return "it has grants that were not given";
    std::map<std::string, int> most = count_by_node(known.held);
    for (const SlotGrant &grant : known.grants) {
        if (grant.number > event.granted)
            break;
        for (const auto &[node, places] : count_by_node(grant.blocks))
            most[node] += places;
    }
    for (const StepSlots::Held &held : event.held) {
        if (held.places < 1 || (most[held.node] -= held.places) < 0)
            return "it holds more places on " + held.node + " than it was given";
    }
    uint64_t last = 0;
    for (const SlotWish &wish : event.wishes) {
        if (wish.number <= last || wish.count < 1 || wish.count > static_cast<int>(SLOTS_MAX))
            return "its wishes are none";
        last = wish.number;
    }
    bool bounded = event.mpiexec.size() <= WISH_MPIEXEC_BYTES_MAX &&
                   event.held.size() <= SLOTS_MAX && event.wishes.size() <= SLOTS_MAX;
    return bounded ? "" : "it is too much";
}

bool tells_new(const Slots &known, const StepSlots &event)
{
    if (event.mpiexec == known.mpiexec && event.told < known.told)
        return false;
    if (event.over)
        return event.mpiexec == known.mpiexec;
    bool waits = !known.grants.empty() ||
                 std::ranges::any_of(known.wishes,
                                     [](const SlotWish &wish) { return !wish.refused.empty(); });
    std::map<std::string, int> held;
    for (const StepSlots::Held &each : event.held)
        held[each.node] += each.places;
    return waits || event.mpiexec != known.mpiexec || held != count_by_node(known.held) ||
           exclusive_nodes(event) != known.exclusive ||
           !std::ranges::equal(known.wishes, event.wishes, is_same);
}

void Core::Impl::on(const StepSlots &event)
{
    Job *job = job_of_running(event);
    if (!job || !job->broken.empty())
        return;
    bool known = job->slots && job->slots->mpiexec == event.mpiexec;
    if (event.over && known) {
        const Blocks had = present(*job);
        forget_slots(*job, "mpiexec has ended");
        release_left(*job, had);
    }
    if (event.over)
        return;
    if (!known && event.held.empty() && event.wishes.empty() && !job->slots)
        return;
    if (known && !tells_new(*job->slots, event))
        return;
    const Blocks had = present(*job);
    Slots before = known ? *job->slots : Slots();
    if (std::string why = check(before, event); !why.empty())
        return unexpected("step_slots: " + why, job->id);
    if (!known)
        forget_slots(*job, "another mpiexec of the step has begun");
    take_slots(*job, event);
    release_left(*job, had);
    look_at_slots(*job);
}

/* A node that places alone have kept goes back as one does that processes have left. */
void Core::Impl::release_left(Job &job, const Blocks &before)
{
    Blocks left = state.config.asynchronous_nodes ? left_nodes(job, before) : Blocks();
    if (left.empty())
        return;
    uint64_t number = uint64_t{1} << 51;        /* apart from those of requests, and of left() */
    while (std::ranges::find(job.departures, number, &Departure::request) != job.departures.end())
        number++;
    rebook(job, [&] {
        job.departures.push_back({number, 0, left, true});
        wait_for_departures(job);
    });
    out_.push_back(release(job, job.departures.back()));
}

void Core::Impl::take_slots(Job &job, const StepSlots &event)
{
    Slots now = job.slots.value_or(Slots());
    int had = count_processes(now.held);
    now.mpiexec = event.mpiexec;
    now.told = event.told;
    for (const SlotGrant &grant : now.grants) {
        if (grant.number <= event.granted)
            had += count_processes(grant.blocks);
    }
    std::erase_if(now.grants, [&](const SlotGrant &each) { return each.number <= event.granted; });
    now.held.clear();
    for (const StepSlots::Held &held : event.held)
        append(now.held, {held.node, held.places});
    now.exclusive = exclusive_nodes(event);
    std::vector<SlotWish> wishes = event.wishes;
    for (SlotWish &wish : wishes) {
        auto known = std::ranges::find(now.wishes, wish.number, &SlotWish::number);
        bool is_new = known == now.wishes.end();
        wish.since_ms = is_new ? state.now_ms : known->since_ms;
        wish.refused = is_new ? "" : known->refused;
        if (is_new)
            record(record::WISHED, job, {{"step", job.step},
                                         {"wish", wish.number},
                                         {"kind", to_string(WishKind::SLOTS)},
                                         {"count", wish.count},
                                         {"hard", wish.hard},
                                         {"host", wish.host},
                                         {"exclusive", wish.exclusive}});
    }
    std::swap(now.wishes, wishes);
    int have = count_processes(now.held);
    rebook(job, [&] { job.slots = now; });
    for (const SlotWish &wish : wishes) {
        if (std::ranges::find(now.wishes, wish.number, &SlotWish::number) == now.wishes.end())
            end_slot_wish(job, wish.number, wish.refused.empty() ? "over" : "refused",
                          wish.refused);
    }
    if (have < had)
        record(record::SLOTS_RELEASED, job,
               {{"step", job.step}, {"places", have}, {"released", had - have}});
}

/* `over`: it has got its places, or wants them no more. */
void Core::Impl::end_slot_wish(const Job &job, uint64_t number, const std::string &result,
                               const std::string &reason)
{
    record(record::WISH_ENDED, job, {{"step", job.step},
                                     {"wish", number},
                                     {"kind", to_string(WishKind::SLOTS)},
                                     {"result", result},
                                     {"reason", reason}});
}

/* Empty: it may wait. */
std::string Core::Impl::why_never(const Job &job, const SlotWish &wish) const
{
    const int most = most_slots(job),
              nodes = wish.host.empty() ? static_cast<int>(state.nodes.size()) : 1;
    if (!wish.host.empty() && !state.node(wish.host))
        return "there is no node " + wish.host;
    if (wish.hard && wish.count > most)
        return "the job " + describe_sizes(job.spec) + ": beside its processes there is room for " +
               std::to_string(most);
    if (wish.hard && wish.exclusive && wish.count > nodes)
        return describe_too_few(wish.count, nodes);
    if (wish.hard && state.config.asynchronous_nodes) {
        int room = room_on_own_nodes(state, job, wish);
        return wish.count > room ? describe_own_nodes(wish, room) : "";
    }
    return "";
}

/* What can never be is refused, also when the limits of the job have changed; and what the step has
 * not heard of is said again. */
void Core::Impl::look_at_slots(Job &job)
{
    if (!job.slots)
        return;
    for (const SlotWish &wish : std::vector<SlotWish>(job.slots->wishes)) {
        if (!wish.refused.empty())
            out_.push_back(
                RefuseWish{job.id, job.step, job.slots->mpiexec, wish.number, wish.refused});
        else if (std::string why = why_never(job, wish); !why.empty())
            refuse_slots(job, wish.number, why);
    }
    for (const SlotGrant &grant : job.slots->grants)
        out_.push_back(grant_slots(job, grant));
}

void Core::Impl::refuse_slots(Job &job, uint64_t number, const std::string &why)
{
    update(job, [&] {
        std::ranges::find(job.slots->wishes, number, &SlotWish::number)->refused = why;
    });
    out_.push_back(RefuseWish{job.id, job.step, job.slots->mpiexec, number, why});
}

GrantSlots Core::Impl::grant_slots(const Job &job, const SlotGrant &grant)
{
    return {job.id, job.step, job.slots->mpiexec, grant.wish, grant.number, grant.blocks};
}

/* To whom asked first; who does not wait takes what there is now. */
void Core::Impl::give_slots()
{
    for (const SlotTurn &turn : slot_turns(state)) {
        Job &job = state.jobs.change(turn.job);
        const SlotWish &wish =
            *std::ranges::find(job.slots->wishes, turn.wish, &SlotWish::number);
        int64_t most = cores_left(job.spec.uid) / job.spec.cores_per_process;
        Blocks blocks = places_for(state, job, wish, most);
        if (!blocks.empty()) {
            rebook(job, [&] {
                job.slots->grants.push_back(
                    {++job.slots->granted, turn.wish, blocks, wish.exclusive});
            });
            const SlotGrant &grant = job.slots->grants.back();
            auto data = [&]() -> Json {
                return {{"step", job.step}, {"wish", grant.wish}, {"grant", grant.number}};
            };
            record(record::SLOTS_GRANTED, job, data, "blocks", grant.blocks);
            out_.push_back(grant_slots(job, grant));
        } else if (!wish.hard) {
            refuse_slots(job, turn.wish, "no more places can be had now");
        }
    }
}

/* The step is over, or another mpiexec has begun: nothing of it runs any more. */
void Core::Impl::forget_slots(Job &job, const std::string &reason)
{
    if (!job.slots)
        return;
    for (const SlotWish &wish : job.slots->wishes)
        end_slot_wish(job, wish.number, "withdrawn", reason);
    rebook(job, [&] { job.slots.reset(); });
}

/* All that it may have stays its own until it ends. */
void Core::Impl::forget_slot_wishes(Job &job, const std::string &reason)
{
    if (!job.slots)
        return;
    for (const SlotWish &wish : job.slots->wishes)
        end_slot_wish(job, wish.number, "withdrawn", reason);
    update(job, [&] { job.slots->wishes.clear(); });
}

}  // namespace elastic::rm
