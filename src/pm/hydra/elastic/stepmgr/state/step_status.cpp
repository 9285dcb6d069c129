/* See step_status.h. */

#include "stepmgr/state/step_status.h"

#include <map>
#include <string>
#include <vector>

namespace elastic {

namespace {

const char *name_status(const StepState &state)
{
    if (state.over || state.ending)
        return "ending";
    if (state.mode == InitMode::UNKNOWN)
        return "starting";
    return state.adaptation ? "adapting" : "running";
}

Json describe_hosts(const StepState &state)
{
    std::map<std::string, std::vector<int>> ranks;
    for (const Process *process : state.world.members())
        ranks[process->host].push_back(process->world_rank);
    Json hosts = Json::array();
    for (const auto &[name, on_host] : ranks)
        hosts.push_back(
            {{"name", name}, {"processes", on_host.size()}, {"ranks", format_ranks(on_host)}});
    return hosts;
}

}  // namespace

Json describe_spawned(const StepState &state)
{
    Json hosts = Json::array();
    for (const auto &[name, processes] : state.spawned)
        hosts.push_back({{"name", name}, {"processes", processes}});
    return hosts;
}

Json describe_status(const StepState &state, const Json &rule, const Json &size_request,
                     size_t slots)
{
    static const char *const MODES[] = {"unknown", "rigid", "adaptive", "sets"};
    Json status = {{"step", state.step_id},
                   {"program", state.program},
                   {"user", state.user},
                   {"state", name_status(state)},
                   {"mode", MODES[static_cast<int>(state.mode)]},
                   {"programs", state.programs},
                   {"size", state.world.size()},
                   {"epoch", state.epoch},
                   {"adaptations", state.statistics.committed()},
                   {"withdrawn", state.statistics.withdrawn()},
                   {"failed", state.statistics.failed()},
                   {"unexpected", state.unexpected_count},
                   {"strangers", state.unauthenticated},
                   {"hosts", describe_hosts(state)},
                   {"sizes", rule},
                   {"wish", size_request},
                   {"places", slots},
                   {"spawned", describe_spawned(state)},
                   {"adaptation", nullptr}};
    if (state.adaptation)
        status["adaptation"] = {{"request", state.adaptation->request},
                                {"epoch", state.adaptation->epoch},
                                {"state", to_string(state.adaptation->state)},
                                {"origin", state.adaptation->label},
                                {"size", state.adaptation->change.new_size},
                                {"joining", state.adaptation->change.joining},
                                {"leaving", state.adaptation->change.leaving}};
    return status;
}

}  // namespace elastic
