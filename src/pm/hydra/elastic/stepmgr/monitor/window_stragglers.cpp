/* See straggler_reporter.h: processes that stay in the window, and adaptations that did not happen
 * because the program was over. */

#include "stepmgr/monitor/straggler_reporter.h"

#include <algorithm>

namespace elastic {

namespace {

struct WindowPhase {
    uint32_t phase;
    const char *where;
};
constexpr WindowPhase WINDOW_PHASES[] = {
    {PMI_ADAPT_PHASE_BEGIN, "in MPI_Comm_adapt_begin"},
    {PMI_ADAPT_PHASE_WINDOW, "between begin and commit"},
    {PMI_ADAPT_PHASE_COMMIT, "in MPI_Comm_adapt_commit"},
};

/* " for 900 ms", " for 900 to 1000 ms", or "" if not known. */
std::string duration(const std::vector<RankCount> &processes)
{
    auto shorter = [](const RankCount &x, const RankCount &y) {
        return x.report.phase_ms < y.report.phase_ms;
    };
    auto [least, most] = std::minmax_element(processes.begin(), processes.end(), shorter);
    uint64_t from = least->report.phase_ms, to = most->report.phase_ms;
    if (to == 0)
        return "";
    return " for " + (from == to ? "" : std::to_string(from) + " to ") + std::to_string(to) + " ms";
}

int shown_rank(const Process &process)
{
    return process.world_rank < 0 ? process.rank : process.world_rank;
}

}  // namespace

const char *StragglerReporter::kind_of(const Process &process) const
{
    bool leaves = state_.adaptation && state_.adaptation->delta
                      ? state_.adaptation->delta->contains(process.uid)
                      : state_.is_leaving(process);
    return state_.is_joining(process) ? "joining" : leaves ? "leaving" : "staying";
}

/* Names few processes with their nodes, many as ranges of ranks.  Sorted by rank. */
std::string StragglerReporter::name_processes(std::vector<RankCount> processes) const
{
    std::string text;
    std::ranges::stable_sort(processes, {},
                             [](const RankCount &c) { return shown_rank(*c.process); });
    for (const char *kind : {"staying", "leaving", "joining"}) {
        std::vector<int> ranks;
        std::string each;
        for (const RankCount &c : processes) {
            if (std::string_view(kind) != kind_of(*c.process))
                continue;
            ranks.push_back(shown_rank(*c.process));
            each += (each.empty() ? "" : ", ") +
                    (c.process->world_rank < 0 ? "" : kind + std::string(" ")) +
                    state_.describe(*c.process);
        }
        if (ranks.empty())
            continue;
        text += text.empty() ? "" : ", ";
        text += ranks.size() <= WINDOW_NAMES_MAX
                    ? each
                    : kind + std::string(" ranks ") +
                          shorten(format_ranks(ranks), WINDOW_RANKS_TEXT_MAX);
    }
    return text;
}

/* All processes are in the window, so the delay is there. */
void StragglerReporter::report_window_stragglers(std::vector<RankCount> inside)
{
    std::string text;
    for (const WindowPhase &each : WINDOW_PHASES) {
        std::vector<RankCount> here;
        std::copy_if(inside.begin(), inside.end(), std::back_inserter(here),
                     [&](const RankCount &c) { return c.report.phase == each.phase; });
        if (!here.empty())
            text += (text.empty() ? "" : "; ") + std::string(each.where) + duration(here) + ": " +
                    name_processes(here);
    }
    log_stragglers(inside);
    notify_waiting("the adaptation window is open, " + text);
}

/* Processes that called MPI_Finalize after a probe with TRUE, by the last round of counts. */
std::string StragglerReporter::ignored() const
{
    std::vector<RankCount> who;
    for (const RankCount &c : state_.adaptation->counts) {
        if (c.report.phase == PMI_ADAPT_PHASE_IGNORED)
            who.push_back(c);
    }
    return name_processes(who);
}

/* The program is over, and the adaptation under way did not happen.  That may be chance or an error
 * in the program, which no other message would show. */
void StragglerReporter::notify_unfinished()
{
    const Adaptation &a = *state_.adaptation;
    std::string text = "adaptation " + std::to_string(a.epoch) + " (" + std::to_string(a.old_size) +
                       " -> " + std::to_string(a.change.new_size) + " processes, " + a.label +
                       ") did not take place: ";
    if (std::string who = ignored(); !who.empty()) {
        text += "MPI_Probe_adapt had returned MPI_ADAPT_TRUE, and MPI_Finalize was called without "
                "MPI_Comm_adapt_begin by " + who;
    } else if (a.group >= 0 && !state_.managed) {
        auto joining = state_.world.processes(a.group);
        auto waiting = std::count_if(joining.begin(), joining.end(),
                                     [](const Process &p) { return p.ready; });
        text += "the program ended first";
        if (a.target > 0)
            text += ", before the agreed probe number " + std::to_string(a.target);
        text += "; " + std::to_string(waiting) + " of " + std::to_string(a.change.joining) +
                " joining processes had called " +
                (state_.mode == InitMode::SETS
                     ? "MPI_Session_init, and no process had accepted them"
                     : "MPI_Comm_adapt_begin");
    } else {
        return;
    }
    state_.notify_user(text);
}

}  // namespace elastic
