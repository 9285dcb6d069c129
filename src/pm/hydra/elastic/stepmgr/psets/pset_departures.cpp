/* See pset_departures.h. */

#include "stepmgr/psets/pset_departures.h"

#include <map>
#include <string>
#include <vector>

namespace elastic {

void PsetDepartures::process_ended()
{
    if (due_ms_ < 0)
        due_ms_ = state_.now_ms + MORE_MS;
}

void PsetDepartures::adaptation_ended()
{
    if (state_.mode == InitMode::SETS && state_.world.living() < state_.world.size())
        due_ms_ = state_.now_ms;
}

/* Not while a change is under way, because it was requested with the present ranks, and not at the
 * end of the job. */
void PsetDepartures::drop_ended()
{
    Change change;
    std::vector<uint32_t> uids;
    std::map<std::string, int> hosts;

    due_ms_ = -1;
    if (state_.mode != InitMode::SETS || state_.adaptation || state_.ending ||
        state_.world.living() == state_.world.size())
        return;
    for (const Process *process : state_.world.members()) {
        if (!process->ended)
            continue;
        change.leaving.push_back(process->world_rank);
        uids.push_back(process->uid);
        hosts[process->host]++;
    }
    int old_size = state_.world.size();
    state_.world.commit(change, -1);
    state_.epoch++;
    state_.epoch_began_ms = state_.now_ms;
    state_.journal.add(state_.now_ms, "left", {{"epoch", state_.epoch},
                                   {"old_size", old_size},
                                   {"size", state_.world.size()},
                                   {"leaving", change.leaving},
                                   {"hosts", hosts},
                                   {"uids", uids}});
}

void PsetDepartures::check_time()
{
    if (due_ms_ >= 0 && state_.now_ms >= due_ms_)
        drop_ended();
}

}  // namespace elastic
