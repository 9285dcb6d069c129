/*
 * The answer to "slots" of the step protocol: which places beside its world a step has, and which
 * it wants.  A stranger's word: read by tables, every field with its type and bounds.  Pure.
 */

#ifndef ELASTIC_RM_STEP_SLOTS_ANSWER_H_INCLUDED
#define ELASTIC_RM_STEP_SLOTS_ANSWER_H_INCLUDED

#include "core/event.h"

namespace elastic::rm {

/* Of which job and step is the caller's to say; or which field is wrong. */
Result<StepSlots> read_slots(const Json &line);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEP_SLOTS_ANSWER_H_INCLUDED */
