/*
 * Questions that depend on what processes have done and the step manager may not have heard of, because daemons tell it
 * in no common order (SA1): sets that one has made by itself, or that it has begun to use MPI.  They wait until the
 * daemons of these have passed on what there was when they were asked to.  What comes while daemons are being asked
 * waits for them to be asked once more.
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
        Agent agent;            /* of who asks */
        uint32_t rank = 0, id = 0;
        std::string call;
    };
    using Calls = std::vector<Held>;

    void hold(Held call) { next_.push_back(std::move(call)); }
    /* Whether daemons have to be asked. */
    bool is_due() const { return !next_.empty() && asked_.empty(); }
    /* They are asked now: the number that they answer with. */
    uint64_t begin(std::set<Agent> agents);
    /* Nobody need be asked: all that wait for that. */
    Calls take_next() { return std::exchange(next_, {}); }
    /* Those that waited for it, if it was the last one.  Nothing: nobody waits for this answer. */
    std::optional<Calls> answered(const Agent &agent, uint64_t number);
    /* The same of a daemon that will not answer. */
    Calls departed(const Agent &agent);

  private:
    Calls without(const Agent &agent);

    std::set<Agent> asked_;     /* and have not answered */
    uint64_t number_ = 0;
    Calls waiting_, next_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_SYNC_H_INCLUDED */
