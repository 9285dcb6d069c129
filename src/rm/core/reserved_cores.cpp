/* See reserved_cores.h. */

#include "core/reserved_cores.h"

namespace elastic::rm {

ReservedCores::ReservedCores(const State &state, const Space &begun,
                             const std::vector<const Shares *> &given, const Space &now,
                             const JobSpec &spec, int processes)
    : state_(state), then_(begun.cores_.by_position()), left_(begun.total())
{
    auto each_given = [&](auto visit) {
        for (const Shares *shares : given) {
            for (const Share &share : *shares) {
                if (begun.cores_.usable(*share.node))
                    visit(*share.node, share.cores);
            }
        }
    };
    auto reserve = [&](const Node &node, int cores) {
        take(node, cores);
        contested_.push_back(&node);
    };
    each_given([&](const Node &node, int cores) { take(node, -cores); });
    Blocks blocks;
    each_given([&](const Node &node, int) {
        int free = then_[node.position], before = std::min(free, now.cores_.free(node));
        if (processes == 0 || (spec.whole_nodes && before == node.cores))
            return;
        int capacity = capacity_on(spec, node.cores, free, 0);
        if (!spec.whole_nodes)
            capacity = std::min(capacity, (free - before) / spec.cores_per_process);
        int here = std::min(processes, capacity);
        if (here == 0)
            return;
        reserve(node, spec.whole_nodes ? node.cores : here * spec.cores_per_process);
        blocks.push_back({node.name, here});
        processes -= here;
    });
    if (processes > 0) {
        Space rest = begun;
        each_given([&](const Node &node, int) { rest.cores_.set(node, then_[node.position]); });
        /* Cores taken from a node are missing there; only a number of processes for each node
         * has to be stored. */
        Blocks own = spec.processes_per_node > 0 ? blocks : Blocks();
        for (const Space::Piece &piece : rest.choose(spec, processes, rest.usable_own(spec, own)))
            reserve(*piece.node, piece.cores);
    }
    /* A backfilled job takes the same now and then: no other node becomes contested. */
    std::erase_if(contested_, [&](const Node *node) {
        return now.cores_.free(*node) <= then_[node->position];
    });
    PositionMarks marks(then_.size());
    for (const Node *node : contested_)
        marks.add(node->position);
    contested_.clear();
    marks.each([&](uint32_t at) { contested_.push_back(&now.cores_.node(at)); });
}

void ReservedCores::take(const Node &node, int cores)
{
    then_[node.position] -= cores;
    left_ -= cores;
}

void ReservedCores::changed()
{
    losses_.clear();
    unavailable_cores_.reset();
}

int64_t ReservedCores::unavailable_cores(const Space &now)
{
    if (!unavailable_cores_) {
        unavailable_cores_ = 0;
        for (const Node *node : contested_)
            *unavailable_cores_ += std::max(now.cores_.free(*node) - then_[node->position], 0);
    }
    return *unavailable_cores_;
}

int64_t ReservedCores::unavailable_capacity(const Space &now, const JobSpec &spec)
{
    for (const Loss &loss : losses_) {
        if (loss.shape == shape_of(spec) && loss.whole_nodes == spec.whole_nodes)
            return loss.capacity;
    }
    int64_t capacity = 0;
    for (const Node *node : contested_) {
        int free = now.cores_.free(*node), less = std::min(free, then_[node->position]);
        capacity +=
            capacity_on(spec, node->cores, free, 0) - capacity_on(spec, node->cores, less, 0);
    }
    losses_.push_back({shape_of(spec), spec.whole_nodes, capacity});
    return capacity;
}

bool ReservedCores::fits(const Space &now, const JobSpec &spec, int processes)
{
    if (int64_t{processes} * spec.cores_per_process > now.total() - unavailable_cores(now))
        return false;
    return any_core_will_do(spec) ||
           now.capacity(spec) - unavailable_capacity(now, spec) >= processes;
}

Blocks ReservedCores::allocate(Space &now, const JobSpec &spec, int processes)
{
    Space beside = now;
    for (const Node *node : contested_)
        beside.cores_.set(*node, std::min(now.cores_.free(*node), then_[node->position]));
    Blocks blocks = beside.allocate(spec, processes);
    for (const Share &share : state_.shares(spec, blocks)) {
        now.cores_.set(*share.node, now.cores_.free(*share.node) - share.cores);
        take(*share.node, share.cores);
    }
    changed();
    return blocks;
}

}  // namespace elastic::rm
