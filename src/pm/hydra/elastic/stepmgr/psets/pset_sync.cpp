/* See pset_sync.h. */

#include "stepmgr/psets/pset_sync.h"

namespace elastic {

uint64_t SetSync::begin(std::set<Agent> agents)
{
    requested_ = std::move(agents);
    waiting_ = take_next();
    return ++number_;
}

SetSync::Calls SetSync::without(const Agent &agent)
{
    return requested_.erase(agent) > 0 && requested_.empty() ? std::exchange(waiting_, {})
                                                             : Calls();
}

std::optional<SetSync::Calls> SetSync::answered(const Agent &agent, uint64_t number)
{
    if (!requested_.contains(agent) || number != number_)
        return std::nullopt;
    return without(agent);
}

SetSync::Calls SetSync::disconnected(const Agent &agent)
{
    return without(agent);
}

}  // namespace elastic
