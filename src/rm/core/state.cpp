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
    int64_t since_ms = job.eligible_ms == NEVER ? job.submitted_ms : job.eligible_ms;
    return {since_ms - job.spec.priority * config.priority_weight_ms + delay_of(job.spec.uid), job.id};
}

int64_t State::delay_of(uint32_t uid) const
{
    auto found = uses.find(uid);
    return found == uses.end() ? 0 : found->second.delay_ms;
}

State::Indices::OfUser State::of_user(uint32_t uid) const
{
    auto found = indices_.users.find(uid);
    return found == indices_.users.end() ? Indices::OfUser() : found->second;
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
    uint32_t uid = job.spec.uid;
    if (is_queued(job)) {
        std::set<QueueKey> &own = indices_.queues[uid];
        put(own, queue_key(job), sign);
        if (own.empty())
            indices_.queues.erase(uid);
        if (!full_users.contains(uid))
            put(indices_.queue, queue_key(job), sign);
    }
    for (const Dependency &dependency : job.waits_for)
        put(indices_.dependents, std::pair(dependency.job, job.id), sign);
    if (is_placed(job.state)) {
        put(indices_.placed, job.id, sign);
        indices_.users[uid].running += sign;
    }
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
        indices_.users[uid].cores += sign * share.cores;
    }
    if (auto user = indices_.users.find(uid); user != indices_.users.end() && user->second.running == 0)
        indices_.users.erase(user);
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
    if (!job.waits_for.empty()) {
        const Dependency &first = job.waits_for.front();
        std::string what = first.kind == DependencyKind::AFTER      ? "starts"
                           : first.kind == DependencyKind::AFTER_OK ? "ends without error"
                                                                    : "ends";
        size_t more = job.waits_for.size() - 1;
        return "waits until job " + std::to_string(first.job) + " " + what +
               (more ? ", and for " + std::to_string(more) + " more" : "");
    }
    if (job.deferred)
        return "its time to begin has not come";
    if (state.full_users.contains(job.spec.uid)) {
        auto user = state.of_user(job.spec.uid);
        return "the limit of a user: " + std::to_string(user.running) + " jobs run, with " +
               std::to_string(user.cores) + " cores";
    }
    if (job.offer_after_ms > state.now_ms)
        return job.reason.empty() ? "pauses" : job.reason;
    int64_t cores = int64_t{size_at_least(job.spec, 1)} * job.spec.cores_per_process;
    if (cores > state.indices().up_cores)
        return "nodes are down or draining";
    const Job *first = first_in_queue(state);
    return !first || first->id == job.id ? "resources" : WAITS_BEHIND;
}

const Job *first_in_queue(const State &state)
{
    const auto &queue = state.indices().queue;
    return queue.empty() ? nullptr : &state.jobs.at(queue.begin()->job);
}

}  // namespace elastic::rm
