/* See reserved_cores.h. */

#include "core/reserved_cores.h"

namespace elastic::rm {

namespace {

/* The shares on usable nodes. */
template <class Visit>
void each_given(const FreeCores &cores, const std::vector<const Shares *> &given, Visit visit)
{
    for (const Shares *shares : given) {
        for (const Share &share : *shares) {
            if (cores.usable(*share.node))
                visit(share);
        }
    }
}

}  // namespace

ReservedCores::ReservedCores(const State &state, const Space &begun,
                             const std::vector<const Shares *> &given, const Space &now,
                             const JobSpec &spec, int processes,
                             const std::vector<const Shares *> &unlimited)
    : state_(state), then_(begun.cores_.by_position()), gpus_then_(begun.cores_.gpus_by_position()),
      left_(begun.total())
{
    each_given(begun.cores_, given,
               [&](const Share &share) { take(*share.node, -share.cores, -share.gpus); });
    if (any_node_will_do(spec)) {
        reserve_given(begun, given, now, spec, processes);
    } else {
        Space then = begun;
        for (const auto *all : {&given, &unlimited}) {
            for (const Shares *shares : *all)
                then.give(*shares);
        }
        reserve_chosen(std::move(then), spec, processes);
    }
    /* A backfilled job uses the same cores at both times: no other node becomes contested. */
    std::erase_if(contested_, [&](const Node *node) {
        return now.cores_.free(*node) <= cores_then(*node) &&
               now.cores_.gpus(*node) <= gpus_then(*node);
    });
    PositionMarks marks(then_.size());
    for (const Node *node : contested_)
        marks.add(node->position);
    contested_.clear();
    marks.each([&](uint32_t at) { contested_.push_back(&now.cores_.node(at)); });
}

void ReservedCores::reserve(const Node &node, int cores, int gpus)
{
    take(node, cores, gpus);
    contested_.push_back(&node);
}

void ReservedCores::reserve_given(const Space &begun, const std::vector<const Shares *> &given,
                                  const Space &now, const JobSpec &spec, int processes)
{
    Blocks blocks;
    each_given(begun.cores_, given, [&](const Share &share) {
        const Node &node = *share.node;
        int free = then_[node.position], before = std::min(free, now.cores_.free(node));
        if (processes == 0 || (spec.whole_nodes && before == node.cores))
            return;
        int capacity = capacity_on(spec, node.cores, free, 0);
        if (!spec.whole_nodes)
            capacity = std::min(capacity, (free - before) / spec.cores_per_process);
        int here = std::min(processes, capacity);
        if (here == 0)
            return;
        reserve(node, spec.whole_nodes ? node.cores : here * spec.cores_per_process, 0);
        blocks.push_back({node.name, here});
        processes -= here;
    });
    if (processes == 0)
        return;
    Space rest = begun;
    each_given(begun.cores_, given, [&](const Share &share) {
        rest.cores_.set(*share.node, then_[share.node->position]);
    });
    /* Cores taken from a node are missing there; only a number of processes for each node must
     * be stored. */
    Blocks own = spec.processes_per_node > 0 ? blocks : Blocks();
    for (const Space::Piece &piece : rest.choose(spec, processes, rest.usable_own(spec, own)))
        reserve(*piece.node, piece.cores, 0);
}

/* A job that names nodes or needs GPUs gets the nodes that it would then get if it were alone. */
void ReservedCores::reserve_chosen(Space then, const JobSpec &spec, int processes)
{
    for (const Share &share : state_.shares(spec, then.allocate(spec, processes)))
        reserve(*share.node, share.cores, share.gpus);
}

void ReservedCores::take(const Node &node, int cores, int gpus)
{
    then_[node.position] -= cores;
    left_ -= cores;
    if (gpus != 0)
        gpus_then_[node.position] -= gpus;
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
            *unavailable_cores_ += std::max(now.cores_.free(*node) - cores_then(*node), 0);
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
        int free = now.cores_.free(*node), less = std::min(free, cores_then(*node));
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
    if (!any_node_will_do(spec))
        return beside(now).capacity(spec) >= processes;
    return any_core_will_do(spec) ||
           now.capacity(spec) - unavailable_capacity(now, spec) >= processes;
}

Space ReservedCores::beside(const Space &now) const
{
    Space beside = now;
    for (const Node *node : contested_) {
        beside.cores_.set(*node, std::min(now.cores_.free(*node), cores_then(*node)));
        beside.cores_.set_gpus(*node, std::min(now.cores_.gpus(*node), gpus_then(*node)));
    }
    return beside;
}

Blocks ReservedCores::allocate(Space &now, const JobSpec &spec, int processes)
{
    Blocks blocks = beside(now).allocate(spec, processes);
    for (const Share &share : state_.shares(spec, blocks)) {
        now.add(share, -1);
        take(*share.node, share.cores, share.gpus);
    }
    changed();
    return blocks;
}

}  // namespace elastic::rm
