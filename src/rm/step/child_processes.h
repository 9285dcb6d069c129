/* Children of processes, as /proc lists them. */

#ifndef ELASTIC_RM_CHILD_PROCESSES_H_INCLUDED
#define ELASTIC_RM_CHILD_PROCESSES_H_INCLUDED

#include <sys/types.h>

#include <vector>

namespace elastic::rm {

/* Children of all its threads. */
std::vector<pid_t> children_of(pid_t pid);
/* The children, their children and so on; parents first. */
std::vector<pid_t> descendants_of(pid_t pid);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CHILD_PROCESSES_H_INCLUDED */
