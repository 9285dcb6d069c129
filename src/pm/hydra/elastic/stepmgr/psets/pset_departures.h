/*
 * Removes processes that ended outside of a removal from the world, in a job that changes through
 * process sets.  It removes them together, because in a large job they end one after the other.
 * SL1.
 */

#ifndef ELASTIC_PSET_DEPARTURES_H_INCLUDED
#define ELASTIC_PSET_DEPARTURES_H_INCLUDED

#include "stepmgr/state/step_state.h"

namespace elastic {

class PsetDepartures {
  public:
    explicit PsetDepartures(StepState &state) : state_(state) {}

    /* A process has ended: it is removed a short time later. */
    void process_ended();
    /* No adaptation delays the removal any more. */
    void adaptation_ended();
    /* Removes them now, if no change is under way. */
    void drop_ended();
    void check_time();
    /* Time of the next removal; -1: no process has ended. */
    int64_t due_ms() const { return due_ms_; }

  private:
    /* wait for further processes that end by themselves */
    static constexpr int64_t MORE_MS = 500;

    StepState &state_;
    int64_t due_ms_ = -1;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_DEPARTURES_H_INCLUDED */
