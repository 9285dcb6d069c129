/*
 * Whose a published name is: the process that has asked for it, which is the mpiexec of those that
 * have published it.  A name goes with it, in whatever way it ends; that is seen when somebody asks
 * for the name.  As text in events and snapshots, by number and time of start, since a number alone
 * may be another process' later.
 */

#ifndef ELASTIC_RM_NAME_HOLDER_H_INCLUDED
#define ELASTIC_RM_NAME_HOLDER_H_INCLUDED

#include <sys/types.h>

#include <string>

namespace elastic::rm {

/* Empty: it has ended, or cannot be seen from here. */
std::string holder_of(pid_t process);
/* Not if it is empty, and hence not known. */
bool has_ended(const std::string &holder);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_NAME_HOLDER_H_INCLUDED */
