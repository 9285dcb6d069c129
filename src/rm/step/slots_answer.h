/*
 * The answer to "slots" of the step protocol: the slots beside its world that a step has, and
 * those that it requests.  Untrusted input: read by tables, every field with its type and bounds.
 * Pure.
 */

#ifndef ELASTIC_RM_STEP_SLOTS_ANSWER_H_INCLUDED
#define ELASTIC_RM_STEP_SLOTS_ANSWER_H_INCLUDED

#include "core/event.h"

namespace elastic::rm {

/* The caller knows job and step.  Returns the slots, or the invalid field. */
Result<StepSlots> read_slots(const Json &line);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEP_SLOTS_ANSWER_H_INCLUDED */
