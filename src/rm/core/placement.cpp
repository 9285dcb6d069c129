/* See placement.h. */

#include "core/placement.h"

#include <cassert>

namespace elastic::rm {

Space::Space(const State &state)
{
    slots_.reserve(state.nodes.size());
    for (const auto &[name, node] : state.nodes)
        slots_.push_back({&node, node.free(), node.state() == NodeState::UP});
    total_ = state.indices().free_cores;
}

Space Space::empty(const State &state, bool up_only)
{
    Space space;
    for (const auto &[name, node] : state.nodes) {
        bool usable = !node.removed && (!up_only || node.state() == NodeState::UP);
        space.slots_.push_back({&node, usable ? node.cores : 0, usable});
        space.total_ += usable ? node.cores : 0;
    }
    return space;
}

int Space::room(const Slot &slot, const JobSpec &spec, int own) const
{
    if (!slot.usable)
        return 0;
    int room = slot.free / spec.cores_per_process;
    if (spec.whole_nodes && own > 0)
        room = slot.node->cores / spec.cores_per_process - own;
    else if (spec.whole_nodes && slot.free < slot.node->cores)
        room = 0;
    if (spec.processes_per_node > 0)
        room = std::min(room, spec.processes_per_node - own);
    return std::max(room, 0);
}

/* What placing them takes from the slot. */
int Space::cores_for(const Slot &slot, const JobSpec &spec, int processes, int own) const
{
    if (!spec.whole_nodes)
        return processes * spec.cores_per_process;
    return own > 0 ? 0 : slot.node->cores;
}

std::vector<int> Space::processes_on(const Blocks &own) const
{
    std::vector<int> processes(slots_.size());
    for (const Block &block : own) {
        const Slot *slot = const_cast<Space *>(this)->find(block.node);
        if (slot)
            processes[static_cast<size_t>(slot - slots_.data())] += block.processes;
    }
    return processes;
}

Space::Slot *Space::find(const std::string &node)
{
    NaturalLess less;
    auto found = std::lower_bound(
        slots_.begin(), slots_.end(), node,
        [&](const Slot &slot, const std::string &name) { return less(slot.node->name, name); });
    return found != slots_.end() && found->node->name == node ? &*found : nullptr;
}

int Space::room(const JobSpec &spec, const Blocks &own) const
{
    int64_t room_all = 0;
    if (own.empty()) {
        for (const Slot &slot : slots_)
            room_all += room(slot, spec, 0);
    } else {
        std::vector<int> processes = processes_on(own);
        for (size_t i = 0; i < slots_.size(); i++)
            room_all += room(slots_[i], spec, processes[i]);
    }
    return static_cast<int>(std::min<int64_t>(room_all, std::numeric_limits<int>::max()));
}

int Space::room_within(const JobSpec &spec, const Blocks &own) const
{
    std::vector<int> processes = processes_on(own);
    int64_t room_all = 0;
    for (size_t i = 0; i < slots_.size(); i++)
        room_all += processes[i] > 0 ? room(slots_[i], spec, processes[i]) : 0;
    return static_cast<int>(std::min<int64_t>(room_all, std::numeric_limits<int>::max()));
}

bool Space::fits(const JobSpec &spec, int processes, const Blocks &own) const
{
    /* Only a job that fills up its own whole nodes needs no free core. */
    bool own_nodes = spec.whole_nodes && !own.empty();
    if (!own_nodes && int64_t{processes} * spec.cores_per_process > total_)
        return false;
    bool any_core_will_do = spec.cores_per_process == 1 && spec.processes_per_node == 0 &&
                            !spec.whole_nodes;
    return any_core_will_do || room(spec, own) >= processes;
}

Blocks Space::place(const JobSpec &spec, int processes, const Blocks &own)
{
    struct Candidate {
        size_t slot;
        int room, own;
    };
    std::vector<int> present = processes_on(own);
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < slots_.size(); i++) {
        if (int room_here = room(slots_[i], spec, present[i]))
            candidates.push_back({i, room_here, present[i]});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate &a, const Candidate &b) {
                         return std::pair(a.own > 0, a.room) > std::pair(b.own > 0, b.room);
                     });
    Blocks blocks;
    for (auto next = candidates.begin(); processes > 0; ++next) {
        assert(next != candidates.end());
        /* Own nodes are first; of the others, the last one that is needed is the one that fits
         * best. */
        if (next->own == 0 && next->room >= processes) {
            auto best = next;
            for (auto each = next; each != candidates.end() && each->room >= processes; ++each)
                best = each->room < best->room ? each : best;
            next = best;
        }
        Slot &slot = slots_[next->slot];
        int here = std::min(processes, next->room);
        int cores = cores_for(slot, spec, here, next->own);
        slot.free -= cores;
        total_ -= cores;
        processes -= here;
        blocks.push_back({slot.node->name, here});
    }
    return blocks;
}

void Space::take(const std::vector<Share> &shares)
{
    for (const Share &share : shares) {
        Slot *slot = find(*share.node);
        if (!slot || !slot->usable)
            continue;
        slot->free -= share.cores;
        total_ -= share.cores;
    }
}

void Space::give(const std::vector<Share> &shares)
{
    for (const Share &share : shares) {
        Slot *slot = find(*share.node);
        if (!slot || !slot->usable)
            continue;
        slot->free += share.cores;
        total_ += share.cores;
    }
}

int Space::give(const std::vector<Share> &shares, const JobSpec &spec)
{
    int more = 0;
    for (const Share &share : shares) {
        Slot *slot = find(*share.node);
        if (!slot || !slot->usable)
            continue;
        more -= room(*slot, spec, 0);
        slot->free += share.cores;
        total_ += share.cores;
        more += room(*slot, spec, 0);
    }
    return more;
}

void Space::limit(const Space &other)
{
    assert(slots_.size() == other.slots_.size());
    total_ = 0;
    for (size_t i = 0; i < slots_.size(); i++) {
        slots_[i].free = std::min(slots_[i].free, other.slots_[i].free);
        total_ += std::max(slots_[i].free, 0);
    }
}

Blocks append(Blocks first, const Blocks &second)
{
    for (const Block &block : second) {
        if (!first.empty() && first.back().node == block.node)
            first.back().processes += block.processes;
        else
            first.push_back(block);
    }
    return first;
}

Blocks without(const Blocks &blocks, const std::vector<int> &leave, Blocks *left)
{
    Blocks staying;
    auto next = leave.begin();
    int rank = 0;
    for (const Block &block : blocks) {
        int end = rank + block.processes;
        auto last = std::lower_bound(next, leave.end(), end);
        int leaving = static_cast<int>(last - next);
        if (leaving < block.processes)
            staying = append(std::move(staying), {{block.node, block.processes - leaving}});
        if (leaving > 0 && left)
            *left = append(std::move(*left), {{block.node, leaving}});
        next = last;
        rank = end;
    }
    return staying;
}

std::vector<int> choose_leaving(const State &state, const Blocks &blocks, int count)
{
    std::vector<int> leave;
    auto choose = [&](bool from_up_nodes) {
        int end = count_processes(blocks);
        for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
            const Node *node = state.node(block->node);
            bool up = node && node->state() == NodeState::UP;
            for (int i = 1; i <= block->processes && up == from_up_nodes; i++) {
                if (static_cast<int>(leave.size()) == count)
                    return;
                leave.push_back(end - i);
            }
            end -= block->processes;
        }
    };
    choose(false);
    choose(true);
    std::sort(leave.begin(), leave.end());
    return leave;
}

}  // namespace elastic::rm
