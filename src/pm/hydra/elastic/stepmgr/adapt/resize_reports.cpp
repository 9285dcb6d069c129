/* See world_resize.h: events of processes and proxies, and time. */

#include <algorithm>
#include <cstring>

#include "stepmgr/adapt/plan.h"
#include "stepmgr/adapt/world_resize.h"

namespace elastic {

void WorldResize::joining_started(int group, std::span<const step_process> processes)
{
    if (processes.size() != static_cast<size_t>(state_.adaptation->change.joining)) {
        raise(AdaptEvent::JOINING_FAILED, std::to_string(processes.size()) +
                                           " processes were started instead of " +
                                           std::to_string(state_.adaptation->change.joining));
        return;
    }
    state_.world.add_group(group, state_.adaptation->first_uid, processes);
    state_.adaptation->unready = state_.adaptation->change.joining;
    Json hosts = Json::array();
    for (const Process &process : state_.world.processes(group))
        hosts.push_back(process.host);
    state_.log("placed", {{"group", group}, {"hosts", hosts}});
    raise(AdaptEvent::STARTED);
}

void WorldResize::on_ready(Process &process, uint32_t epoch, const ReadyReport &report)
{
    bool awaited = state_.is_joining(process) && state_.adaptation->state == AdaptState::JOINING &&
                   epoch == state_.adaptation->epoch && process.takes_part && !process.ready;
    if (!awaited) {
        if (!state_.killed_groups.contains(process.group))
            state_.unexpected("readiness of " + state_.describe(process));
        return;
    }
    process.ready = true;
    process.segment = report.segment;
    state_.log("ready", {{"rank", process.rank}, {"host", process.host}, {"uid", process.uid}});
    if (--state_.adaptation->unready > 0)
        return;
    if (std::string why =
            cannot_share_memory(state_.world.members(), state_.world.processes(process.group));
        !why.empty())
        raise(AdaptEvent::WITHDRAW, why);
    else
        raise(AdaptEvent::ALL_READY);
}

/* After the agreement the report has no effect: the process gets the error in its window.  Members
 * have the plan from the freeze on, so an earlier report belongs to an adaptation that was
 * withdrawn in this epoch. */
void WorldResize::on_unable(const Process &process, uint32_t epoch, const std::string &why)
{
    state_.log("unable", {{"rank", process.world_rank}, {"uid", process.uid}, {"reason", why}});
    bool joins = state_.is_joining(process) && before_agreement(state_.adaptation->state) &&
                 epoch == state_.adaptation->epoch;
    if (joins || (is_freezing(epoch) && !state_.killed_groups.contains(process.group)))
        raise(AdaptEvent::WITHDRAW,
              state_.describe(process) + " cannot prepare for the adaptation: " + why);
}

bool WorldResize::is_freezing(uint32_t epoch) const
{
    return state_.adaptation && state_.adaptation->state == AdaptState::FREEZING &&
           epoch == state_.adaptation->epoch;
}

void WorldResize::on_prepared(const ProxyId &proxy_id, uint32_t epoch)
{
    bool freezing = is_freezing(epoch),
         joins = freezing && state_.adaptation->group == proxy_id.group;
    if (joins && state_.adaptation->prepare_pending.erase(proxy_id) > 0) {
        state_.log("prepared", {{"group", proxy_id.group}, {"proxy", proxy_id.number}});
        if (state_.adaptation->prepare_pending.empty())
            send_plan_to_world();
    } else if (freezing && !joins && state_.adaptation->prepare_hoped.contains(proxy_id)) {
        prepared_in_advance(proxy_id);
    } else if (joins || !may_come_late(proxy_id, epoch)) {
        state_.unexpected("preparation that is not awaited");
    }
}

/* Joining processes of one proxy are connected to all processes that preconnect. */
void WorldResize::on_greeted(const ProxyId &proxy_id, uint32_t epoch)
{
    bool joins = is_freezing(epoch) && state_.adaptation->group == proxy_id.group;
    if (joins && !state_.adaptation->prepare_pending.contains(proxy_id) &&
        state_.adaptation->greeted.insert(proxy_id).second)
        prepared_in_advance(proxy_id);
    else if (joins || !may_come_late(proxy_id, epoch))
        state_.unexpected("preconnection that is not awaited");
}

void WorldResize::prepared_in_advance(const ProxyId &proxy_id)
{
    state_.log("prepared", {{"group", proxy_id.group}, {"proxy", proxy_id.number}});
    if (state_.adaptation->prepare_hoped.erase(proxy_id) > 0 &&
        state_.adaptation->prepare_hoped.empty() && state_.adaptation->freeze_at_ms >= 0)
        freeze_in(state_.adaptation->paced_ms - state_.now_ms);
}

/* Whether a report may arrive after the freeze or a withdrawal. */
bool WorldResize::may_come_late(const ProxyId &proxy_id, uint32_t epoch) const
{
    return (epoch > 0 && epoch == planned_epoch_) || state_.killed_groups.contains(proxy_id.group);
}

void WorldResize::on_frozen(const ProxyId &proxy_id, uint32_t epoch, uint64_t ceiling)
{
    auto pending = freezes_pending_.find(proxy_id);
    if (pending == freezes_pending_.end()) {
        state_.unexpected("ceiling that is not awaited");
        return;
    }
    if (--pending->second > 0)
        return;                 /* reply to a freeze that was withdrawn meanwhile */
    freezes_pending_.erase(pending);
    /* the next freeze may have the same epoch, and not have been sent yet */
    bool awaited = state_.adaptation && state_.adaptation->freeze_sent &&
                   state_.adaptation->state == AdaptState::FREEZING &&
                   epoch == state_.adaptation->epoch &&
                   state_.adaptation->freeze_pending.erase(proxy_id) > 0;
    if (!awaited)
        return;
    state_.adaptation->target = std::max(state_.adaptation->target, ceiling);
    state_.log("frozen",
               {{"group", proxy_id.group}, {"proxy", proxy_id.number}, {"ceiling", ceiling}});
    if (state_.adaptation->freeze_pending.empty())
        raise(AdaptEvent::ALL_FROZEN);
}

void WorldResize::on_committed(const ProxyId &proxy_id, uint32_t epoch)
{
    bool awaited = state_.adaptation && epoch == state_.adaptation->epoch &&
                   (state_.adaptation->state == AdaptState::AGREED ||
                    state_.adaptation->state == AdaptState::ENDING) &&
                   state_.adaptation->commit_pending.erase(proxy_id) > 0;
    if (!awaited) {
        state_.unexpected("commit that is not awaited");
        return;
    }
    state_.log("agent_committed", {{"group", proxy_id.group}, {"proxy", proxy_id.number}});
    if (state_.adaptation->commit_pending.empty())
        raise(AdaptEvent::ALL_COMMITTED);
}

/* ---- ends ------------------------------------------------------------------------------------ */

void WorldResize::process_over(const Process &process, bool by_itself, const std::string &cause)
{
    if (state_.is_joining(process))
        joining_over(process, by_itself, cause);
    else if (process.world_rank >= 0)
        member_over(process, by_itself, cause);
    else
        left_over(process);
}

/* The proxy sends no further replies to freezes. */
void WorldResize::proxy_disconnected(const ProxyId &proxy_id)
{
    freezes_pending_.erase(proxy_id);
}

void WorldResize::joining_over(const Process &process, bool by_itself, const std::string &cause)
{
    bool has_committed = !before_agreement(state_.adaptation->state) &&
                         !state_.adaptation->commit_pending.contains(process.proxy_id());
    if (has_committed && by_itself)
        /* early end: the commit of other processes has not been reported yet */
        state_.ending = true;
    else if (!before_agreement(state_.adaptation->state) && by_itself)
        raise(AdaptEvent::PARTICIPANT_ENDED, cause);
    else if (by_itself && process.init == InitMode::ADAPTIVE && !process.ready)
        raise(AdaptEvent::JOINING_FAILED, cause + " without having called MPI_Comm_adapt_begin");
    else
        raise(AdaptEvent::JOINING_FAILED, cause);
}

void WorldResize::member_over(const Process &process, bool by_itself, const std::string &cause)
{
    bool leaving = state_.is_leaving(process);
    bool agreed = state_.adaptation && !before_agreement(state_.adaptation->state);
    bool has_committed = agreed && !state_.adaptation->commit_pending.contains(process.proxy_id());
    state_.ending = state_.ending || !(leaving && has_committed);
    state_.broken = state_.broken || !by_itself;
    if (state_.adaptation && !agreed)
        raise(by_itself ? AdaptEvent::JOB_ENDED : AdaptEvent::MEMBER_FAILED,
              by_itself ? "the job ended (" + cause + ")" : cause);
    else if (agreed && !by_itself)
        raise(AdaptEvent::MEMBER_FAILED, cause);
    else if (agreed && !has_committed)
        raise(AdaptEvent::PARTICIPANT_ENDED, "the job ended (" + cause + ")");
    if (state_.world.living() == 0)
        hooks_.job_over();
}

void WorldResize::left_over(const Process &process)
{
    auto found = left_.find(process.left_epoch);
    if (process.left_epoch == 0 || found == left_.end())
        return;
    LeftProcesses &leaving = found->second;
    if (--leaving.remaining > 0)
        return;
    state_.journal.add(state_.now_ms, "freed", {{"request", leaving.request},
                                    {"epoch", found->first},
                                    {"hosts", leaving.hosts},
                                    {"uids", leaving.uids}});
    left_.erase(found);
}

void WorldResize::terminate(int signum)
{
    const char *name = sigabbrev_np(signum);
    termination_ = "mpiexec received a signal to end (SIG" + std::string(name ? name : "?") + ")";
    state_.ending = state_.broken = true;
    if (state_.adaptation && before_agreement(state_.adaptation->state))
        raise(AdaptEvent::WITHDRAW, termination_);
}

/* ---- time ------------------------------------------------------------------------------------ */

void WorldResize::check_deadline()
{
    if (state_.adaptation && state_.adaptation->deadline_unix_ms != 0 &&
        before_agreement(state_.adaptation->state) &&
        state_.unix_now_ms() >= state_.adaptation->deadline_unix_ms)
        raise(AdaptEvent::WITHDRAW, state_.adaptation->state == AdaptState::OFFERED
                  ? "the deadline passed before a process queried it"
                  : "the deadline passed before the joining processes were ready");
}

void WorldResize::check_freeze()
{
    if (state_.adaptation && state_.adaptation->freeze_at_ms >= 0 &&
        state_.now_ms >= state_.adaptation->freeze_at_ms)
        send_freeze();
}

}  // namespace elastic
