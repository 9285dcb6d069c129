/* See pset_invalidation.h. */

#include "stepmgr/psets/pset_invalidation.h"

#include <iterator>

namespace elastic {

uint64_t PsetInvalidation::begin(const std::set<ProxyId> &proxy_ids)
{
    last_++;
    if (!proxy_ids.empty())
        pending_from_[last_] = proxy_ids;
    return last_;
}

/* Confirmations of one proxy arrive in order. */
bool PsetInvalidation::confirmed(const ProxyId &proxy_id, uint64_t number)
{
    auto pending_from = pending_from_.find(number);
    if (pending_from == pending_from_.end() || pending_from->second.erase(proxy_id) == 0)
        return false;
    if (pending_from->second.empty())
        pending_from_.erase(pending_from);
    return true;
}

void PsetInvalidation::disconnected(const ProxyId &proxy_id)
{
    for (auto pending_from = pending_from_.begin(); pending_from != pending_from_.end();) {
        pending_from->second.erase(proxy_id);
        pending_from = pending_from->second.empty() ? pending_from_.erase(pending_from)
                                                    : std::next(pending_from);
    }
}

std::vector<SetReply> PsetInvalidation::take_answers()
{
    std::vector<SetReply> replies;
    while (!answers_.empty() &&
           (pending_from_.empty() || answers_.front().latest < pending_from_.begin()->first)) {
        replies.push_back(std::move(answers_.front().reply));
        answers_.pop_front();
    }
    return replies;
}

}  // namespace elastic
