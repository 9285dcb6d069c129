/* See step_state.h. */

#include "stepmgr/state/step_state.h"

#include <algorithm>
#include <vector>

namespace elastic {

StepState::StepState(const step_config &config, const step_effects &step_effects)
    : step_id(config.step_id ? config.step_id : ""), program(config.program ? config.program : ""),
      user(config.user ? config.user : ""), unix_ms_at_zero(config.unix_ms_at_zero),
      programs(config.programs), managed(config.managed),
      processes_max(config.processes_max), range_min(config.range_min), range_max(config.range_max),
      effects(step_effects), journal(step_id, config, effects)
{
}

bool StepState::is_joining(const Process &process) const
{
    return adaptation && adaptation->group == process.group && process.world_rank < 0;
}

bool StepState::is_leaving(const Process &process) const
{
    return adaptation && std::binary_search(adaptation->change.leaving.begin(),
                                            adaptation->change.leaving.end(), process.world_rank);
}

/* A user does not know ranks among the joining processes. */
static std::string describe_joining(const Adaptation &adaptation, const Process &process,
                                    bool by_sets)
{
    if (by_sets)
        return "joining process " + std::to_string(process.rank + 1) + " of " +
               std::to_string(adaptation.change.joining);
    int staying = adaptation.old_size - static_cast<int>(adaptation.change.leaving.size());
    return "the process that joins as rank " + std::to_string(staying + process.rank);
}

std::string StepState::describe(const Process &process) const
{
    std::string where = " on node " + process.host;
    if (process.world_rank >= 0)
        return "rank " + std::to_string(process.world_rank) + where;
    if (is_joining(process))
        return describe_joining(*adaptation, process, mode == InitMode::SETS) + where;
    return "process " + std::to_string(process.uid) + ", which has left the world," + where;
}

void StepState::log(const char *event, Json fields)
{
    Json all = Json::object();
    if (adaptation) {
        all["request"] = adaptation->request;
        all["epoch"] = adaptation->epoch;
    }
    all.update(fields);
    journal.add(now_ms, event, all);
}

void StepState::unexpected(const std::string &what)
{
    unexpected_count++;
    if (unexpected_rate.allows(now_ms))
        log("unexpected", {{"what", what}, {"count", unexpected_count}});
}

void StepState::post(const std::set<ProxyId> &proxy_ids, step_command command, uint32_t about_epoch,
                     std::string_view payload)
{
    std::vector<step_proxy> to;
    for (const ProxyId &proxy_id : proxy_ids) {
        if (!world.disconnected(proxy_id) || separate_groups.contains(proxy_id.group))
            to.push_back({proxy_id.group, proxy_id.number});
    }
    if (!to.empty())
        effects.send(effects.context, to.data(), static_cast<int>(to.size()), command, about_epoch,
                     payload.data(), payload.size());
}

}  // namespace elastic
