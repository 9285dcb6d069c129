/*
 * Finds and ends the remaining processes of a step whose elastic-stepd was killed.  A process
 * number alone identifies nothing: after a boot, or much later, another process has it.  A process
 * belongs to the step if it is in the step's control group; or if it is the program itself, by its
 * number and start time; or if it is a process of the step's user whose environment names the
 * step's folder.  Each is held by a descriptor (pidfd) and checked again before it is killed.
 */

#ifndef ELASTIC_RM_STEP_PROCESSES_H_INCLUDED
#define ELASTIC_RM_STEP_PROCESSES_H_INCLUDED

#include <string>

#include "step/step_spec.h"

namespace elastic::rm {

/* Sends SIGKILL to all of them; returns their number. */
size_t kill_step_processes(const StepSpec &spec, const StepStartedFile &started,
                           const std::string &folder);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEP_PROCESSES_H_INCLUDED */
