/* See unreceived_messages.h. */

#include "stepmgr/monitor/unreceived_messages.h"

#include <algorithm>
#include <string>

namespace elastic {

/* The user gets all reports together when the adaptation ends.  A report on a slower path may
 * arrive later. */
void UnreceivedMessages::on_report(const Process &process, uint32_t epoch,
                                   const UnreceivedReport &report)
{
    bool under_way = state_.adaptation && epoch == state_.adaptation->epoch;
    if (!under_way && (epoch != state_.epoch || epoch == 0)) {
        state_.unexpected("messages that were not received in epoch " + std::to_string(epoch));
        return;
    }
    std::string text = std::to_string(report.count) + " on " + report.communicator + " to " +
                       state_.describe(process) + " (the first from rank " +
                       std::to_string(report.source) + " with tag " + std::to_string(report.tag) +
                       ")";
    if (under_way && state_.adaptation->unreceived.size() >= EVENTS_MAX) {
        state_.adaptation->unreceived.emplace_back();
        return;
    }
    state_.journal.add(state_.now_ms, "unreceived", {{"epoch", epoch},
                                         {"communicator", report.communicator},
                                         {"count", report.count},
                                         {"rank", process.world_rank < 0 ? process.rank
                                          : process.world_rank},
                                         {"joining", state_.is_joining(process)},
                                         {"host", process.host},
                                         {"source", report.source},
                                         {"tag", report.tag}});
    if (under_way)
        state_.adaptation->unreceived.push_back(text);
    else
        state_.notify_user("adaptation " + std::to_string(epoch) +
                           ": these messages were not received before MPI_Comm_adapt_commit and "
                           "are lost: " + text);
}

void UnreceivedMessages::notify_user() const
{
    const Adaptation &a = *state_.adaptation;
    if (a.unreceived.empty())
        return;
    std::string text;
    for (size_t i = 0; i < std::min(a.unreceived.size(), TEXT_MAX); i++)
        text += (text.empty() ? "" : "; ") + a.unreceived[i];
    if (a.unreceived.size() > TEXT_MAX)
        text += "; and on " + std::to_string(a.unreceived.size() - TEXT_MAX) + " more processes";
    state_.notify_user("adaptation " + std::to_string(a.epoch) + " (" + std::to_string(a.old_size) +
                       " -> " + std::to_string(a.change.new_size) +
                       " processes): these messages were not received before MPI_Comm_adapt_commit "
                       "and are lost: " + text);
}

}  // namespace elastic
