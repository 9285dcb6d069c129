/* See slurm_nodes.h. */

#include "backend/slurm/slurm_nodes.h"

#include <algorithm>

namespace elastic::rm {

namespace {

std::string with_reason(const std::string &what, const std::string &reason)
{
    return reason.empty() ? what : what + ": " + reason;
}

std::map<std::string, const SlurmJob *> users_of(const std::vector<SlurmJob> &jobs)
{
    std::map<std::string, const SlurmJob *> users;
    for (const SlurmJob &job : jobs)
        for (const std::string &node : job.nodes)
            users[node] = &job;
    return users;
}

std::string why_used(const SlurmJob *user, const std::string &cluster)
{
    if (!user)
        return "in use in Slurm";
    bool ours = user->tag && user->tag->cluster == cluster;
    return (ours ? "is being released by " : "in use by ") + name_of(*user);
}

/* Why no new processes may be allocated on it; empty: they may be. */
std::string trouble_of(const SlurmNode &node, bool booked, const SlurmJob *user,
                       const std::string &cluster)
{
    if (node.draining)
        return with_reason("drained in Slurm", node.reason);
    if (node.state == SlurmNodeState::GONE)
        return with_reason("Slurm reports " + node.word, node.reason);
    if ((node.state == SlurmNodeState::USED || user) && !booked)
        return why_used(user, cluster);
    return "";
}

void report_node(const Node *known, const SlurmNode &node, const std::string &trouble,
               std::vector<EventContent> &events)
{
    bool up = known && known->up && !known->removed;
    /* It is in the partition again: a report that it is down would end its jobs. */
    if (known && known->up && known->removed && !node.failed) {
        events.push_back(NodeUp{node.name, node.cores});
        if (!trouble.empty())
            events.push_back(NodeSuspect{node.name, trouble});
        return;
    }
    if (node.failed) {
        std::string reason = with_reason("Slurm reports " + node.word, node.reason);
        if (!known || up || known->reason != reason)
            events.push_back(NodeDown{node.name, reason, node.cores});
    } else if (trouble.empty()) {
        if (!up || !known->trouble.empty() || known->cores != node.cores)
            events.push_back(NodeUp{node.name, node.cores});
    } else if (!up) {
        if (!known || known->reason != trouble)
            events.push_back(NodeDown{node.name, trouble, node.cores});
    } else if (known->trouble != trouble) {
        events.push_back(NodeSuspect{node.name, trouble});
    }
}

bool waits_for_nodes(const SlurmJob &job)
{
    return job.state == SlurmJobState::PENDING &&
        (job.reason == "Resources" || job.reason == "Priority");
}

}  // namespace

bool is_own(const SlurmJob &job, const std::string &cluster, const State &state)
{
    if (!job.tag || job.tag->cluster != cluster)
        return false;
    const Job *known = state.job(job.tag->job);
    return !known || known->spec.uid == job.uid;
}

std::string name_of(const SlurmJob &job)
{
    return "Slurm job " + std::to_string(job.id) + " of " + job.user;
}

std::vector<EventContent> node_events(const State &state, const std::vector<SlurmNode> &nodes,
                                      const std::vector<SlurmJob> &jobs, const std::string &cluster)
{
    std::vector<EventContent> events;
    std::map<std::string, const SlurmJob *> users = users_of(jobs);
    std::set<std::string> listed;
    for (const SlurmNode &node : nodes) {
        if (!listed.insert(node.name).second)
            continue;
        const Node *known = state.node(node.name);
        auto user = users.find(node.name);
        std::string trouble = trouble_of(node, known && known->used > 0,
                                         user == users.end() ? nullptr : user->second, cluster);
        report_node(known, node, trouble, events);
    }
    for (const auto &[name, node] : state.nodes)
        if (!listed.contains(name) && !node.removed)
            events.push_back(NodeRemoved{name});
    return events;
}

NodesWanted SlurmDemand::poll(const State &state, const std::vector<SlurmJob> &jobs,
                              const std::string &cluster, int64_t now_ms)
{
    std::vector<const SlurmJob *> waiting;
    std::map<SlurmId, int64_t> since_ms;
    for (const SlurmJob &job : jobs) {
        if (!waits_for_nodes(job) || job.priority < lowest_priority_ || is_own(job, cluster, state))
            continue;
        waiting.push_back(&job);
        if (auto found = since_ms_.find(job.id); found != since_ms_.end())
            since_ms.insert(*found);
    }
    since_ms_ = std::move(since_ms);
    std::sort(waiting.begin(), waiting.end(), [](const SlurmJob *a, const SlurmJob *b) {
        return std::pair(-a->priority, a->id) < std::pair(-b->priority, b->id);
    });
    for (const SlurmJob *job : waiting) {
        int64_t since = since_ms_.try_emplace(job->id, now_ms).first->second;
        if (now_ms - since < patience_ms_)
            return {std::max(job->node_count, 1), name_of(*job)};
    }
    return {0, ""};
}

}  // namespace elastic::rm
