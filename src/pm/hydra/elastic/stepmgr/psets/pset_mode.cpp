/* See pset_mode.h. */

#include "stepmgr/psets/pset_mode.h"

#include <algorithm>
#include <set>

namespace elastic {

/* SW1 */
std::string PsetMode::refusal() const
{
    bool some_adapt = std::ranges::any_of(state_.world.members(), [](const Process *process) {
        return process->init == InitMode::ADAPTIVE;
    });
    bool windows =
        state_.mode == InitMode::ADAPTIVE || (state_.mode != InitMode::SETS && some_adapt);
    return windows
               ? SetAnswer::error(PMI_SET_WINDOWS,
                                  "the program has called MPI_Init_adapt, so that its processes "
                                  "change in windows, not through process sets")
               : "";
}

std::string PsetMode::ensure()
{
    std::string error = refusal();
    if (error.empty() && state_.mode != InitMode::SETS)
        enter();
    return error;
}

void PsetMode::enter()
{
    state_.mode = InitMode::SETS;
    state_.epoch_began_ms = state_.now_ms;
    psets_.track_ends();
    refuse_windows();
    state_.log("adaptive", {{"size", state_.world.size()}, {"mode", "sets"}});
    requests_.adaptive();
    if (state_.adaptation && !state_.ending)
        control_.begin();
}

/* SW1: all proxies refuse MPI_Init_adapt before any process gets a reply. */
void PsetMode::refuse_windows()
{
    std::set<ProxyId> proxy_ids = World::proxies_of(state_.world.members());
    uint64_t number = psets_.begin_invalidation(proxy_ids);
    state_.post(proxy_ids, STEP_BY_SETS, 0,
                {reinterpret_cast<const char *>(&number), sizeof number});
}

}  // namespace elastic
