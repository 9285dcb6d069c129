/*
 * What elasticd and elastic-stepd do as the user of a step, when they run as root: a user's paths
 * are only trusted with the user's own rights.  Called by one thread that has no others beside it.
 */

#ifndef ELASTIC_RM_AS_USER_H_INCLUDED
#define ELASTIC_RM_AS_USER_H_INCLUDED

#include <string>

#include "step/step_spec.h"

namespace elastic::rm {

/* This process becomes the user for good; true at once if it is not root's or the step is.  False:
 * see errno. */
bool become_user(const StepSpec &spec);

/* Removes the socket that a killed mpiexec has left, in a child that nobody waits for but who
 * collects all children: a user's path may hang (a dead server, a file system of the user's own),
 * then the child is ended after some seconds. Anything but a socket, and no path at all, is left
 * alone.  False: there is no child. */
bool remove_socket_as_user(const std::string &path, const StepSpec &spec);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_AS_USER_H_INCLUDED */
