/* See slurm_backend.h: orders for the Slurm jobs of each own job. */

#include <unistd.h>

#include "backend/slurm/slurm_backend.h"
#include "backend/slurm/slurm_launch.h"
#include "base/log.h"
#include "base/words.h"
#include "step/step_spec.h"

namespace elastic::rm {

namespace {

/* Slurm revokes the credentials of a job on a node that it releases, with a resolution of one
 * second. */
constexpr int64_t SAME_NODE_PAUSE_MS = 2100;
constexpr int64_t SHRINK_PAUSE_MS = 10000;      /* after a refusal */

bool is_step_of(const SlurmJob &each, const Job *job)
{
    return job && is_allocated(job->state) && each.tag->step == job->step;
}

}  // namespace

void SlurmBackend::reconcile_all(const SlurmReport &poll)
{
    std::map<JobId, std::vector<const SlurmJob *>> by_job;
    for (JobId id : state_->indices().allocated)
        by_job[id];
    for (const SlurmJob &job : poll.jobs) {
        bool may_end = geteuid() == 0 || job.uid == geteuid();
        if (job.state != SlurmJobState::ENDED && may_end && is_own(job, cluster_, *state_))
            by_job[job.tag->job].push_back(&job);
    }
    for (const auto &[id, jobs] : by_job)
        reconcile(id, jobs);
}

/* A poll that is older than the last order is not valid. */
void SlurmBackend::reconcile(JobId id, const std::vector<const SlurmJob *> &jobs)
{
    const Job *job = state_->job(id);
    Set &set = sets_[id];
    if (set.busy && set.waited)
        note_pending(id, set, jobs);
    if (set.busy || set.changed > poll_began_)
        return;
    if (job && set.step != job->step && is_allocated(job->state)) {
        set = Set();
        set.step = job->step;
    }
    std::vector<const SlurmJob *> present;
    std::vector<SlurmOrder> orders;
    for (const SlurmJob *each : jobs) {
        if (is_step_of(*each, job))
            present.push_back(each);
        else if (each->state != SlurmJobState::COMPLETING)
            orders.push_back({SlurmAct::CANCEL, each->id, {}, 0, 0});
    }
    if (!orders.empty())
        log_line(LogLevel::WARNING, "Slurm jobs that belong to no job are cancelled",
                 {{"job", id}, {"count", orders.size()}, {"first", orders[0].id}});
    SlurmTarget target = job ? target_of(*job) : SlurmTarget();
    target.acquires = target.acquires && set.answered != target.request;
    SlurmPlan plan = plan_for(target, present, resize_ == Resize::MERGE, set.no_merge);
    bool ended = std::any_of(set.running.begin(), set.running.end(), [&](SlurmId each) {
        return !set.ended_by_us.contains(each) &&
               std::none_of(present.begin(), present.end(), [&](const SlurmJob *now) {
                   return now->id == each && now->state == SlurmJobState::RUNNING;
               });
    });
    remember(id, set, present);
    if ((ended || !plan.taken.empty()) && !set.explained)
        return explain(id, plan.taken);
    orders.insert(orders.end(), plan.orders.begin(), plan.orders.end());
    if (!orders.empty() && !must_wait(set, orders))
        return begin(id, std::move(orders));
    if (plan.acquired) {
        set.answered = target.request;
        Blocks blocks = target.request ? job->adaptation->joining : job->blocks;
        notify_(NodesAcquired{id, job->step, target.request, blocks});
    }
    if (present.empty() && jobs.empty() && !(job && is_allocated(job->state)))
        sets_.erase(id);
}

/* The reason of a wait is visible only while the allocation waits.  An allocation that waits in
 * vain is cancelled at once: the end of its salloc is the answer. */
void SlurmBackend::note_pending(JobId id, Set &set, const std::vector<const SlurmJob *> &jobs)
{
    for (const SlurmJob *each : jobs) {
        bool waits = each->state == SlurmJobState::PENDING && is_step_of(*each, state_->job(id));
        if (!waits || each->reason.empty() || each->reason == set.pending)
            continue;
        set.pending = each->reason;
        Outcome outcome = outcome_of(id, set, pending_kind(each->reason));
        if (outcome.never || outcome.nodes_max > 0)
            client_.run(cancel_command(each->id), 0, [](const SlurmAnswer &) {});
    }
}

/* The launcher can find nodes before mpiexec gets them. */
void SlurmBackend::remember(JobId id, Set &set, const std::vector<const SlurmJob *> &jobs)
{
    set.running.clear();
    for (const SlurmJob *each : jobs)
        if (each->state == SlurmJobState::RUNNING)
            set.running.insert(each->id);
    std::map<std::string, SlurmId> nodes = node_map(jobs);
    for (const auto &[node, slurm_id] : set.nodes)
        if (!nodes.contains(node))
            set.given_back_ms[node] = monotonic_ms();
    std::string folder = folder_of(id, set.step);
    bool is_there = access(folder.c_str(), F_OK) == 0;
    if (nodes == set.nodes &&
        !(is_there && access((folder + "/" + SLURM_JOBS_FILE).c_str(), F_OK) != 0))
        return;
    set.nodes = std::move(nodes);
    std::string error = is_there ? write_node_map(set, folder) : "";
    if (!error.empty())
        log_line(LogLevel::ERROR, error, {{"job", id}});
}

std::string SlurmBackend::folder_of(JobId id, uint32_t step) const
{
    return settings_.state_dir + "/steps/" + std::to_string(id) + "." + std::to_string(step);
}

std::string SlurmBackend::write_node_map(const Set &set, const std::string &folder) const
{
    return write_file(folder, SLURM_JOBS_FILE, format_slurm_jobs(set.nodes), 0644);
}

/* A node returns to the same Slurm job only after the second in which it left. */
bool SlurmBackend::must_wait(const Set &set, const std::vector<SlurmOrder> &orders)
{
    int64_t wait_ms = 0, now_ms = monotonic_ms();
    for (const SlurmOrder &order : orders) {
        if (order.act == SlurmAct::SHRINK)
            wait_ms = std::max(wait_ms, set.shrink_after_ms - now_ms);
        if (order.act != SlurmAct::ALLOCATE || !order.expands)
            continue;
        for (const std::string &node : order.nodes)
            if (auto found = set.given_back_ms.find(node); found != set.given_back_ms.end())
                wait_ms = std::max(wait_ms, found->second + SAME_NODE_PAUSE_MS - now_ms);
    }
    if (wait_ms > 0)
        loop_.after(wait_ms, [this] { poll_soon(0); });
    return wait_ms > 0;
}

/* ---- orders ---------------------------------------------------------------------------------- */

void SlurmBackend::begin(JobId id, std::vector<SlurmOrder> orders)
{
    Set &set = sets_[id];
    set.busy = true;
    set.waited = false;
    set.pending.clear();
    set.sent_ms = monotonic_ms();
    set.sent_nodes = 0;
    for (const SlurmOrder &each : orders)
        set.sent_nodes += each.act == SlurmAct::ALLOCATE ? each.nodes.size() : 0;
    set.orders.assign(std::make_move_iterator(orders.begin()),
                      std::make_move_iterator(orders.end()));
    next_order(id);
}

void SlurmBackend::stop_orders(Set &set)
{
    set.orders.clear();
    set.busy = false;
    set.changed = ++clock_;
    poll_soon(0);
}

void SlurmBackend::next_order(JobId id)
{
    Set &set = sets_[id];
    if (set.orders.empty())
        return stop_orders(set);
    if (!needs_user(state_->job(id), set.orders.front()))
        return run_order(id);
    set.lookup_pending = true;  /* a directory service may be slow */
    uint32_t uid = state_->job(id)->spec.uid;
    users_.find(uid, UserDirectory::KNOWN_MS, [this, id, uid](const User &user) {
        auto found = sets_.find(id);
        if (found == sets_.end() || !std::exchange(found->second.lookup_pending, false))
            return;
        if (user.exists)
            return run_order(id);
        refuse(id, found->second, "user " + std::to_string(uid) + " is not known on this host",
               {.never = true});
        stop_orders(found->second);
    });
}

bool SlurmBackend::needs_user(const Job *job, const SlurmOrder &order) const
{
    return order.act == SlurmAct::ALLOCATE && job && geteuid() == 0 && job->spec.uid != 0;
}

void SlurmBackend::run_order(JobId id)
{
    Set &set = sets_[id];
    const SlurmOrder &order = set.orders.front();
    if (order.act == SlurmAct::CANCEL || order.act == SlurmAct::MERGE)
        set.ended_by_us.insert(order.id);
    Words words = words_of(id, set, order);
    log_line(LogLevel::DEBUG, "to Slurm", {{"job", id}, {"command", join_words(words)}});
    int64_t wait_ms = order.act == SlurmAct::ALLOCATE && set.waited ? settings_.slurm_wait_ms : 0;
    client_.run(std::move(words), wait_ms,
                [this, id](const SlurmAnswer &answer) { order_done(id, answer); });
    if (wait_ms > 0)
        poll_soon(poll_pause_ms(settings_.slurm_poll_ms, 0));
}

Words SlurmBackend::words_of(JobId id, const Set &set, const SlurmOrder &order) const
{
    switch (order.act) {
        case SlurmAct::CANCEL: return cancel_command(order.id);
        case SlurmAct::SHRINK: return shrink_command(order.id, order.nodes);
        case SlurmAct::MERGE: return merge_command(order.id);
        case SlurmAct::ALLOCATE: break;
    }
    const Job *job = state_->job(id);
    SlurmAllocation allocation;
    allocation.tag = {cluster_, id, set.step, order.request, order.expands != 0};
    allocation.nodes = order.nodes;
    allocation.expands = order.expands;
    allocation.wait_s = set.waited ? std::max<int64_t>(settings_.slurm_wait_ms / 1000, 2) : 0;
    if (job && job->limit_at_ms != NEVER)
        allocation.limit_ms = std::max<int64_t>(job->limit_at_ms - state_->now_ms, 0) +
            state_->config.kill_grace_ms;
    allocation.for_user = needs_user(job, order);
    allocation.uid = job ? job->spec.uid : 0;
    const User *user = allocation.for_user ? users_.known(allocation.uid) : nullptr;
    allocation.gid = user ? user->gid : allocation.uid;         /* it was found just before */
    return allocate_command(allocation, options_);
}

void SlurmBackend::order_done(JobId id, const SlurmAnswer &answer)
{
    Set &set = sets_[id];
    const SlurmOrder order = set.orders.front();
    /* the next poll shows whether it was performed */
    if (answer.kind == SlurmAnswer::Kind::NONE) {
        no_answer(answer.problem);
        return stop_orders(set);
    }
    if (answer.kind == SlurmAnswer::Kind::REFUSED && order.act == SlurmAct::ALLOCATE)
        return allocate_refused(id, set, answer);
    if (answer.kind == SlurmAnswer::Kind::REFUSED && order.act == SlurmAct::MERGE) {
        set.no_merge.insert(order.id);
        set.ended_by_us.erase(order.id);
        if (settings_.slurm_resize == "auto")
            use(Resize::SET, "Slurm refused to merge: " + answer.problem);
    }
    if (answer.kind == SlurmAnswer::Kind::REFUSED && order.act == SlurmAct::SHRINK) {
        log_line(LogLevel::WARNING, "Slurm does not release nodes: " + answer.problem,
                 {{"job", id},
                  {"slurm_job", order.id},
                  {"advice",
                   "they are released when the job ends; slurm.resize = \"set\" avoids this"}});
        set.shrink_after_ms = monotonic_ms() + SHRINK_PAUSE_MS;
        if (settings_.slurm_resize == "auto")
            use(Resize::SET, "Slurm refused to release nodes: " + answer.problem);
        return stop_orders(set);
    }
    /* A refused CANCEL: the job has ended already. */
    set.waited = false;
    set.orders.pop_front();
    next_order(id);
}

void SlurmBackend::allocate_refused(JobId id, Set &set, const SlurmAnswer &answer)
{
    SlurmOrder &order = set.orders.front();
    const Job *job = state_->job(id);
    SlurmTarget target = job ? target_of(*job) : SlurmTarget();
    bool still_wanted =
        target.acquires && target.request == order.request && target.step == set.step;
    Outcome outcome = outcome_of(id, set, refusal_kind(answer));
    if (still_wanted && outcome.never) {
        refuse(id, set, refusal_text(answer), outcome);
        return stop_orders(set);
    }
    if (still_wanted && !set.waited && settings_.slurm_wait_ms > 0 &&
        may_be_had_by_waiting(answer, order.expands != 0)) {
        set.waited = true;
        return next_order(id);
    }
    if (still_wanted && order.expands && !is_busy(answer) && settings_.slurm_resize == "auto") {
        use(Resize::SET, "Slurm refused an expansion: " + answer.problem);
        return stop_orders(set);
    }
    PendingKind kind =
        set.pending.empty() ? refusal_kind(answer) : pending_kind(set.pending);
    if (!set.pending.empty())
        outcome = outcome_of(id, set, kind);
    if (kind == PendingKind::NEVER_ON_SUCH_NODES)
        unfit_.try_emplace(id, clock_);
    if (still_wanted)
        refuse(id, set, set.pending.empty() ? refusal_text(answer) : pending_text(set.pending),
               outcome);
    stop_orders(set);
}

SlurmBackend::Outcome SlurmBackend::outcome_of(JobId id, const Set &set, PendingKind kind) const
{
    const Job *job = state_->job(id);
    if (!job || set.orders.empty())
        return {};
    const SlurmOrder &order = set.orders.front();
    if (order.act != SlurmAct::ALLOCATE || order.request != 0)
        return {};
    bool of_partition = kind == PendingKind::NEVER_SO_MANY_NODES;
    if (of_partition)
        kind = static_cast<int>(order.nodes.size()) < job_nodes_min_
            ? PendingKind::NEVER_SO_SMALL
            : PendingKind::NEVER_SO_LARGE;
    bool is_largest = job->start_at_most == 0 &&
        job->size() >= size_at_most(job->spec, job->spec.maximum);
    /* At the first time, a node may have left the partition since the last poll. */
    auto refused = unfit_.find(id);
    bool was_unfit = refused != unfit_.end() && refused->second < poll_began_;
    Outcome outcome;
    switch (kind) {
        case PendingKind::WAITS: break;
        case PendingKind::BUSY: outcome.busy = true; break;
        case PendingKind::NEVER: outcome.never = true; break;
        case PendingKind::NEVER_ON_SUCH_NODES: outcome.never = equal_nodes_ && was_unfit; break;
        case PendingKind::NEVER_SO_MANY_NODES:
        case PendingKind::NEVER_SO_SMALL: outcome.never = is_largest && equal_nodes_; break;
        case PendingKind::WAITS_SO_LARGE:
        case PendingKind::WAITS_FOR_JOBS: return smaller_start(*job, set, kind);
        case PendingKind::NEVER_SO_LARGE:
            outcome = smaller_start(*job, set, kind);
            outcome.never = outcome.nodes_max == 0 && equal_nodes_;
            if (of_partition && outcome.nodes_max > 0 && job_nodes_max_ > 0)
                outcome.nodes_max =
                    std::min(job_nodes_max_, static_cast<int>(order.nodes.size()) - 1);
    }
    return outcome;
}

/* The number of nodes to request instead.  Slurm names the limit, and not its value: half of them;
 * of a set, those that are granted already. */
SlurmBackend::Outcome SlurmBackend::smaller_start(const Job &job, const Set &set,
                                                  PendingKind kind) const
{
    bool of_one_job = kind == PendingKind::NEVER_SO_LARGE;
    size_t open = 0, all = job.blocks.size();
    for (const SlurmOrder &each : set.orders)
        open += each.act == SlurmAct::ALLOCATE ? each.nodes.size() : 0;
    if (of_one_job)
        all = open = set.orders.front().nodes.size();
    /* Whole nodes are requested: on one node, any number of processes is the same request. */
    bool is_smallest = job.size() <= size_at_least(job.spec, 1) || all <= 1 ||
        job.spec.nodes > 0 || !job.spec.nodelist.empty();
    bool counts = kind != PendingKind::WAITS_FOR_JOBS || resize_ == Resize::SET;
    if (is_smallest || !counts)
        return {};
    size_t granted = all > open ? all - open : 0;
    return {.per_job = of_one_job, .nodes_max = static_cast<int>(granted > 0 ? granted : all / 2)};
}

void SlurmBackend::refuse(JobId id, Set &set, const std::string &reason, const Outcome &outcome)
{
    uint64_t request = set.orders.front().request;
    set.answered = request;
    NodesRefused refused{id, set.step, request, "Slurm: " + reason};
    if (request == 0) {
        refused.never = outcome.never;
        refused.busy = outcome.busy;
        refused.nodes_max = outcome.nodes_max;
        refused.per_job = outcome.per_job;
        std::string known = std::exchange(refused_[id], reason);
        if (!outcome.busy && known != reason)
            log_line(LogLevel::WARNING, "Slurm refuses a start",
                     {{"job", id}, {"reason", reason}, {"nodes", set.sent_nodes}});
    }
    notify_(refused);
}

std::string SlurmBackend::why_acquiring(JobId id) const
{
    const Job *job = state_->job(id);
    auto found = sets_.find(id);
    if (!job || found == sets_.end())
        return "";
    const Set &set = found->second;
    SlurmTarget target = target_of(*job);
    if (!target.acquires || set.step != target.step || set.answered == target.request)
        return "";
    if (!set.busy || set.sent_nodes == 0)
        return "its request for nodes is sent to Slurm soon";
    int64_t age_s = (monotonic_ms() - set.sent_ms) / 1000;
    return "requested " + std::to_string(set.sent_nodes) +
        (set.sent_nodes == 1 ? " node" : " nodes") + " from Slurm " + std::to_string(age_s) +
        " s ago" + (set.pending.empty() ? "" : "; Slurm: " + pending_text(set.pending));
}

/* ---- losses ---------------------------------------------------------------------------------- */

void SlurmBackend::explain(JobId id, const NodeNames &taken)
{
    Set &set = sets_[id];
    set.busy = true;
    client_.list_ended(
        options_.partition, [this, id, taken](const SlurmAnswer &answer, const SlurmReport &poll) {
            Set &set = sets_[id];
            if (!answer.good()) {
                no_answer(answer.problem);
                return stop_orders(set);
            }
            std::string reason = reason_of_loss(id, set, poll, taken);
            set.explained = !reason.empty();
            if (!reason.empty())
                notify_(NodesLost{id, set.step, reason});
            stop_orders(set);
        });
}

/* Empty: no event that concerns the job. */
std::string SlurmBackend::reason_of_loss(JobId id, const Set &set, const SlurmReport &poll,
                                         const NodeNames &taken) const
{
    for (const SlurmJob &each : poll.jobs)
        if (is_own(each, cluster_, *state_) && each.tag->job == id && each.tag->step == set.step &&
            (each.state == SlurmJobState::ENDED || each.state == SlurmJobState::COMPLETING) &&
            !set.ended_by_us.contains(each.id) && !(each.tag->expands && each.word == "COMPLETED"))
            return how_it_ended(each);
    return taken.empty() ? "" : "Slurm has taken " + join_names(taken) + " from the job";
}

}  // namespace elastic::rm
