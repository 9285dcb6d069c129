/* See core_impl.h: nodes going up and down, acquired and released. */

#include "core/core_impl.h"
#include "core/node_cores.h"
#include "core/record.h"

namespace elastic::rm {

bool can_have_cores(const State &state, const Node &node, int cores)
{
    if (node.used == 0 || cores == node.cores)
        return true;
    return node.used <= cores &&
           std::ranges::none_of(state.indices().allocated, [&](JobId id) {
               return state.jobs.at(id).spec.whole_nodes &&
                      std::ranges::any_of(state.booking(id).shares, [&](const Share &share) {
                          return share.node == &node;
                      });
           });
}

std::string why_cores_wait(const Node &node, int cores)
{
    return "it is to have " + std::to_string(cores) + " cores instead of " +
           std::to_string(node.cores) + ": no job starts on it until its jobs fit";
}

void Core::Impl::on(const NodeUp &event)
{
    if (event.node.empty() || event.cores < 1)
        return unexpected("node '" + event.node + "' with " + std::to_string(event.cores) +
                          " cores");
    auto [found, is_new] = state.nodes.try_emplace(event.node);
    Node &node = found->second;
    if (is_new) {
        node.name = event.node;
        node.cores = event.cores;
        state.index(node);
        state.to_enter = state.config.reservations.empty() ? 0 : 1;
    } else if (node.up && !node.removed && node.cores == event.cores && node.trouble.empty()) {
        return;
    } else if (!can_have_cores(state, node, event.cores)) {
        return unexpected("node " + node.name + ": " + why_cores_wait(node, event.cores));
    } else {
        update(node, [&] {
            node.cores = event.cores;
            node.up = true;
            node.removed = false;
            node.trouble.clear();
            node.reason = node.draining ? node.reason : "";
        });
    }
    record(record::NODE_UP, 0, node.name, {{"cores", node.cores}});
}

void Core::Impl::on(const NodeSuspect &event)
{
    auto found = state.nodes.find(event.node);
    if (found == state.nodes.end() || event.reason.empty())
        return unexpected(
            "node " + event.node + " that is in trouble is not known, or has no reason");
    Node &node = found->second;
    if (!node.up || node.trouble == event.reason)
        return;
    count_as_given(node);
    update(node, [&] { node.trouble = event.reason; });
    record(record::NODE_SUSPECT, 0, node.name, {{"reason", event.reason}});
}

void Core::Impl::on(const NodeDown &event)
{
    if (event.node.empty())
        return unexpected("a node without a name is down");
    auto [found, is_new] = state.nodes.try_emplace(event.node);
    Node &node = found->second;
    if (is_new) {
        node.name = event.node;
        node.cores = std::max(event.cores, 1);
        node.up = false;
        node.reason = event.reason;
        state.index(node);
    } else if (node.up) {
        count_as_given(node);
        down(node, event.reason);
    } else if (node.reason == event.reason && !node.removed) {
        return;
    } else {
        update(node, [&] {
            node.reason = event.reason;
            node.removed = false;
        });
    }
    record(record::NODE_DOWN, 0, event.node, {{"reason", event.reason}});
}

void Core::Impl::on(const NodeRemoved &event)
{
    auto found = state.nodes.find(event.node);
    if (found == state.nodes.end() || found->second.removed)
        return;
    Node &node = found->second;
    if (node.up && node.used > 0) {     /* its jobs continue, and leave the node when possible */
        count_as_given(node);
        update(node, [&] { node.trouble = "it is no longer in the configuration"; });
    } else if (node.up) {
        down(node, "removed");
    }
    update(node, [&] { node.removed = true; });
    record(record::NODE_REMOVED, 0, event.node, Json::object());
}

/* Steps with processes on the node cannot continue (SPEC E4).  A step that only grows to it or
 * shrinks from it reports the result itself. */
void Core::Impl::down(Node &node, const std::string &reason)
{
    update(node, [&] {
        node.up = false;
        node.reason = reason;
        node.trouble.clear();
    });
    auto on_it = [&](const Blocks &blocks) {
        return std::any_of(blocks.begin(), blocks.end(),
                           [&](const Block &block) { return block.node == node.name; });
    };
    std::vector<JobId> allocated(state.indices().allocated.begin(),
                                 state.indices().allocated.end());
    for (JobId id : allocated) {
        const Job &job = state.jobs.at(id);
        if (job.acquiring && on_it(job.blocks))
            over(state.jobs.change(id), JobState::PENDING,
                 "node " + node.name + " is down (" + reason + ")");
        else if (job.state != JobState::COMPLETING && on_it(job.blocks))
            stop(state.jobs.change(id), job.spec.requeue ? JobState::PENDING : JobState::FAILED,
                 "node " + node.name + " is down (" + reason + ")");
        else if (job.adaptation && on_it(job.adaptation->joining))
            withdraw(state.jobs.change(id));
    }
}

/* A fault of the node would end the whole queue, one job after another. */
void Core::Impl::note_start_fault(const std::string &name, const std::string &reason)
{
    constexpr size_t FAULTS_MAX = 3;
    constexpr int64_t WITHIN_MS = 60000;
    auto found = state.nodes.find(name);
    if (found == state.nodes.end())
        return;
    Node &node = found->second;
    std::erase_if(node.start_faults_ms,
                  [this](int64_t at_ms) { return state.now_ms - at_ms >= WITHIN_MS; });
    node.start_faults_ms.push_back(state.now_ms);
    if (node.draining || node.start_faults_ms.size() < FAULTS_MAX)
        return;
    node.start_faults_ms.clear();
    update(node, [&] {
        node.draining = true;
        node.reason = "3 steps could not be started on it within a minute: " + reason;
    });
    record(record::NODE_DRAINING, 0, node.name, {{"reason", node.reason}});
}

void Core::Impl::delete_removed_nodes()
{
    if (state.indices().removed_nodes == 0)
        return;
    std::erase_if(state.nodes, [this](const auto &entry) {
        const Node &node = entry.second;
        if (!node.removed || node.used > 0)
            return false;
        state.unindex(node);
        return true;
    });
}

/* ---- nodes acquired from a back end ---------------------------------------------------------- */

/* Whether the job may book `blocks` instead of its booking for that request. */
bool Core::Impl::can_have(const Job &job, const Blocks &instead_of, const Blocks &blocks) const
{
    if (count_processes(instead_of) != count_processes(blocks))
        return false;
    if (blocks == instead_of || needs_gpus(job.spec))
        return blocks == instead_of;
    for (const Block &block : blocks) {
        bool may_be = may_use(job.spec, block.node) && state.node(block.node);
        if (block.processes < 1 || !may_be)
            return false;
    }
    auto lacks = [&](const NodeName &listed) {
        return std::ranges::find(blocks, listed, &Block::node) == blocks.end();
    };
    if (job.acquiring && std::ranges::any_of(job.spec.nodelist, lacks))
        return false;
    std::unordered_map<const Node *, int> more;
    for (const Share &share : state.shares(job.spec, blocks))
        more[share.node] += share.cores;
    for (const Share &share : state.shares(job.spec, instead_of))
        more[share.node] -= share.cores;
    return std::all_of(more.begin(), more.end(), [](const auto &entry) {
        return entry.second <= 0 || entry.second <= entry.first->free();
    });
}

void Core::Impl::on(const NodesAcquired &event)
{
    Job *job = job_of_step(event);
    if (!job)
        return;
    if (event.request == 0 && job->state == JobState::STARTING && job->acquiring) {
        if (!can_have(*job, job->blocks, event.blocks))
            return over(*job, JobState::PENDING,
                        "the back end allocated nodes that cannot be used");
        rebook(*job, [&] {
            job->acquiring = false;
            job->blocks = event.blocks;
            job->tries = 0;
            job->start_refusals = 0;
            bound_start(*job, 0);
            job->deadline_ms = state.now_ms + state.config.answer_timeout_ms;
        });
        out_.push_back(start_step(*job));
    } else if (job->adaptation && job->adaptation->request == event.request &&
               job->adaptation->phase == AdaptPhase::ACQUIRING) {
        if (!can_have(*job, job->adaptation->joining, event.blocks))
            return come_to_nothing(*job, false, "the back end allocated nodes that cannot be used");
        rebook(*job, [&] {
            job->adaptation->phase = AdaptPhase::SENT;
            job->adaptation->joining = event.blocks;
            job->tries = 0;
            job->deadline_ms = state.now_ms + state.config.answer_timeout_ms;
        });
        out_.push_back(resize(*job));
    }
}

void Core::Impl::on(const NodesRefused &event)
{
    Job *job = job_of_step(event);
    if (!job)
        return;
    if (event.request == 0 && job->state == JobState::STARTING && job->acquiring)
        start_refused(*job, event);
    else if (job->adaptation && job->adaptation->request == event.request &&
             job->adaptation->phase == AdaptPhase::ACQUIRING)
        come_to_nothing(*job, false, event.reason);
}

void Core::Impl::on(const NodesReleased &event)
{
    Job *job = job_of_step(event);
    if (!job)
        return;
    uint32_t uid = job->spec.uid;
    if (event.all && job->releasing) {
        bool waits_again = job->verdict == JobState::PENDING;
        finish(*job);
        if (!waits_again)
            retry_refused(uid);
        return;
    }
    auto departure = std::find_if(
        job->departures.begin(), job->departures.end(),
        [&](const Departure &each) { return each.request == event.request && each.releasing; });
    if (event.all || departure == job->departures.end())
        return;
    freed(*job, event.request);
    retry_refused(uid);
}

/* Others no longer wait for nodes that they have received: else jobs would release nodes once
 * more before NodesWanted reports the change. */
void Core::Impl::count_as_given(const Node &node)
{
    if (node.state() == NodeState::UP && node.used == 0 && state.wanted_nodes > 0 &&
        --state.wanted_nodes == 0)
        state.wanted_by.clear();
}

/* If its step has ended because of that before the report, the job has not failed by itself. */
void Core::Impl::on(const NodesLost &event)
{
    Job *job = job_of_step(event);
    if (!job || job->acquiring)
        return;
    JobState verdict = job->spec.requeue ? JobState::PENDING : JobState::FAILED;
    if (job->state != JobState::COMPLETING)
        return stop(*job, verdict, event.reason);
    if (job->verdict != JobState::FAILED || job->reason.find(event.reason) != std::string::npos)
        return;
    update(*job, [&] {
        job->verdict = verdict;
        job->reason = event.reason + (job->reason.empty() ? "" : "; " + job->reason);
    });
}

void Core::Impl::on(const NodesWanted &event)
{
    int nodes = std::max(event.nodes, 0);
    std::string by = nodes > 0 ? event.by : "";
    if (nodes == state.wanted_nodes && by == state.wanted_by)
        return;
    state.wanted_nodes = nodes;
    state.wanted_by = by;
    state.changed();
    record(record::NODES_WANTED, 0, "", {{"nodes", nodes}, {"by", by}});
}

}  // namespace elastic::rm
