/* See state.h: the bookings of jobs, and the nodes of the bookings. */

#include "core/node_number.h"
#include "core/pending_changes.h"

namespace elastic::rm {

namespace {

/* By the nodes' names, the last criterion. */
constexpr auto is_before = [](const Share &a, const Share &b) {
    return std::pair(a.node->position, a.cores) < std::pair(b.node->position, b.cores);
};

}  // namespace

/* A whole node is booked once, with any number of processes of the job.  In the order of
 * is_before, by marks: grown jobs have no order, and this is called often. */
Shares State::whole_shares(const std::vector<const Blocks *> &lists) const
{
    const FreeCores &nodes = free_cores();
    Shares shares;
    size_t count = 0;
    for (const Blocks *blocks : lists)
        count += blocks->size();
    shares.reserve(count);
    auto add = [&](uint32_t position) {
        shares.push_back({&nodes.node(position), nodes.cores(position)});
    };
    bool in_order = true;
    uint32_t end = 0;           /* after the last one */
    for (const Blocks *blocks : lists) {
        for (const Block &block : *blocks) {
            uint32_t position = nodes.position(block.node);
            if (position == PositionSet::NONE)
                continue;
            in_order = in_order && position >= end;
            end = position + 1;
            if (!in_order)
                break;
            add(position);
        }
    }
    if (in_order)
        return shares;
    PositionMarks marks(nodes.positions());
    for (const Blocks *blocks : lists) {
        for (const Block &block : *blocks) {
            if (uint32_t position = nodes.position(block.node); position != PositionSet::NONE)
                marks.add(position);
        }
    }
    shares.clear();
    marks.each(add);
    return shares;
}

void leave_differences(Shares &left, Shares &right)
{
    if (std::is_sorted(left.begin(), left.end(), is_before) &&
        std::is_sorted(right.begin(), right.end(), is_before)) {
        Shares left_alone, right_alone;
        auto l = left.begin(), r = right.begin();
        while (l != left.end() && r != right.end()) {
            if (*l == *r)
                ++l, ++r;
            else if (is_before(*l, *r))
                left_alone.push_back(*l++);
            else
                right_alone.push_back(*r++);
        }
        left_alone.insert(left_alone.end(), l, left.end());
        right_alone.insert(right_alone.end(), r, right.end());
        left = std::move(left_alone);
        right = std::move(right_alone);
        return;
    }
    auto [left_from, right_from] =
        std::mismatch(left.begin(), left.end(), right.begin(), right.end());
    left.erase(left.begin(), left_from);
    right.erase(right.begin(), right_from);
}

Shares State::shares(const JobSpec &spec, const Blocks &blocks) const
{
    Shares shares;
    if (spec.whole_nodes) {
        shares = whole_shares({&blocks});
    } else {
        shares.reserve(blocks.size());
        for (const Block &block : blocks) {
            if (const Node *where = node(block.node))
                shares.push_back({where, block.processes * spec.cores_per_process});
        }
    }
    add_gpus(spec, blocks, shares);
    return shares;
}

/* GPUs are with the first share of each node. */
void State::add_gpus(const JobSpec &spec, const Blocks &blocks, Shares &shares) const
{
    if (!needs_gpus(spec))
        return;
    std::unordered_map<const Node *, int> processes;
    for (const Block &block : blocks)
        processes[node(block.node)] += block.processes;
    for (Share &share : shares)
        share.gpus = gpus_on_node(spec, std::exchange(processes[share.node], 0));
}

Shares State::shares(const Job &job) const
{
    if (!is_allocated(job.state))
        return {};
    Shares all;
    Blocks slots = slots_of(job);
    std::vector<const Blocks *> lists = {&static_cast<const Blocks &>(job.blocks)};
    if (job.adaptation)
        lists.push_back(&job.adaptation->joining);
    for (const Departure &departure : job.departures)
        lists.push_back(&departure.blocks);
    lists.push_back(&slots);
    if (job.spec.whole_nodes) {
        all = whole_shares(lists);
    } else {
        all.reserve(job.blocks.size());
        for (const Blocks *blocks : lists) {
            for (const Block &block : *blocks)
                all.push_back({node(block.node), block.processes * job.spec.cores_per_process});
        }
    }
    for (const NodeGpus &each : job.gpus) {
        auto first = std::ranges::find(all, node(each.node), &Share::node);
        if (first != all.end())
            first->gpus = std::popcount(each.gpus);
    }
    return all;
}

Booking::Booking(Shares all, bool of_whole) : shares(std::move(all))
{
    for (const Share &share : shares) {
        cores += share.cores;
        whole = whole && (of_whole || share.cores == share.node->cores);
    }
}

const Booking &State::booking(JobId id) const
{
    static const Booking nothing;
    const Booking *found = booked_.find(id);
    return found ? *found : nothing;
}

const State::Freed &State::freed_soon(const Job &job) const
{
    free_cores();               /* after changes of nodes nothing is known */
    auto [found, is_new] = freed_.add(job.id);
    if (is_new) {
        found.freed = booked(job.id);
        found.kept = shares(job.spec, pending_blocks(job));
        leave_differences(found.freed, found.kept);
    }
    return found;
}

/* ---- bookings ------------------------------------------------------------------ */

namespace {

/* For shares in the order of the nodes, each node once: the shares that only one of both lists
 * has. */
template <class Visit> void each_difference(const Shares &before, const Shares &now, Visit visit)
{
    auto old = before.begin();
    for (const Share &share : now) {
        while (old != before.end() && old->node != share.node &&
               old->node->position < share.node->position)
            visit(*old++, -1);
        bool known = old != before.end() && old->node == share.node;
        if (known && old->cores == share.cores) {
            ++old;
            continue;
        }
        if (known)
            visit(*old++, -1);
        visit(share, 1);
    }
    for (; old != before.end(); ++old)
        visit(*old, -1);
}

}  // namespace

void State::book(const Job &job)
{
    free_cores();               /* sets the positions of the nodes */
    Booking now(shares(job), job.spec.whole_nodes), &booked = booked_.add(job.id).first;
    freed_.erase(job.id);
    count_use(job.spec.uid, 0, now.cores - booked.cores);
    count_groups(job.spec.groups, {0, 0, now.cores - booked.cores});
    if (booked.shares.empty() || now.shares.empty()) {
        book(booked.shares, -1);
        book(now.shares, 1);
    } else if (job.spec.whole_nodes) {
        each_difference(booked.shares, now.shares, [this](const Share &share, int sign) {
            book(*const_cast<Node *>(share.node), sign * share.cores);
        });
    } else {
        Shares less = booked.shares, more = now.shares;
        leave_differences(less, more);
        book(less, -1);
        book(more, 1);
    }
    if (is_allocated(job.state))
        now.gpus = job.gpus;
    book(booked.gpus, false);
    book(now.gpus, true);
    booked = std::move(now);
    if (booked.shares.empty())
        booked_.erase(job.id);
    changes_.capacity = true;
}

void State::book(const Shares &shares, int sign)
{
    for (const Share &share : shares)
        book(*const_cast<Node *>(share.node), sign * share.cores);
}

void State::book(const std::vector<NodeGpus> &gpus, bool in)
{
    for (const NodeGpus &each : gpus) {
        Node &node = *const_cast<Node *>(this->node(each.node));
        int before = std::popcount(node.gpus_used);
        node.gpus_used = in ? node.gpus_used | each.gpus : node.gpus_used & ~each.gpus;
        indices_.nodes.used_gpus += std::popcount(node.gpus_used) - before;
        if (node.state() == NodeState::UP)
            free_cores_.set_gpus(node, std::popcount(node.free_gpus()));
    }
}

void State::book(Node &node, int cores)
{
    NodeState state = node.state();
    bool was_empty = node.used == 0;
    node.used += cores;
    indices_.nodes.used_cores += cores;
    if (state == NodeState::DRAINING)
        indices_.nodes.drained += (node.used == 0) - was_empty;
    if (state != NodeState::UP)
        return;
    indices_.free_cores -= cores;
    free_cores_.set(node, node.free());
}

const FreeCores &State::free_cores() const
{
    if (!stale_)
        return free_cores_;
    free_cores_.rebuild(nodes);
    positions_.clear();
    freed_.clear();
    stale_ = false;
    return free_cores_;
}

/* ---- nodes ------------------------------------------------------------ */

void State::index(Node &node)
{
    size_t number = node.name.number();
    by_number_.resize(std::max(by_number_.size(), number + 1));
    by_number_[number] = &node;
    count(node, 1);
}

void State::unindex(const Node &node)
{
    by_number_[node.name.number()] = nullptr;
    count(node, -1);
}

/* The counts that depend on Node::used. */
void State::count_booked(const Node &node, int sign)
{
    indices_.free_cores += sign * node.free();
    indices_.nodes.used_cores += sign * node.used;
    indices_.nodes.used_gpus += sign * std::popcount(node.gpus_used);
    if (node.state() == NodeState::DRAINING && node.used == 0)
        indices_.nodes.drained += sign;
}

void State::count(const Node &node, int sign)
{
    auto count_kind = [&](std::map<int, int> &kinds) {
        if ((kinds[node.cores] += sign) == 0)
            kinds.erase(node.cores);
    };
    count_booked(node, sign);
    indices_.nodes.states[static_cast<size_t>(node.state())] += sign;
    indices_.nodes.cores += sign * node.cores;
    indices_.nodes.gpus += sign * node.gpus;
    indices_.nodes.changing_gpus += sign * (node.gpus != node.gpus_next);
    if (node.state() == NodeState::UP) {
        indices_.up_cores += sign * node.cores;
        count_kind(indices_.up_nodes);
    }
    if (node.removed)
        indices_.removed_nodes += sign;
    else
        count_kind(indices_.known_nodes);
    find_runnable();
    stale_ = true;
    changes_.capacity = true;
}

/* On a node without jobs. */
int State::capacity_of(const Shape &shape, const Node &node) const
{
    int gpus = node.gpus - shape.gpus_per_node;
    int capacity = gpus < 0 ? 0 : node.cores / shape.cores_per_process;
    if (shape.processes_per_node > 0)
        capacity = std::min(capacity, shape.processes_per_node);
    if (shape.gpus_per_process > 0)
        capacity = std::min(capacity, gpus / shape.gpus_per_process);
    return capacity;
}

int State::capacity_when_empty(const Shape &shape, bool up_only) const
{
    CapacityOfNodes capacity(shape.nodes);
    auto counts = [&](const Node &each) {
        return up_only ? each.state() == NodeState::UP : !each.removed;
    };
    bool with_gpus = shape.gpus_per_process > 0 || shape.gpus_per_node > 0;
    auto on_node = [&](const NodeName &name) {
        const Node *found = node(name);
        bool is_outside = !shape.partition.empty() && !shape.partition.contains(name);
        return found && counts(*found) && !is_outside ? capacity_of(shape, *found) : 0;
    };
    for (const NodeName &name : shape.partition)
        capacity.add(on_node(name));
    bool of_all = shape.partition.empty();
    for (const auto &[name, each] : nodes) {
        if (!with_gpus || !of_all)
            break;
        capacity.add(counts(each) ? capacity_of(shape, each) : 0);
    }
    for (const auto &[cores, number] : up_only ? indices_.up_nodes : indices_.known_nodes) {
        Node like;
        like.cores = cores;
        capacity.add(!with_gpus && of_all ? capacity_of(shape, like) : 0, number);
    }
    for (const NodeName &name : shape.exclude)
        capacity.add(on_node(name), -1);
    for (const NodeName &name : shape.nodelist) {
        int here = on_node(name);
        if (here == 0)
            return 0;
        capacity.require(here);
    }
    return static_cast<int>(std::min<int64_t>(capacity.sum(), std::numeric_limits<int>::max() - 1));
}

int State::capacity_when_empty(const JobSpec &spec, bool up_only) const
{
    return capacity_when_empty(shape_of(spec), up_only);
}

int State::capacity_up(const JobSpec &spec) const
{
    Shape shape = shape_of(spec);
    auto queued = indices_.shapes.find(shape);
    return queued == indices_.shapes.end() ? capacity_when_empty(shape, true)
                                           : queued->second.capacity;
}

std::string State::missing_node(const JobSpec &spec) const
{
    for (const NodeName &name : spec.nodelist) {
        const Node *found = node(name);
        if (!found || found->state() != NodeState::UP)
            return name;
    }
    return "";
}

}  // namespace elastic::rm
