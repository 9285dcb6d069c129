/*
 * Questions that may be about sets which a process has made by itself and the step manager has not heard of (SA1): they
 * wait until that process' daemon has passed on all that it had said when it was asked to.  What comes while the daemon
 * is being asked waits for it to be asked once more.
 *
 * Owned by Step (step_sets.cpp); no effects.
 */

#ifndef ELASTIC_SET_SYNC_H_INCLUDED
#define ELASTIC_SET_SYNC_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "world.h"

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
    /* Whether a daemon has to be asked. */
    bool is_due() const { return !next_.empty() && !asked_; }
    /* It is asked now: the number that it answers with. */
    uint64_t begin(const Agent &agent);
    /* Nobody need be asked: all that wait for that. */
    Calls take_next() { return std::exchange(next_, {}); }
    /* Nothing: nobody waits for this answer. */
    std::optional<Calls> answered(const Agent &agent, uint64_t number);
    /* Those that waited for this daemon. */
    Calls departed(const Agent &agent);

  private:
    std::optional<Agent> asked_;
    uint64_t number_ = 0;
    Calls waiting_, next_;
};

}  // namespace elastic

#endif /* ELASTIC_SET_SYNC_H_INCLUDED */
