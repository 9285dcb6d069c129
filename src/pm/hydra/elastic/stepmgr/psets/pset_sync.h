/*
 * Queries whose reply depends on messages that are still on their way, because proxies send in no
 * common order (SA1): messages about sets that a process has made by itself, and about processes
 * that have begun to use MPI.  Such a query waits until the proxies in question have forwarded all
 * messages that they had when they were queried.  Queries that come meanwhile wait for the next
 * round.
 *
 * Owned by ProcessSets (process_sets.h); no effects.
 */

#ifndef ELASTIC_PSET_SYNC_H_INCLUDED
#define ELASTIC_PSET_SYNC_H_INCLUDED

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stepmgr/common/world.h"

namespace elastic {

class SetSync {
  public:
    struct Held {
        ProxyId proxy_id;            /* of the caller */
        uint32_t rank = 0, id = 0;
        std::string call;
    };
    using Calls = std::vector<Held>;

    void hold(Held call) { next_.push_back(std::move(call)); }
    /* Whether a round is due. */
    bool is_due() const { return !next_.empty() && requested_.empty(); }
    /* A round begins: the number that these proxies reply with. */
    uint64_t begin(std::set<ProxyId> proxy_ids);
    /* No proxy need be queried: takes the queries that wait for the next round. */
    Calls take_next() { return std::exchange(next_, {}); }
    /* The queries of this round, if the reply was the last one.  Nothing: the reply is of no
     * round. */
    std::optional<Calls> answered(const ProxyId &proxy_id, uint64_t number);
    /* The same for a proxy that will not reply. */
    Calls disconnected(const ProxyId &proxy_id);

  private:
    Calls without(const ProxyId &proxy_id);

    std::set<ProxyId> requested_; /* proxies whose reply is pending */
    uint64_t number_ = 0;
    Calls waiting_, next_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_SYNC_H_INCLUDED */
