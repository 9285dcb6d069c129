/* See straggler_reporter.h: reports at growing intervals, and the end of a program in an agreed
 * adaptation.  P8. */

#include "stepmgr/monitor/straggler_reporter.h"

#include <algorithm>

namespace elastic {

namespace {

constexpr char NO_REPLY[] =
    "the proxies on these nodes have not connected, or have not replied:";

}  // namespace

void StragglerReporter::schedule_straggler_report()
{
    state_.adaptation->straggler_wait_ms = straggler_ms_;
    state_.adaptation->straggler_report_ms = straggler_ms_ > 0 ? state_.now_ms + straggler_ms_ : -1;
}

void StragglerReporter::report_stragglers()
{
    Adaptation &a = *state_.adaptation;
    a.straggler_wait_ms = std::min(a.straggler_wait_ms * 2,
                                   std::max(STRAGGLER_WAIT_MAX_MS, straggler_ms_));
    a.straggler_report_ms = state_.now_ms + a.straggler_wait_ms;
    if (state_.mode == InitMode::SETS && a.state != AdaptState::JOINING)
        report_pset_change_stragglers();
    else if (a.state == AdaptState::AGREED)
        query_counts(a.proxy_ids);
    else if (a.state == AdaptState::FREEZING)
        report_proxy_stragglers();
    else if (a.state == AdaptState::JOINING)
        report_joining_stragglers();
}

void StragglerReporter::check_time()
{
    const auto &a = state_.adaptation;
    if (a && a->straggler_report_ms >= 0 && state_.now_ms >= a->straggler_report_ms)
        report_stragglers();
}

void StragglerReporter::proxy_disconnected(const ProxyId &proxy_id)
{
    auto &a = state_.adaptation;
    if (a && a->counts_pending.erase(proxy_id) > 0 && a->counts_pending.empty())
        counts_complete();
}

void StragglerReporter::report_joining_stragglers()
{
    std::vector<RankCount> late;
    for (const Process &process : state_.world.processes(state_.adaptation->group)) {
        if (!process.ready)
            late.push_back({&process, {}});
    }
    notify_stragglers(
        std::string("these joining processes have not reached ") +
            (state_.mode == InitMode::SETS ? "MPI_Session_init" : "MPI_Comm_adapt_begin") + " yet",
        late);
}

/* SL3.  Also reports changes that no process queries, or to which the notified process does not
 * reply. */
void StragglerReporter::report_pset_change_stragglers()
{
    const Adaptation &a = *state_.adaptation;
    std::vector<RankCount> late;
    auto add = [&](const Process &process) {
        if (a.awaited.contains(process.uid) && !process.ended)
            late.push_back({&process, {}});
    };
    for (const Process *member : state_.world.members())
        add(*member);
    if (a.state == AdaptState::APPLYING && a.change.joining > 0) {
        for (const Process &process : state_.world.processes(a.group))
            add(process);
        return notify_stragglers(
            "these joining processes have not returned from MPI_Session_init yet", late);
    }
    if (a.state == AdaptState::APPLYING)
        return notify_stragglers(
            "the removal of these processes has been accepted, and they have not ended", late);
    log_stragglers({});
    /* Before this confirmation no process gets a reply about process sets. */
    const PsetChangeWait wait = hooks_.pset_change_wait();
    if (!wait.proxy_ids.empty())
        notify_waiting(NO_REPLY + hosts_of(wait.proxy_ids));
    else if (a.state == AdaptState::NOTIFIED)
        notify_waiting("process " + std::to_string(wait.notified_uid) +
                       " has been notified of the change, and has not accepted or declined it");
    else if (a.state == AdaptState::OFFERED || a.state == AdaptState::ORPHANED)
        notify_waiting("no process has queried the change with a process set that it applies to");
}

void StragglerReporter::query_counts(const std::set<ProxyId> &proxy_ids)
{
    Adaptation &a = *state_.adaptation;
    a.counts.clear();
    a.counts_pending.clear();
    for (const ProxyId &proxy_id : proxy_ids) {
        if (!state_.world.disconnected(proxy_id))
            a.counts_pending.insert(proxy_id);
    }
    state_.post(a.counts_pending, STEP_COUNTS, a.epoch, {});
    if (a.counts_pending.empty())
        counts_complete();
}

void StragglerReporter::on_counts(const ProxyId &proxy_id, uint32_t epoch,
                                  const std::vector<CountReport> &reports)
{
    bool awaited = state_.adaptation && epoch == state_.adaptation->epoch &&
                   state_.adaptation->counts_pending.erase(proxy_id) > 0;
    if (!awaited)
        return;                 /* belongs to an adaptation that has ended meanwhile */
    for (const CountReport &report : reports) {
        const Process *process =
            report.rank > INT32_MAX
                ? nullptr
                : state_.world.find(proxy_id.group, static_cast<int>(report.rank));
        if (process && process->proxy == proxy_id.number)
            state_.adaptation->counts.push_back({process, report});
    }
    if (state_.adaptation->counts_pending.empty())
        counts_complete();
}

void StragglerReporter::counts_complete()
{
    Adaptation &a = *state_.adaptation;
    if (a.state == AdaptState::AGREED) {
        report_member_stragglers();
        return;
    }
    if (a.state == AdaptState::ENDING)
        check_ending();
}

void StragglerReporter::start_ending()
{
    state_.adaptation->straggler_report_ms = -1;
    state_.adaptation->ending_until_ms = state_.now_ms + ENDING_WAIT_MS;
    query_counts(state_.adaptation->proxy_ids);
}

void StragglerReporter::ending_time()
{
    Adaptation &a = *state_.adaptation;
    if (a.ending_until_ms >= 0 && state_.now_ms >= a.ending_until_ms) {
        hooks_.raise(state_.ending ? AdaptEvent::PROGRAM_OVER : AdaptEvent::WINDOW_BROKEN);
    } else if (a.ending_query_ms >= 0 && state_.now_ms >= a.ending_query_ms) {
        a.ending_query_ms = -1;
        query_counts(a.proxy_ids);
    }
}

/* Evaluates the boards of ended and living processes.  A process that ended with its slot in the
 * window failed there.  Any other ended process has committed, was never notified, or ignored the
 * notification.  If it has committed, all others are at least in commit, and will leave it: wait
 * for them.  In the other cases the program is over.  That is queried twice, because the report of
 * a commit may be in transit. */
void StragglerReporter::check_ending()
{
    Adaptation &a = *state_.adaptation;
    bool died_inside = false, notified_died = false, inside = false, alone = false, living = false;
    for (const RankCount &c : a.counts) {
        if (!a.commit_pending.contains(c.process->proxy_id()))
            continue;
        bool joining = state_.is_joining(*c.process), ended = c.process->ended;
        uint32_t phase = c.report.phase;
        died_inside |= ended && (is_inside(phase) || phase == PMI_ADAPT_PHASE_JOINING);
        notified_died |= ended && phase == PMI_ADAPT_PHASE_TOLD;
        inside |= !ended && !joining && (is_inside(phase) || phase == PMI_ADAPT_PHASE_TOLD);
        alone |= !ended && !joining && is_inside(phase) && phase != PMI_ADAPT_PHASE_COMMIT;
        living |= !ended && !joining;
    }
    if (died_inside || (notified_died && inside) || alone) {
        hooks_.raise(AdaptEvent::WINDOW_BROKEN);
    } else if (!inside && state_.ending && (a.ending_confirmed || !living)) {
        hooks_.raise(AdaptEvent::PROGRAM_OVER);
    } else {
        a.ending_confirmed = !inside && state_.ending;
        a.ending_query_ms = state_.now_ms + ENDING_QUERY_MS;
        if (inside)             /* all have replied, and a process has not committed yet */
            a.ending_until_ms = state_.now_ms + ENDING_WAIT_MS;
    }
}

void StragglerReporter::report_member_stragglers()
{
    const Adaptation &a = *state_.adaptation;
    std::vector<RankCount> late, idle, over, inside;
    for (const RankCount &c : a.counts) {
        bool committed = !a.commit_pending.contains(c.process->proxy_id());
        if (c.process->ended || committed)
            continue;
        if (is_inside(c.report.phase))
            inside.push_back(c);
        else if (c.process->world_rank < 0)
            continue;           /* they have waited in begin since before the agreement */
        else if (c.report.phase == PMI_ADAPT_PHASE_TOLD)
            idle.push_back(c);
        else if (c.report.phase == PMI_ADAPT_PHASE_IGNORED)
            over.push_back(c);
        else if (c.report.count < a.target)
            late.push_back(c);
    }
    auto by_rank = [](const RankCount &x, const RankCount &y) {
        return x.process->world_rank < y.process->world_rank;
    };
    std::sort(late.begin(), late.end(), by_rank);
    std::sort(idle.begin(), idle.end(), by_rank);
    std::sort(over.begin(), over.end(), by_rank);
    if (!late.empty())
        notify_stragglers(
            "the agreed probe number " + std::to_string(a.target) + " has not been reached by",
            late);
    else if (!idle.empty())
        notify_stragglers(
            "these processes have been notified and have not called MPI_Comm_adapt_begin", idle);
    else if (!over.empty())
        notify_stragglers(
            "these processes have been notified and have called MPI_Finalize without "
            "MPI_Comm_adapt_begin",
            over);
    else if (!inside.empty())
        report_window_stragglers(std::move(inside));
}

/* Before the agreement, when all joining processes wait in begin: reports proxies that have not
 * replied, or joining processes that have not prepared. */
void StragglerReporter::report_proxy_stragglers()
{
    const Adaptation &a = *state_.adaptation;
    log_stragglers({});
    if (a.prepare_pending.empty())
        notify_waiting(NO_REPLY + hosts_of(a.freeze_pending));
    else
        notify_waiting("joining processes on these nodes have not prepared in "
                       "MPI_Comm_adapt_begin:" +
                       hosts_of(a.prepare_pending));
}

/* " a, b" */
std::string StragglerReporter::hosts_of(const std::set<ProxyId> &proxy_ids) const
{
    std::set<std::string> hosts;
    for (const ProxyId &proxy_id : proxy_ids)
        hosts.insert(state_.world.host_of(proxy_id));
    std::string text;
    for (const std::string &host : hosts)
        text += (text.empty() ? " " : ", ") + host;
    return text;
}

void StragglerReporter::notify_stragglers(const std::string &what,
                                          const std::vector<RankCount> &late)
{
    std::string text;
    for (size_t i = 0; i < std::min(late.size(), STRAGGLER_TEXT_RANKS_MAX); i++) {
        bool joining = late[i].process->world_rank < 0;
        text += (text.empty() ? " " : ", ") + state_.describe(*late[i].process) +
                (joining || state_.mode == InitMode::SETS
                     ? ""
                     : " (" + std::to_string(late[i].report.count) + " probes)");
    }
    if (late.size() > STRAGGLER_TEXT_RANKS_MAX)
        text += " and " + std::to_string(late.size() - STRAGGLER_TEXT_RANKS_MAX) + " more";
    log_stragglers(late);
    notify_waiting(what + ":" + text);
}

void StragglerReporter::log_stragglers(const std::vector<RankCount> &late)
{
    Json ranks = Json::array();
    for (size_t i = 0; i < std::min(late.size(), STRAGGLER_EVENT_RANKS_MAX); i++) {
        const Process &process = *late[i].process;
        bool joining = process.world_rank < 0;
        ranks.push_back({{"rank", joining ? process.rank : process.world_rank},
                         {"joining", joining},
                         {"kind", kind_of(process)},
                         {"host", process.host},
                         {"count", late[i].report.count},
                         {"phase", late[i].report.phase},
                         {"phase_ms", late[i].report.phase_ms}});
    }
    state_.log("behind", {{"target", state_.adaptation->target},
                          {"waited_ms", waited_ms()},
                          {"total", late.size()},
                          {"ranks", ranks}});
}

int64_t StragglerReporter::waited_ms() const
{
    const Adaptation &a = *state_.adaptation;
    return state_.now_ms - (a.agreed_ms > 0 ? a.agreed_ms : a.requested_ms);
}

void StragglerReporter::notify_waiting(const std::string &what)
{
    const Adaptation &a = *state_.adaptation;
    state_.notify_user("adaptation " + std::to_string(a.epoch) + " (" +
                       std::to_string(a.old_size) + " -> " + std::to_string(a.change.new_size) +
                       " processes) has waited for " + std::to_string(waited_ms()) + " ms: " +
                       what +
                       "; no process is ended because of this");
}

}  // namespace elastic
