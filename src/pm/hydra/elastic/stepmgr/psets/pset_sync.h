/*
 * Queries whose reply depends on messages in transit, because messages of different proxies have no
 * common order (SA1): messages about sets that a process has made by itself, and about processes
 * that have begun to use MPI.  Such a query waits until the proxies concerned have forwarded all
 * messages that they had when they were queried.  Queries that arrive meanwhile wait for the next
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
    /* Begins a round.  Returns the number with which these proxies reply. */
    uint64_t begin(std::set<ProxyId> proxy_ids);
    /* Takes the queries that wait for the next round, if no proxy need be queried for them. */
    Calls take_next() { return std::exchange(next_, {}); }
    /* A reply of a proxy.  Returns the queries of the round, if it was the last reply.  Nothing:
     * the reply belongs to no round. */
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
