/*
 * Operations of elasticd and elastic-stepd with the rights of a step's user, if they run as root: a
 * path of the user must be used only with the user's own rights.  Called by one thread of a process
 * without other threads.
 */

#ifndef ELASTIC_RM_AS_USER_H_INCLUDED
#define ELASTIC_RM_AS_USER_H_INCLUDED

#include <string>

#include "step/step_spec.h"

namespace elastic::rm {

/* This process becomes the user permanently.  True at once if this process or the step does not
 * run as another user.  False: see errno. */
bool become_user(const StepSpec &spec);

/* Removes the socket of a killed mpiexec, in a child process that only the reaper of all
 * children waits for: a user's path may block (a failed file server, a file system of the user);
 * the child is then killed after some seconds.  Removes only a socket.  False: the child could
 * not be started. */
bool remove_socket_as_user(const std::string &path, const StepSpec &spec);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_AS_USER_H_INCLUDED */
