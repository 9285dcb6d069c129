/*
 * Processes that have ended outside of a removal leave the world, in a job that changes through
 * process sets.  All at once, as in a large job they end one after the other.  SL1.
 */

#ifndef ELASTIC_PSET_DEPARTURES_H_INCLUDED
#define ELASTIC_PSET_DEPARTURES_H_INCLUDED

#include "stepmgr/state/step_state.h"

namespace elastic {

class PsetDepartures {
  public:
    explicit PsetDepartures(StepState &state) : state_(state) {}

    /* A process has ended: it leaves a little later. */
    void process_ended();
    /* Nothing holds them back any more. */
    void adaptation_ended();
    /* They leave now, if no change is under way. */
    void drop_ended();
    void check_time();
    /* When that is due; -1: no process has ended. */
    int64_t due_ms() const { return due_ms_; }

  private:
    static constexpr int64_t MORE_MS = 500;     /* for more processes that end by themselves */

    StepState &state_;
    int64_t due_ms_ = -1;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_DEPARTURES_H_INCLUDED */
