/* See state.h. */

#include "core/state.h"

#include <cctype>
#include <cstring>

namespace elastic::rm {

bool NaturalLess::operator()(const std::string &left, const std::string &right) const
{
    const char *a = left.c_str(), *b = right.c_str();
    auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    while (*a && *b) {
        if (digit(*a) && digit(*b)) {
            while (*a == '0')
                a++;
            while (*b == '0')
                b++;
            size_t length_a = strspn(a, "0123456789"), length_b = strspn(b, "0123456789");
            if (length_a != length_b)
                return length_a < length_b;
            if (int order = strncmp(a, b, length_a))
                return order < 0;
            a += length_a;
            b += length_b;
        } else if (*a != *b) {
            return static_cast<unsigned char>(*a) < static_cast<unsigned char>(*b);
        } else {
            a++;
            b++;
        }
    }
    if (*a || *b)
        return *b != 0;
    return left < right;        /* n1 and n01 are two nodes */
}

const Job *State::job(JobId id) const
{
    auto found = jobs.find(id);
    return found == jobs.end() ? nullptr : &found->second;
}

const Node *State::node(const std::string &name) const
{
    auto found = nodes.find(name);
    return found == nodes.end() ? nullptr : &found->second;
}

QueueKey State::queue_key(const Job &job) const
{
    return {job.submitted_ms - job.spec.priority * config.priority_weight_ms, job.id};
}

std::vector<Share> State::shares(const JobSpec &spec, const Blocks &blocks) const
{
    std::vector<Share> shares;
    shares.reserve(blocks.size());
    for (const Block &block : blocks)
        shares.push_back({&block.node, block.processes * spec.cores_per_process});
    if (!spec.whole_nodes)
        return shares;
    std::sort(shares.begin(), shares.end(),
              [](const Share &a, const Share &b) { return *a.node < *b.node; });
    shares.erase(std::unique(shares.begin(), shares.end(),
                             [](const Share &a, const Share &b) { return *a.node == *b.node; }),
                 shares.end());
    for (Share &share : shares)
        share.cores = nodes.at(*share.node).cores;
    return shares;
}

std::vector<Share> State::shares(const Job &job) const
{
    if (!is_placed(job.state))
        return {};
    if (!job.spec.whole_nodes) {
        std::vector<Share> all = shares(job.spec, job.blocks);
        auto add = [&](const Blocks &blocks) {
            for (const Share &share : shares(job.spec, blocks))
                all.push_back(share);
        };
        if (job.adaptation)
            add(job.adaptation->joining);
        for (const Departure &departure : job.departures)
            add(departure.blocks);
        return all;
    }
    /* A whole node is booked once, whatever of the job is on it.  The names outlive the list. */
    std::map<std::string, const std::string *> names;
    auto note = [&](const Blocks &blocks) {
        for (const Block &block : blocks)
            names.emplace(block.node, &block.node);
    };
    note(job.blocks);
    if (job.adaptation)
        note(job.adaptation->joining);
    for (const Departure &departure : job.departures)
        note(departure.blocks);
    std::vector<Share> all;
    for (const auto &[name, where] : names)
        all.push_back({where, nodes.at(name).cores});
    return all;
}

namespace {

template <class Set, class Value> void put(Set &set, const Value &value, int sign)
{
    if (sign > 0)
        set.insert(value);
    else
        set.erase(value);
}

bool may_be_offered(const Job &job)
{
    return job.state == JobState::RUNNING && job.spec.elasticity == Elasticity::MALLEABLE &&
           job.mode == StepMode::ADAPTIVE && !(job.spec.usable && job.spec.usable->empty());
}

bool gives_soon(const Job &job)
{
    return is_placed(job.state) &&
           (job.state == JobState::COMPLETING || !job.departures.empty() ||
            (job.adaptation && !job.adaptation->leave.empty()));
}

/* Whether more of its processes would fit into the whole nodes that it has. */
bool is_roomy(const State &state, const Job &job)
{
    if (!job.spec.whole_nodes)
        return false;
    std::map<std::string, int> processes;
    for (const Block &block : present(job))
        processes[block.node] += block.processes;
    return std::any_of(processes.begin(), processes.end(), [&](const auto &entry) {
        int most = state.nodes.at(entry.first).cores / job.spec.cores_per_process;
        if (job.spec.processes_per_node > 0)
            most = std::min(most, job.spec.processes_per_node);
        return entry.second < most;
    });
}

/* How many cores it could give at most. */
int64_t spare_cores(const State &state, const Job &job)
{
    int spare = job.size() - size_at_least(job.spec, 1);
    if (!job.spec.whole_nodes || spare <= 0)
        return int64_t{std::max(spare, 0)} * job.spec.cores_per_process;
    int64_t cores = 0;
    for (const Share &share : state.shares(job.spec, job.blocks))
        cores += share.cores;
    return cores;
}

}  // namespace

void State::reindex(const Job &job, int sign)
{
    if (job.state == JobState::PENDING && !job.held)
        put(indices_.queue, queue_key(job), sign);
    if (is_placed(job.state))
        put(indices_.placed, job.id, sign);
    if (gives_soon(job))
        put(indices_.settling, job.id, sign);
    if (job.deadline_ms != NEVER)
        put(indices_.deadlines, std::pair(job.deadline_ms, job.id), sign);
    if (job.limit_at_ms != NEVER)
        put(indices_.limits, std::pair(job.limit_at_ms, job.id), sign);
    if (may_be_offered(job)) {
        put(indices_.elastic, job.id, sign);
        if (is_roomy(*this, job))
            put(indices_.roomy, job.id, sign);
        indices_.spare_cores += sign * spare_cores(*this, job);
    }
    for (const Share &share : shares(job)) {
        Node &node = nodes.at(*share.node);
        indices_.free_cores -= node.free();
        node.used += sign * share.cores;
        indices_.free_cores += node.free();
    }
}

void State::reindex(const Node &node, int sign)
{
    indices_.free_cores += sign * node.free();
    if (node.state() == NodeState::UP)
        indices_.up_cores += sign * node.cores;
    if (node.state() == NodeState::DRAINING)
        indices_.draining_nodes += sign;
    if (node.removed)
        indices_.removed_nodes += sign;
}

std::string why_waiting(const State &state, const Job &job)
{
    if (job.held)
        return "held";
    if (job.offer_after_ms > state.now_ms)
        return job.reason.empty() ? "pauses" : job.reason;
    int64_t cores = int64_t{size_at_least(job.spec, 1)} * job.spec.cores_per_process;
    if (cores > state.indices().up_cores)
        return "nodes are down or draining";
    bool first = !state.indices().queue.empty() && state.indices().queue.begin()->job == job.id;
    return first ? "resources" : "priority";
}

}  // namespace elastic::rm
