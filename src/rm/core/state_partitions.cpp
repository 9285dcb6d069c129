/* See state.h: partitions, and who is in which. */

#include "core/state.h"

namespace elastic::rm {

void State::set_partitions()
{
    partitions_.clear();
    for (const Partition &each : config.partitions)
        partitions_[each.name] = std::make_shared<const Partition>(each);
}

const Partition *State::partition(const std::string &name) const
{
    auto found = partitions_.find(name);
    return found == partitions_.end() ? nullptr : found->second.get();
}

void State::enter(JobSpec &spec) const
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
