/* See pset_sync.h. */

#include "stepmgr/psets/pset_sync.h"

namespace elastic {

uint64_t SetSync::begin(std::set<ProxyId> proxy_ids)
{
    requested_ = std::move(proxy_ids);
    waiting_ = take_next();
    return ++number_;
}

SetSync::Calls SetSync::without(const ProxyId &proxy_id)
{
    return requested_.erase(proxy_id) > 0 && requested_.empty() ? std::exchange(waiting_, {})
                                                             : Calls();
}

std::optional<SetSync::Calls> SetSync::answered(const ProxyId &proxy_id, uint64_t number)
{
    if (!requested_.contains(proxy_id) || number != number_)
        return std::nullopt;
    return without(proxy_id);
}

SetSync::Calls SetSync::disconnected(const ProxyId &proxy_id)
{
    return without(proxy_id);
}

}  // namespace elastic
