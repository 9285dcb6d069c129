/*
 * What is left of a step whose elastic-stepd was killed, and its end.  A number of a process alone
 * says nothing: after a boot, or much later, it is another's.  What is ended is known to be the
 * step's: it is in the step's control group; or it is the program itself, by its number and the
 * time of its start; or it is a process of the step's user whose environment names the step's
 * folder.  Each is held by a descriptor (pidfd) and looked at again before it is killed.
 */

#ifndef ELASTIC_RM_STEP_PROCESSES_H_INCLUDED
#define ELASTIC_RM_STEP_PROCESSES_H_INCLUDED

#include <string>

#include "step/step_spec.h"

namespace elastic::rm {

/* SIGKILL to all of them; how many there were. */
size_t kill_step_processes(const StepSpec &spec, const StepStartedFile &started,
                           const std::string &folder);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEP_PROCESSES_H_INCLUDED */
