/* See pset_sync.h. */

#include "stepmgr/psets/pset_sync.h"

namespace elastic {

uint64_t SetSync::begin(std::set<Agent> agents)
{
    asked_ = std::move(agents);
    waiting_ = take_next();
    return ++number_;
}

SetSync::Calls SetSync::without(const Agent &agent)
{
    return asked_.erase(agent) > 0 && asked_.empty() ? std::exchange(waiting_, {}) : Calls();
}

std::optional<SetSync::Calls> SetSync::answered(const Agent &agent, uint64_t number)
{
    if (!asked_.contains(agent) || number != number_)
        return std::nullopt;
    return without(agent);
}

SetSync::Calls SetSync::departed(const Agent &agent)
{
    return without(agent);
}

}  // namespace elastic
