/*
 * Invalidation of cached replies about process sets (SA1).  Processes cache a reply until a number
 * on their board changes.  When a reply no longer holds, the proxies of processes that may cache it
 * change that number and confirm it; replies that are made after that wait for all confirmations.
 * So no process reads an old reply from its cache after another process has sent it a message about
 * the new state.
 *
 * Owned by ProcessSets (process_sets.h); no effects.  A disconnected proxy has no processes that
 * cache anything.
 */

#ifndef ELASTIC_PSET_INVALIDATION_H_INCLUDED
#define ELASTIC_PSET_INVALIDATION_H_INCLUDED

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "stepmgr/psets/pset_bcasts.h"
#include "stepmgr/common/world.h"

namespace elastic {

class PsetInvalidation {
  public:
    /* These proxies are to invalidate.  Returns the number with which they confirm. */
    uint64_t begin(const std::set<ProxyId> &proxy_ids);
    /* False: this confirmation is not pending. */
    bool confirmed(const ProxyId &proxy_id, uint64_t number);
    void disconnected(const ProxyId &proxy_id);
    /* Proxies that have not confirmed the first number that is pending. */
    std::set<ProxyId> owing() const
    {
        return pending_from_.empty() ? std::set<ProxyId>{} : pending_from_.begin()->second;
    }

    /* add: adds a reply. take: replies that may be sent, in the order in which they were added. */
    void add(SetReply reply) { answers_.push_back({last_, std::move(reply)}); }
    std::vector<SetReply> take_answers();

  private:
    struct Held {
        uint64_t latest = 0;    /* the last number when the reply was made */
        SetReply reply;
    };

    uint64_t last_ = 0;
    /* by number: proxies that have not confirmed it; never empty */
    std::map<uint64_t, std::set<ProxyId>> pending_from_;
    std::deque<Held> answers_;  /* at most one for each waiting call */
};

}  // namespace elastic

#endif /* ELASTIC_PSET_INVALIDATION_H_INCLUDED */
