/*
 * Operations of elasticd and elastic-stepd with the rights of a step's user, if they run as root:
 * a user's path must be used with the user's own rights only.  Called by one thread of a process
 * without other threads.
 */

#ifndef ELASTIC_RM_AS_USER_H_INCLUDED
#define ELASTIC_RM_AS_USER_H_INCLUDED

#include <string>

#include "step/step_spec.h"

namespace elastic::rm {

/* This process becomes the user for good; true at once if it is not root's or the step is.  False:
 * see errno. */
bool become_user(const StepSpec &spec);

/* Removes the socket of a killed mpiexec, in a child process that only the reaper of all
 * children waits for: a user's path may block (a failed file server, a file system of the user);
 * the child is then killed after some seconds.  Removes nothing but a socket.  False: there is
 * no child. */
bool remove_socket_as_user(const std::string &path, const StepSpec &spec);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_AS_USER_H_INCLUDED */
