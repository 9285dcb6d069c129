/*
 * The status of a step as the step protocol describes it (doc/developer/step-protocol.md).
 */

#ifndef ELASTIC_STEP_STATUS_H_INCLUDED
#define ELASTIC_STEP_STATUS_H_INCLUDED

#include <cstddef>

#include "stepmgr/state/step_state.h"

namespace elastic {

/* Hosts of processes of MPI_Comm_spawn, with the number of processes on each. */
Json describe_spawned(const StepState &state);
/* `rule` and `size_request`: of the program, or null; `slots`: number of held slots. */
Json describe_status(const StepState &state, const Json &rule, const Json &size_request,
                     size_t slots);

}  // namespace elastic

#endif /* ELASTIC_STEP_STATUS_H_INCLUDED */
