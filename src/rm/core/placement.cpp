/* See placement.h. */

#include "core/placement.h"

#include <cassert>

#include "core/node_number.h"
#include "core/position_ranks.h"

namespace elastic::rm {

int capacity_on(const JobSpec &spec, int cores, int free, int own)
{
    int capacity = free / spec.cores_per_process;
    if (spec.whole_nodes && own > 0)
        capacity = cores / spec.cores_per_process - own;
    else if (spec.whole_nodes && free < cores)
        capacity = 0;
    if (spec.processes_per_node > 0)
        capacity = std::min(capacity, spec.processes_per_node - own);
    return std::max(capacity, 0);
}

bool any_core_will_do(const JobSpec &spec)
{
    return spec.cores_per_process == 1 && spec.processes_per_node == 0 && !spec.whole_nodes &&
           any_node_will_do(spec);
}

bool any_node_will_do(const JobSpec &spec)
{
    return spec.nodelist.empty() && spec.exclude.empty() && spec.nodes == 0 && !needs_gpus(spec) &&
           (!spec.in || spec.in->nodes.empty());
}

JoiningSpec::JoiningSpec(const JobSpec &spec) : spec_(spec)
{
    if (spec.nodelist.empty() && spec.nodes == 0)
        return;
    copy_.emplace(spec).nodelist = NodeSet();
    copy_->nodes = 0;
}

namespace {

/* Groups of nodes with equal capacity for such a job. */
struct Tier {
    int capacity;
    std::vector<const PositionSet *> sets;
};

/* Number of these nodes; if `within` is set, of those that are also in it. */
int size_of(const PositionSet &nodes, const PositionSet *within)
{
    return within ? nodes.size(*within) : nodes.size();
}
uint32_t next_of(const PositionSet &nodes, uint32_t from, const PositionSet *within)
{
    return within ? nodes.next(from, *within) : nodes.next(from);
}
uint32_t next_of(const Tier &tier, uint32_t from, const PositionSet *within)
{
    uint32_t first = PositionSet::NONE;
    for (const PositionSet *set : tier.sets)
        first = std::min(first, next_of(*set, from, within));
    return first;
}

/* Calls back for the groups with capacity for such a job. */
template <class Visit> void each_group(const FreeCores &cores, const JobSpec &spec, Visit visit)
{
    auto look = [&](const FreeCores::Group &group) {
        if (group.nodes.size() == 0)
            return;
        if (int capacity = capacity_on(spec, group.cores, group.free, 0))
            visit(group, capacity);
    };
    if (spec.whole_nodes) {
        for (uint32_t index : cores.idle_groups())
            look(cores.groups()[index]);
    } else {
        for (const FreeCores::Group &group : cores.groups())
            look(group);
    }
}

/* The greatest capacity first. */
std::vector<Tier> tiers(const FreeCores &cores, const JobSpec &spec)
{
    std::map<int, Tier, std::greater<>> by_capacity;
    each_group(cores, spec, [&](const FreeCores::Group &group, int capacity) {
        Tier &tier = by_capacity[capacity];
        tier.capacity = capacity;
        tier.sets.push_back(&group.nodes);
    });
    std::vector<Tier> all;
    for (auto &[capacity, tier] : by_capacity)
        all.push_back(std::move(tier));
    return all;
}

}  // namespace

/* The job's own nodes that are up, in the order of their names. */
std::vector<Space::Own> Space::usable_own(const JobSpec &spec, const Blocks &own) const
{
    std::vector<Own> nodes;
    nodes.reserve(own.size());
    for (const Block &block : own) {
        const Node *node = state_->node(block.node);
        if (node && cores_.usable(*node))
            nodes.push_back({node, block.processes, 0});
    }
    bool in_order = true;       /* and each only once */
    for (size_t i = 1; i < nodes.size(); i++)
        in_order = in_order && nodes[i - 1].node->position < nodes[i].node->position;
    if (!in_order) {
        PositionRanks ranks(cores_.positions());
        for (const Own &each : nodes)
            ranks.mark(each.node->position);
        std::vector<Own> ordered(ranks.count());
        for (const Own &each : nodes) {
            Own &sum = ordered[ranks.rank(each.node->position)];
            sum.node = each.node;
            sum.processes += each.processes;
        }
        nodes = std::move(ordered);
    }
    for (Own &each : nodes)
        each.capacity = capacity_here(spec, *each.node, each.processes);
    return nodes;
}

int Space::capacity_here(const JobSpec &spec, const Node &node, int own) const
{
    if (!may_use(spec, node.name))
        return 0;
    int capacity = capacity_on(spec, node.cores, cores_.free(node), own);
    int gpus = cores_.gpus(node) - (own > 0 ? 0 : spec.gpus_per_node);
    if (gpus < 0)
        return 0;
    if (spec.gpus_per_process > 0)
        capacity = std::min(capacity, gpus / spec.gpus_per_process);
    return capacity;
}

template <class Visit> void Space::each_capacity(const JobSpec &spec, Visit visit) const
{
    if (needs_gpus(spec)) {
        for (uint32_t position : cores_.gpu_nodes())
            visit(capacity_here(spec, cores_.node(position), 0), 1);
        return;
    }
    const PositionSet *within = positions_of_partition(spec);
    each_group(cores_, spec, [&](const FreeCores::Group &group, int capacity) {
        visit(capacity, size_of(group.nodes, within));
    });
    for (const NodeName &name : spec.exclude) {
        const Node *node = state_->node(name);
        if (node && cores_.usable(*node) && (!spec.in || has_node(*spec.in, name)))
            visit(capacity_on(spec, node->cores, cores_.free(*node), 0), -1);
    }
}

int64_t Space::capacity_of_all(const JobSpec &spec) const
{
    int64_t all = 0;
    each_capacity(spec, [&](int capacity, int nodes) { all += int64_t{capacity} * nodes; });
    return all;
}

/* For a new job with a number of nodes; each of its listed ones has capacity. */
int64_t Space::capacity_of_number(const JobSpec &spec) const
{
    CapacityOfNodes all(spec.nodes);
    each_capacity(spec, [&](int capacity, int nodes) { all.add(capacity, nodes); });
    for (const NodeName &name : spec.nodelist)
        all.require(capacity_here(spec, *state_->node(name), 0));
    return all.sum();
}

/* Listed nodes count no more than others: a job that grows need not be on them. */
Space::Resources Space::resources(const JobSpec &spec) const
{
    Resources all;
    if (needs_gpus(spec)) {
        for (uint32_t position : cores_.gpu_nodes()) {
            const Node &node = cores_.node(position);
            int gpus = may_use(spec, node.name) ? cores_.gpus(node) : 0;
            all.gpus += gpus;
            all.cores += gpus > 0 ? cores_.free(node) : 0;
        }
        return all;
    }
    const PositionSet *within = positions_of_partition(spec);
    for (const FreeCores::Group &group : cores_.groups())
        all.cores += int64_t{group.free} * size_of(group.nodes, within);
    for (const NodeName &name : spec.exclude) {
        const Node *node = state_->node(name);
        if (node && cores_.usable(*node) && (!spec.in || has_node(*spec.in, name)))
            all.cores -= cores_.free(*node);
    }
    return all;
}

const PositionSet *Space::positions_of_partition(const JobSpec &spec) const
{
    const NodeSet &nodes = nodes_of_partition(spec);
    return nodes.empty() ? nullptr : &state_->positions(nodes);
}

/* Whether each listed node has capacity. */
bool Space::has_listed(const JobSpec &spec) const
{
    return std::ranges::all_of(spec.nodelist, [&](const NodeName &name) {
        const Node *node = state_->node(name);
        return node && cores_.usable(*node) && capacity_here(spec, *node, 0) > 0;
    });
}

int Space::capacity(const JobSpec &spec, const Blocks &own) const
{
    if (own.empty() && !has_listed(spec))
        return 0;
    if (own.empty() && spec.nodes > 0)
        return within_int(capacity_of_number(spec));
    int64_t all = capacity_of_all(spec);
    for (const Own &each : usable_own(spec, own))
        all += each.capacity - capacity_here(spec, *each.node, 0);
    return within_int(all);
}

int Space::nodes_for(const JobSpec &spec, int processes) const
{
    int64_t all = 0;
    each_capacity(spec, [&](int capacity, int nodes) { all += capacity >= processes ? nodes : 0; });
    return within_int(all);
}

int Space::capacity_within(const JobSpec &spec, const Blocks &own) const
{
    int64_t all = 0;
    for (const Own &each : usable_own(spec, own))
        all += each.capacity;
    return within_int(all);
}

bool Space::fits(const JobSpec &spec, int processes, const Blocks &own) const
{
    /* Only a job that fills up its own whole nodes needs no free core. */
    bool own_nodes = spec.whole_nodes && !own.empty();
    if (!own_nodes && int64_t{processes} * spec.cores_per_process > total())
        return false;
    return any_core_will_do(spec) || capacity(spec, own) >= processes;
}

/* Own nodes come first, then nodes with the greatest capacity. */
std::vector<Space::Piece> Space::choose(const JobSpec &spec, int processes,
                                        const std::vector<Own> &own) const
{
    auto cores = [&](int here) { return spec.whole_nodes ? 0 : here * spec.cores_per_process; };
    auto roomiest = std::max_element(own.begin(), own.end(), [](const Own &a, const Own &b) {
        return a.capacity < b.capacity;
    });
    if (processes > 0 && roomiest != own.end() && roomiest->capacity >= processes)
        return {{roomiest->node, processes, cores(processes), spec.gpus_per_process * processes}};
    std::vector<Own> order;
    std::copy_if(own.begin(), own.end(), std::back_inserter(order),
                 [](const Own &each) { return each.capacity > 0; });
    std::stable_sort(order.begin(), order.end(),
                     [](const Own &a, const Own &b) { return a.capacity > b.capacity; });
    std::vector<Piece> pieces;
    for (const Own &each : order) {
        if (processes == 0)
            break;
        int here = std::min(processes, each.capacity);
        pieces.push_back({each.node, here, cores(here), spec.gpus_per_process * here});
        processes -= here;
    }
    choose_others(spec, processes, own, pieces);
    return pieces;
}

void Space::choose_others(const JobSpec &spec, int processes, const std::vector<Own> &own,
                          std::vector<Piece> &pieces) const
{
    if (processes == 0)
        return;
    if (needs_gpus(spec))
        return choose_with_gpus(spec, processes, own, pieces);
    bool all_equal = !cores_.has_gpus();
    processes = choose_among(all_equal ? Nodes::ALL : Nodes::WITHOUT_GPUS, spec, processes, own,
                             pieces);
    if (processes > 0 && !all_equal)
        processes = choose_among(Nodes::WITH_GPUS, spec, processes, own, pieces);
    assert(processes == 0);
}

/* Nodes are filled in the order of falling capacity; the last one is the best fit.  Returns the
 * number of processes that do not fit on these nodes. */
int Space::choose_among(Nodes which, const JobSpec &spec, int processes,
                        const std::vector<Own> &own, std::vector<Piece> &pieces) const
{
    auto is_own = [&](uint32_t position) {
        auto found = std::lower_bound(
            own.begin(), own.end(), position,
            [](const Own &each, uint32_t at) { return each.node->position < at; });
        return found != own.end() && found->node->position == position;
    };
    auto is_closed = [&](uint32_t position) {
        bool is_other = which != Nodes::ALL &&
            (which == Nodes::WITH_GPUS) != (cores_.node(position).gpus > 0);
        return is_other || is_own(position) ||
            (!spec.exclude.empty() && spec.exclude.contains(cores_.node(position).name));
    };
    const PositionSet *within = positions_of_partition(spec);
    auto next = [&](const auto &nodes, uint32_t from) {
        uint32_t position = next_of(nodes, from, within);
        while (position != PositionSet::NONE && is_closed(position))
            position = next_of(nodes, position + 1, within);
        return position;
    };
    auto put = [&](uint32_t position, int here) {
        int cores = spec.whole_nodes ? cores_.cores(position) : here * spec.cores_per_process;
        pieces.push_back({&cores_.node(position), here, cores});
        processes -= here;
    };
    /* Usually one node suffices: the one that fits best. */
    std::pair best(std::numeric_limits<int>::max(), PositionSet::NONE);
    each_group(cores_, spec, [&](const FreeCores::Group &group, int capacity) {
        if (capacity < processes || capacity > best.first)
            return;
        if (uint32_t at = next(group.nodes, 0); at != PositionSet::NONE)
            best = std::min(best, std::pair(capacity, at));
    });
    if (best.second != PositionSet::NONE) {
        put(best.second, processes);
        return 0;
    }
    std::vector<Tier> all = tiers(cores_, spec);
    for (auto tier = all.begin(); processes > 0 && tier != all.end(); ++tier) {
        uint32_t at = next(*tier, 0);
        for (; at != PositionSet::NONE && tier->capacity < processes; at = next(*tier, at + 1))
            put(at, tier->capacity);
        if (at == PositionSet::NONE || processes == 0)
            continue;
        /* The rest fits on this node, and perhaps on later ones. */
        for (auto smaller = std::next(tier); smaller != all.end() && smaller->capacity >= processes;
             ++smaller) {
            uint32_t better = next(*smaller, 0);
            at = better == PositionSet::NONE ? at : better;
        }
        put(at, processes);
    }
    return processes;
}

/* Like choose_others, for nodes with GPUs: their capacity is not ordered. */
void Space::choose_with_gpus(const JobSpec &spec, int processes, const std::vector<Own> &own,
                             std::vector<Piece> &pieces) const
{
    std::vector<std::pair<int, uint32_t>> open;         /* capacity, negative, and position */
    for (uint32_t position : cores_.gpu_nodes()) {
        const Node &node = cores_.node(position);
        bool is_own = std::ranges::find(own, &node, &Own::node) != own.end();
        if (int capacity = is_own ? 0 : capacity_here(spec, node, 0); capacity > 0)
            open.emplace_back(-capacity, position);
    }
    std::ranges::sort(open);
    for (auto next = open.begin(); processes > 0; ++next) {
        for (auto each = next; each != open.end() && -each->first >= processes; ++each)
            next = each->first > next->first ? each : next;
        assert(next != open.end());
        const Node &node = cores_.node(next->second);
        int here = std::min(processes, -next->first);
        pieces.push_back({&node, here,
                          spec.whole_nodes ? node.cores : here * spec.cores_per_process,
                          gpus_on_node(spec, here)});
        processes -= here;
    }
}

void Space::book(const Piece &piece)
{
    cores_.set(*piece.node, cores_.free(*piece.node) - piece.cores);
    if (piece.gpus > 0)
        cores_.set_gpus(*piece.node, cores_.gpus(*piece.node) - piece.gpus);
}

/* A process on each listed node; returns the same as usable_own. */
std::vector<Space::Own> Space::allocate_listed(const JobSpec &spec, int &processes, Blocks &blocks)
{
    for (const NodeName &name : spec.nodelist) {
        const Node &node = *state_->node(name);
        int cores = spec.whole_nodes ? node.cores : spec.cores_per_process;
        book({&node, 1, cores, gpus_on_node(spec, 1)});
        blocks.push_back({name, 1});
        processes--;
    }
    return usable_own(spec, blocks);
}

/* For a job whose size is not fixed, the processes on listed nodes are the first ranks: a job
 * that starts smaller, or shrinks, loses the last ones. */
Blocks Space::allocate(const JobSpec &spec, int processes, const Blocks &own)
{
    if (own.empty() && spec.nodes > 0)
        return allocate_spread(spec);
    Blocks blocks;
    bool listed = own.empty() && !spec.nodelist.empty();
    std::vector<Own> present =
        listed ? allocate_listed(spec, processes, blocks) : usable_own(spec, own);
    for (const Piece &piece : choose(spec, processes, present)) {
        book(piece);
        append(blocks, {piece.node->name, piece.processes});
    }
    return listed && spec.elasticity == Elasticity::RIGID ? gathered(blocks) : blocks;
}

void Space::take(const std::vector<Share> &shares)
{
    for (const Share &share : shares)
        add(share, -1);
}

void Space::give(const std::vector<Share> &shares)
{
    for (const Share &share : shares)
        add(share, 1);
}

void Space::add(const Share &share, int sign)
{
    if (!cores_.usable(*share.node))
        return;
    cores_.set(*share.node, cores_.free(*share.node) + sign * share.cores);
    if (share.gpus > 0)
        cores_.set_gpus(*share.node, cores_.gpus(*share.node) + sign * share.gpus);
}

int Space::give(const std::vector<Share> &shares, const JobSpec &spec)
{
    if (!spec.nodelist.empty() || spec.nodes > 0) {
        int before = capacity(spec);
        give(shares);
        return capacity(spec) - before;
    }
    int more = 0;
    for (const Share &share : shares) {
        if (!cores_.usable(*share.node))
            continue;
        int before = capacity_here(spec, *share.node, 0);
        add(share, 1);
        more += capacity_here(spec, *share.node, 0) - before;
    }
    return more;
}

void Space::close(const NodeName &name)
{
    const Node *node = state_->node(name);
    if (node && cores_.usable(*node))
        cores_.set(*node, 0);
}

void Space::limit(const Space &other, const Blocks &blocks)
{
    for (const Block &block : blocks) {
        const Node *node = state_->node(block.node);
        if (!node || !cores_.usable(*node))
            continue;
        cores_.set(*node, std::min(cores_.free(*node), other.cores_.free(*node)));
        cores_.set_gpus(*node, std::min(cores_.gpus(*node), other.cores_.gpus(*node)));
    }
}

Shares Space::more_than(const Space &other) const
{
    Shares more;
    cores_.differences(other.cores_).each([&](uint32_t position) {
        const Node &node = cores_.node(position);
        int cores = std::max(cores_.free(node) - other.cores_.free(node), 0),
            gpus = std::max(cores_.gpus(node) - other.cores_.gpus(node), 0);
        if (cores > 0 || gpus > 0)
            more.push_back({&node, cores, gpus});
    });
    return more;
}

}  // namespace elastic::rm
