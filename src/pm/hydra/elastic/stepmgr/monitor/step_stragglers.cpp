/* See step.h: P8, who is late; and who is in the window when processes end. */

#include <algorithm>

#include "stepmgr/step.h"

namespace elastic {

namespace {

constexpr char NO_REPLY[] =
    "the node daemons have not connected, or have not answered, on these nodes:";

}  // namespace

/* From now on, report after behind_ms, then after twice that, and so on. */
void Step::plan_behind()
{
    adaptation_->behind_wait_ms = behind_ms_;
    adaptation_->behind_at_ms = behind_ms_ > 0 ? now_ms_ + behind_ms_ : -1;
}

void Step::behind()
{
    Adaptation &a = *adaptation_;
    a.behind_wait_ms = std::min(a.behind_wait_ms * 2, std::max(BEHIND_WAIT_MAX_MS, behind_ms_));
    a.behind_at_ms = now_ms_ + a.behind_wait_ms;
    if (mode_ == InitMode::SETS && a.state != AdaptState::JOINING)
        set_change_behind();
    else if (a.state == AdaptState::AGREED)
        ask_counts(a.agents);
    else if (a.state == AdaptState::FREEZING)
        daemons_behind();
    else if (a.state == AdaptState::JOINING)
        joiners_behind();
}

void Step::joiners_behind()
{
    std::vector<RankCount> late;
    for (const Process &process : world_.processes(adaptation_->group)) {
        if (!process.ready)
            late.push_back({&process, {}});
    }
    tell_behind(std::string("these joining processes do not wait in ") +
                    (mode_ == InitMode::SETS ? "MPI_Session_init" : "MPI_Comm_adapt_begin") + " yet", late);
}

/* SL3; and what nobody asks for, or answers. */
void Step::set_change_behind()
{
    const Adaptation &a = *adaptation_;
    std::vector<RankCount> late;
    auto add = [&](const Process &process) {
        if (a.awaited.contains(process.uid) && !process.ended)
            late.push_back({&process, {}});
    };
    for (const Process *member : world_.members())
        add(*member);
    if (a.state == AdaptState::TAKEN && a.change.joining > 0) {
        for (const Process &process : world_.processes(a.group))
            add(process);
        return tell_behind("these joining processes have not returned from MPI_Session_init yet", late);
    }
    if (a.state == AdaptState::TAKEN)
        return tell_behind("these processes are to leave, which has been accepted, and have not ended", late);
    log_behind({});
    /* Before that no process gets a reply about process sets. */
    if (std::set<Agent> owing = set_forgets_.owing(); !owing.empty())
        tell_waiting(NO_REPLY + hosts_of(owing));
    else if (a.state == AdaptState::TOLD)
        tell_waiting("process " + std::to_string(told_ ? told_->uid : 0) +
                     " has been told of it, and has neither accepted nor declined it");
    else if (a.state == AdaptState::OFFERED || a.state == AdaptState::ORPHANED)
        tell_waiting("no process has asked for it, with a set that it fits to");
}

void Step::ask_counts(const std::set<Agent> &agents)
{
    Adaptation &a = *adaptation_;
    a.counts.clear();
    a.counts_owed.clear();
    for (const Agent &agent : agents) {
        if (!world_.departed(agent))
            a.counts_owed.insert(agent);
    }
    send(a.counts_owed, STEP_COUNTS, {});
    if (a.counts_owed.empty())
        counts_complete();
}

void Step::on_counts(const Agent &agent, uint32_t epoch, const std::vector<CountReport> &reports)
{
    bool awaited = adaptation_ && epoch == adaptation_->epoch &&
                   adaptation_->counts_owed.erase(agent) > 0;
    if (!awaited)
        return;                 /* of an adaptation that has ended meanwhile */
    for (const CountReport &report : reports) {
        const Process *process =
            report.rank > INT32_MAX ? nullptr
                                    : world_.find(agent.group, static_cast<int>(report.rank));
        if (process && process->proxy == agent.proxy)
            adaptation_->counts.push_back({process, report});
    }
    if (adaptation_->counts_owed.empty())
        counts_complete();
}

void Step::counts_complete()
{
    Adaptation &a = *adaptation_;
    if (a.state == AdaptState::AGREED) {
        members_behind();
        return;
    }
    if (a.state == AdaptState::ENDING)
        look_at_ending();
}

void Step::start_ending()
{
    adaptation_->behind_at_ms = -1;
    adaptation_->ending_until_ms = now_ms_ + ENDING_WAIT_MS;
    ask_counts(adaptation_->agents);
}

void Step::ending_time()
{
    Adaptation &a = *adaptation_;
    if (a.ending_until_ms >= 0 && now_ms_ >= a.ending_until_ms) {
        raise(ending_ ? AdaptEvent::PROGRAM_OVER : AdaptEvent::WINDOW_BROKEN);
    } else if (a.ending_ask_ms >= 0 && now_ms_ >= a.ending_ask_ms) {
        a.ending_ask_ms = -1;
        ask_counts(a.agents);
    }
}

/* What the boards say about those who ended and those who live.  One who ended with its slot still
 * in the window died there.  One who ended otherwise has either committed, and then everybody is in commit
 * at least (others are on their way out of it: wait for them), or never was told, or ignored it (the program
 * is over; asked twice, because a commit may just be on its way here). */
void Step::look_at_ending()
{
    Adaptation &a = *adaptation_;
    bool died_inside = false, told_died = false, inside = false, alone = false, living = false;
    for (const RankCount &c : a.counts) {
        if (!a.commit_owed.contains(c.process->agent()))
            continue;
        bool joining = is_joiner(*c.process), ended = c.process->ended;
        uint32_t phase = c.report.phase;
        died_inside |= ended && (is_inside(phase) || phase == PMI_ADAPT_PHASE_JOINING);
        told_died |= ended && phase == PMI_ADAPT_PHASE_TOLD;
        inside |= !ended && !joining && (is_inside(phase) || phase == PMI_ADAPT_PHASE_TOLD);
        alone |= !ended && !joining && is_inside(phase) && phase != PMI_ADAPT_PHASE_COMMIT;
        living |= !ended && !joining;
    }
    if (died_inside || (told_died && inside) || alone) {
        raise(AdaptEvent::WINDOW_BROKEN);
    } else if (!inside && ending_ && (a.ending_confirmed || !living)) {
        raise(AdaptEvent::PROGRAM_OVER);
    } else {
        a.ending_confirmed = !inside && ending_;
        a.ending_ask_ms = now_ms_ + ENDING_ASK_MS;
        if (inside)             /* all answer, and somebody is yet to commit */
            a.ending_until_ms = now_ms_ + ENDING_WAIT_MS;
    }
}

void Step::members_behind()
{
    const Adaptation &a = *adaptation_;
    std::vector<RankCount> late, idle, over, inside;
    for (const RankCount &c : a.counts) {
        bool committed = !a.commit_owed.contains(c.process->agent());
        if (c.process->ended || committed)
            continue;
        if (is_inside(c.report.phase))
            inside.push_back(c);
        else if (c.process->world_rank < 0)
            continue;           /* they wait in begin since before the agreement */
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
        tell_behind("probe number " + std::to_string(a.target) + " is agreed on and not reached by",
                    late);
    else if (!idle.empty())
        tell_behind("these have been told and have not called MPI_Comm_adapt_begin", idle);
    else if (!over.empty())
        tell_behind("these have been told and have called MPI_Finalize without MPI_Comm_adapt_begin", over);
    else if (!inside.empty())
        window_behind(std::move(inside));
}

/* Before the agreement, and all joining processes wait in begin: it is the daemons' turn, or joining processes
 * do not get on with their preparations. */
void Step::daemons_behind()
{
    const Adaptation &a = *adaptation_;
    log_behind({});
    if (a.prepare_owed.empty())
        tell_waiting(NO_REPLY + hosts_of(a.freeze_owed));
    else
        tell_waiting("joining processes do not prepare in MPI_Comm_adapt_begin on these nodes:" +
                     hosts_of(a.prepare_owed));
}

/* " a, b" */
std::string Step::hosts_of(const std::set<Agent> &agents) const
{
    std::set<std::string> hosts;
    for (const Agent &agent : agents)
        hosts.insert(world_.host_of(agent));
    std::string text;
    for (const std::string &host : hosts)
        text += (text.empty() ? " " : ", ") + host;
    return text;
}

void Step::tell_behind(const std::string &what, const std::vector<RankCount> &late)
{
    std::string text;
    for (size_t i = 0; i < std::min(late.size(), BEHIND_TEXT_RANKS_MAX); i++) {
        bool joining = late[i].process->world_rank < 0;
        text += (text.empty() ? " " : ", ") + describe(*late[i].process) +
                (joining || mode_ == InitMode::SETS ? ""
                                                    : " (" + std::to_string(late[i].report.count) + " probes)");
    }
    if (late.size() > BEHIND_TEXT_RANKS_MAX)
        text += " and " + std::to_string(late.size() - BEHIND_TEXT_RANKS_MAX) + " more";
    log_behind(late);
    tell_waiting(what + ":" + text);
}

void Step::log_behind(const std::vector<RankCount> &late)
{
    Json ranks = Json::array();
    for (size_t i = 0; i < std::min(late.size(), BEHIND_EVENT_RANKS_MAX); i++) {
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
    log("behind", {{"target", adaptation_->target},
                   {"waited_ms", waited_ms()},
                   {"total", late.size()},
                   {"ranks", ranks}});
}

int64_t Step::waited_ms() const
{
    const Adaptation &a = *adaptation_;
    return now_ms_ - (a.agreed_ms > 0 ? a.agreed_ms : a.requested_ms);
}

void Step::tell_waiting(const std::string &what)
{
    const Adaptation &a = *adaptation_;
    effects_.tell_user(effects_.context,
                       ("adaptation " + std::to_string(a.epoch) + " (" +
                        std::to_string(a.old_size) + " -> " + std::to_string(a.change.new_size) +
                        " processes) waits for " + std::to_string(waited_ms()) + " ms: " + what +
                        "; nothing is ended because of this").c_str());
}

}  // namespace elastic
