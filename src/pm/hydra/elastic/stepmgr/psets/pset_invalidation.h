/*
 * Proxies that invalidate cached replies about a process set before another reply contradicts them (SA1).  Processes
 * cache what they were notified until a number on their board changes.  When it does not hold any more, their proxies
 * change that number and say so; answers that are made from then on wait until all of them have.  So whatever a
 * process learns from another one, by a message, it does not look at what it knew before.
 *
 * Owned by Step; no effects.  A proxy that has disconnected has no processes that cache anything.
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
    /* These are to drop: the number that they confirm it with. */
    uint64_t begin(const std::set<Agent> &agents);
    /* False: nobody waits for that. */
    bool confirmed(const Agent &agent, uint64_t number);
    void disconnected(const Agent &agent);
    /* Who has not confirmed the first number that is not confirmed by all. */
    std::set<Agent> owing() const { return pending_from_.empty() ? std::set<Agent>{} : pending_from_.begin()->second; }

    /* An answer that is made now; those that may be sent, in the order in which they were made. */
    void add(SetReply reply) { answers_.push_back({last_, std::move(reply)}); }
    std::vector<SetReply> take_answers();

  private:
    struct Held {
        uint64_t behind = 0;    /* the last number when it was made */
        SetReply reply;
    };

    uint64_t last_ = 0;
    std::map<uint64_t, std::set<Agent>> pending_from_;  /* by number: who has not confirmed it; never empty */
    std::deque<Held> answers_;  /* as many as there are calls that wait */
};

}  // namespace elastic

#endif /* ELASTIC_PSET_INVALIDATION_H_INCLUDED */
