/*
 * Questions that depend on what processes have done and the step manager may not have heard of, because proxies
 * notify it in no common order (SA1): sets that one has made by itself, or that it has begun to use MPI.  They wait
 * until the proxies of these have passed on what there was when they were queried to.  What comes while proxies are
 * being queried waits for them to be queried once more.
 *
 * Owned by Step (step_psets.cpp); no effects.
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
        Agent agent;            /* of who queries */
        uint32_t rank = 0, id = 0;
        std::string call;
    };
    using Calls = std::vector<Held>;

    void hold(Held call) { next_.push_back(std::move(call)); }
    /* Whether proxies have to be queried. */
    bool is_due() const { return !next_.empty() && requested_.empty(); }
    /* They are queried now: the number that they answer with. */
    uint64_t begin(std::set<Agent> agents);
    /* Nobody need be queried: all that wait for that. */
    Calls take_next() { return std::exchange(next_, {}); }
    /* Those that waited for it, if it was the last one.  Nothing: nobody waits for this answer. */
    std::optional<Calls> answered(const Agent &agent, uint64_t number);
    /* The same of a proxy that will not answer. */
    Calls disconnected(const Agent &agent);

  private:
    Calls without(const Agent &agent);

    std::set<Agent> requested_; /* and have not answered */
    uint64_t number_ = 0;
    Calls waiting_, next_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_SYNC_H_INCLUDED */
