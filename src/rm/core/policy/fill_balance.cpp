/* See fill_balance.h. */

#include "core/policy/fill_balance.h"

namespace elastic::rm {

namespace {

constexpr int64_t REMAINING_PER_DURATION = 2; /* for a donor: else its end comes first (K3) */
constexpr int64_t SOONER_PERCENT = 95; /* relative to the reserved time: else that is good enough */

/* Its additional booking for them: none on whole nodes that it has. */
Shares new_shares(const State &state, const Job &job, const Blocks &joining)
{
    Shares shares = state.shares(job.spec, joining);
    if (job.spec.whole_nodes)
        std::erase_if(shares, [&](const Share &share) {
            return std::any_of(job.blocks.begin(), job.blocks.end(), [&](const Block &block) {
                return state.node(block.node) == share.node;
            });
        });
    return shares;
}

}  // namespace

void Balancing::plan()
{
    bool others = !plan_.starts.empty() || state_.wanted_nodes > 0;
    if (!plan_.first || !plan_.rules.balances() || others)
        return;
    promised_ms_ = plan_.first_reservation().time_ms();
    if (!find_members())
        return;
    std::optional<Balance> found = worthwhile(balance_);
    expect_start(found ? found->end_ms : unchanged_end_ms(balance_));
    auto is_open = [](const BalanceMember &member) { return member.low < member.high; };
    if (std::any_of(balance_.members.begin(), balance_.members.end(), is_open))
        plan_.balance = balance_;
    if (found)
        carry_out(*found);
}

void Balancing::carry_out(const Balance &found)
{
    plan_.balance_end_ms = found.end_ms;
    std::vector<std::pair<const Job *, int>> growths;
    for (size_t i = 0; i < found.sizes.size(); i++) {
        const BalanceMember &member = balance_.members[i];
        const Job &job = state_.jobs.at(member.job);
        if (found.sizes[i] == member.size)
            continue;
        plan_.balanced.insert(job.id);
        if (found.sizes[i] > member.size)
            growths.emplace_back(&job, found.sizes[i]);
        else
            plan_.give_up(job, found.sizes[i]);
    }
    for (const auto &[job, size] : growths)
        grow(*job, size);
    plan_.reservation.reset(); /* its input has changed */
}

/* In the order of their expected ends, until the first job fits. */
bool Balancing::find_members()
{
    std::vector<std::pair<int64_t, JobId>> ends;
    for (JobId id : state_.indices().allocated) {
        const Job &job = state_.jobs.at(id);
        int64_t end_ms = expected_end_ms(state_, job);
        if (job.state != JobState::COMPLETING && end_ms != NEVER)
            ends.emplace_back(end_ms, id);
    }
    std::sort(ends.begin(), ends.end());
    first_end_ms_ = ends.empty() ? NEVER : ends.front().first;
    const JobSpec &spec = plan_.first->spec;
    balance_ = {plan_.first->id, plan_.soon.total(), {}};
    GrowingCapacity capacity(plan_.soon, spec);
    for (const auto &[end_ms, id] : ends) {
        if (capacity.capacity() >= lowest(spec))
            break;
        const Job &job = state_.jobs.at(id);
        Booking own(state_.shares(job.spec, plan_.world_to_come(job)));
        capacity.give(own);
        balance_.cores += own.cores;
        balance_.members.push_back(member(job, std::max(end_ms, state_.now_ms)));
    }
    return !balance_.members.empty() && capacity.capacity() >= lowest(spec);
}

BalanceMember Balancing::member(const Job &job, int64_t end_ms) const
{
    BalanceMember member;
    member.job = job.id;
    member.spec = &job.spec;
    member.size = std::max(count_processes(plan_.world_to_come(job)), 1);
    member.work = (end_ms - state_.now_ms) * job.size();
    Unit unit = unit_of(state_, job.spec, job.blocks);
    member.unit = unit.processes;
    member.unit_cores = unit.cores;
    member.times = adaptation_times(job);
    SizeBounds bounds = range(job, member);
    member.low = bounds.low;
    member.high = bounds.high;
    return member;
}

/* No other change is planned for it, and it may be changed (Q11). */
bool Balancing::may_change(const Job &job) const
{
    bool is_free = !plan_.shrinks.contains(job.id) && !plan_.moved.contains(job.id);
    bool wished = job.wished_size > 0 || size_wished(job) > 0;
    if (!is_free || wished || !state_.indices().elastic.contains(job.id))
        return false;
    int64_t from_ms = state_.growth_from_ms(job);
    if (from_ms > state_.now_ms)
        plan_.decisions.recheck_at(from_ms);
    return from_ms <= state_.now_ms;
}

SizeBounds Balancing::range(const Job &job, const BalanceMember &member) const
{
    int size = member.size;
    SizeBounds keep{size, size};
    if (!may_change(job))
        return keep;
    SizeBounds bounds = plan_.rules.bounds(state_, job).value_or(keep);
    if (bounds.low > size || bounds.high < size) /* it must be reduced (R2) */
        return keep;
    int64_t limit_ms = job.limit_at_ms;
    bool freed_in_time = promised_ms_ == NEVER || (limit_ms != NEVER && limit_ms <= promised_ms_);
    if (!freed_in_time)
        bounds.high = size;
    /* cores from others do not help a job that lacks GPUs */
    if (needs_gpus(job.spec))
        bounds.high = std::min(bounds.high, size + plan_.soon.capacity(job.spec, present(job)));
    bounds.high = std::max(std::min(bounds.high, largest_wanted(job)), size);
    if (member.remaining_ms() <= REMAINING_PER_DURATION * member.times.duration_ms)
        bounds.low = size;
    if (limit_ms != NEVER) {
        int64_t left_ms = std::max<int64_t>(limit_ms - state_.now_ms, 1);
        int64_t least = (member.work + left_ms - 1) / left_ms;
        int low = least < size ? size_at_least(job.spec, static_cast<int>(least)) : 0;
        bounds.low = low == 0 ? size : std::min(std::max(bounds.low, low), size);
    }
    return bounds;
}

/* Backfilled jobs must leave it these cores. */
void Balancing::expect_start(int64_t in_ms)
{
    bool sooner = promised_ms_ == NEVER ||
                  in_ms * 100 < (promised_ms_ - state_.now_ms) * SOONER_PERCENT;
    if (!sooner)
        return;
    const JobSpec &spec = plan_.first->spec;
    int64_t need = int64_t{lowest(spec)} * spec.cores_per_process;
    plan_.expected = {state_.now_ms + in_ms, std::max<int64_t>(balance_.cores - need, 0),
                      first_end_ms_};
}

/* Called once: it waits while others release the cores that it needs, which stay reserved for
 * it. */
void Balancing::grow(const Job &job, int size)
{
    Blocks own = present(job);
    auto fitting = [&](const Space &space) {
        return size_at_most(job.spec, std::min(size, job.size() + space.capacity(job.spec, own)));
    };
    int later = fitting(plan_.soon), here = fitting(plan_.now);
    if (later <= job.size())
        return;
    if (here < later) {
        plan_.now.limit(plan_.soon, plan_.soon.allocate(job.spec, later - job.size(), own));
        return;
    }
    Blocks joining = plan_.now.allocate(job.spec, later - job.size(), own);
    Shares more = new_shares(state_, job, joining);
    plan_.soon.take(more);
    if (job.limit_at_ms != NEVER)
        plan_.grown.push_back({job.limit_at_ms, Booking(std::move(more))});
    Change change = plan_.to_balance(job, later, {}, std::move(joining));
    change.loaned = job.loaned > 0 ? later - job.size() : 0; /* loans are its last processes */
    plan_.decisions.changes.push_back(std::move(change));
}

}  // namespace elastic::rm
