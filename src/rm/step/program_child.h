/*
 * The child of elastic-stepd that becomes the program of a step: between fork and exec.
 */

#ifndef ELASTIC_RM_PROGRAM_CHILD_H_INCLUDED
#define ELASTIC_RM_PROGRAM_CHILD_H_INCLUDED

#include <sys/types.h>

#include "step/step_spec.h"

namespace elastic::rm {

/* Maximum length of the text that the child writes to `report`. */
constexpr int CHILD_REPORT_MAX = 512;

/* Resets signals to their defaults. */
void reset_signals();
/* Executes the program; on an error the reason is written to `report`. */
[[noreturn]] void become_program(int report, const StepSpec &spec, pid_t parent);

}  // namespace elastic::rm

#endif
