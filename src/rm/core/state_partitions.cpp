/* See state.h: partitions and reservations, and their jobs. */

#include "core/state.h"

#include "core/time_limit.h"

namespace elastic::rm {

namespace {

constexpr const char *NO_NODE = "/";  /* no node has this name; an empty set would mean all nodes */

/* For a job whose partition or reservation is not in the configuration. */
std::shared_ptr<const Partition> without_nodes(const std::shared_ptr<const Partition> &partition)
{
    Partition closed = partition ? *partition : Partition();
    closed.nodes = NodeSet({NO_NODE});
    if (starts_jobs(closed))
        closed.state = PartitionState::RESERVED;
    return std::make_shared<const Partition>(std::move(closed));
}

}  // namespace

void State::set_partitions()
{
    partitions_.clear();
    reduced_.clear();
    for (const Partition &each : config.partitions)
        partitions_[each.name] = std::make_shared<const Partition>(each);
}

const Partition *State::partition(const std::string &name) const
{
    auto found = partitions_.find(name);
    return found == partitions_.end() ? nullptr : found->second.get();
}

void State::enter_partition(JobSpec &spec) const
{
    spec.in.reset();
    if (partitions_.empty())
        return;
    for (const auto &[name, each] : partitions_) {
        if (each->is_default && spec.partition.empty())
            spec.partition = name;
    }
    if (auto found = partitions_.find(spec.partition); found != partitions_.end()) {
        spec.in = found->second;
        return;
    }
    Partition missing;
    missing.name = spec.partition;
    missing.state = PartitionState::GONE;
    spec.in = std::make_shared<const Partition>(std::move(missing));
}

void State::enter(JobSpec &spec, int64_t at_ms, int64_t ends_ms) const
{
    enter_partition(spec);
    if (config.reservations.empty() && spec.reservation.empty())
        return;
    int64_t limit_ms = time_limit(*this, spec);
    if (ends_ms == NEVER)
        ends_ms = limit_ms > 0 ? at_ms + limit_ms : INT64_MAX;
    spec.in = without_reserved(spec, at_ms, ends_ms);
}

bool State::enter(Job &job, int64_t at_ms) const
{
    auto before = job.spec.in;
    enter(job.spec, at_ms, is_allocated(job.state) ? job.limit_at_ms : NEVER);
    bool is_reserved = !config.reservations.empty() || !job.spec.reservation.empty();
    const auto &now = job.spec.in;
    bool is_other = before != now && !(before && now && *before == *now);
    /* The result does not depend on when a policy calls this: the state depends on the events
     * alone. */
    if (!is_reserved)
        job.entered_ms = NEVER;
    else if (is_other || job.entered_ms == NEVER)
        job.entered_ms = at_ms;
    return is_other;
}

JobSpec State::unreserved(JobSpec spec) const
{
    const NodeReservation *own = reservation(spec.reservation);
    enter_partition(spec);
    if (own)
        spec.in = without_reserved(spec, own->from_ms, own->until_ms);
    return spec;
}

/* Its partition; with its own reservation, the nodes of both. */
std::shared_ptr<const Partition> State::without_reserved(const JobSpec &spec, int64_t at_ms,
                                                         int64_t ends_ms) const
{
    const NodeReservation *own = reservation(spec.reservation);
    bool lasts = own && own->from_ms <= at_ms && ends_ms <= own->until_ms;
    std::vector<const NodeReservation *> others;
    std::vector<std::string> key;
    for (const NodeReservation &each : config.reservations) {
        if (&each == own || each.until_ms <= at_ms || each.from_ms >= ends_ms)
            continue;
        others.push_back(&each);
        key.push_back(each.name);
    }
    if (others.empty() && spec.reservation.empty())
        return spec.in;
    if ((!own && !spec.reservation.empty()) || (spec.in && !partition(spec.partition)))
        return without_nodes(spec.in);
    key.push_back(spec.reservation + (lasts ? "+" : "-"));
    auto [known, is_new] = reduced_.try_emplace({spec.partition, key});
    if (!is_new)
        return known->second;
    std::vector<std::string> names;
    std::set<std::string> without;
    for (const auto &[name, node] : nodes) {
        NodeName number(name);
        bool is_mine = (!spec.in || has_node(*spec.in, number)) &&
                       (!own || own->nodes.empty() || own->nodes.contains(number));
        auto taken = std::ranges::find_if(others, [&](const NodeReservation *each) {
            return each->nodes.empty() || each->nodes.contains(number);
        });
        if (is_mine && taken == others.end())
            names.push_back(name);
        else if (is_mine)
            without.insert((*taken)->name);
    }
    if (without.empty() && spec.reservation.empty())
        return known->second = spec.in;
    Partition reduced = spec.in ? *spec.in : Partition();
    reduced.without.assign(without.begin(), without.end());
    bool is_closed = names.empty() || (!spec.reservation.empty() && !lasts);
    if (is_closed && starts_jobs(reduced))
        reduced.state = PartitionState::RESERVED;
    if (names.empty())
        names.push_back(NO_NODE);
    reduced.nodes = NodeSet(names);
    return known->second = std::make_shared<const Partition>(std::move(reduced));
}

const NodeReservation *State::reservation(const std::string &name) const
{
    auto found = std::ranges::find(config.reservations, name, &NodeReservation::name);
    return found == config.reservations.end() ? nullptr : &*found;
}

int64_t State::reservations_change_ms(int64_t after_ms) const
{
    int64_t next_ms = NEVER;
    for (const NodeReservation &each : config.reservations) {
        for (int64_t time_ms : {each.from_ms, each.until_ms}) {
            if (time_ms > after_ms)
                next_ms = earlier(next_ms, time_ms);
        }
    }
    return next_ms;
}

const PositionSet &State::positions(const NodeSet &of) const
{
    const FreeCores &all = free_cores();
    auto [known, is_new] = positions_.try_emplace(of);
    for (auto name = of.begin(); is_new && name != of.end(); ++name) {
        if (const Node *found = node(*name))
            known->second.insert(found->position, all.positions());
    }
    return known->second;
}

}  // namespace elastic::rm
