/*
 * The holder of a registered name: the process that sent the request, which is the mpiexec of the
 * publishing processes.  A name ends with its holder; a later lookup of the name detects that.  As
 * text in events and snapshots: process number and start time, since a later process may have the
 * number.
 */

#ifndef ELASTIC_RM_NAME_HOLDER_H_INCLUDED
#define ELASTIC_RM_NAME_HOLDER_H_INCLUDED

#include <sys/types.h>

#include <string>

namespace elastic::rm {

/* Empty: it has ended, or is not visible from here. */
std::string holder_of(pid_t process);
/* False for an empty holder, which is unknown. */
bool has_ended(const std::string &holder);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_NAME_HOLDER_H_INCLUDED */
