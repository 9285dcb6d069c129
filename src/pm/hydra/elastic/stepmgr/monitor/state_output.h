/*
 * --sets-log: writes a line for each event, with the states of all slots after it.  SM2.
 */

#ifndef ELASTIC_STATE_OUTPUT_H_INCLUDED
#define ELASTIC_STATE_OUTPUT_H_INCLUDED

#include <cstdint>

#include "stepmgr/monitor/state_log.h"
#include "stepmgr/state/step_state.h"

namespace elastic {

class StateOutput {
  public:
    /* Writes from now on, if the option is given. */
    StateOutput(StepState &state, const step_config &config);

  private:
    SlotState state_of(const Process &process, bool accepted) const;
    void write_states(int64_t time_us, const char *event, const Json &fields);

    StepState &state_;
    std::optional<StateLog> log_;
};

}  // namespace elastic

#endif /* ELASTIC_STATE_OUTPUT_H_INCLUDED */
