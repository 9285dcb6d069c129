/*
 * Control groups (cgroup v2) of steps, where elasticd has been given a part of the hierarchy
 * (systemd: Delegate=yes): a process cannot leave its step's group by any fork, so that a step is
 * killed as one and is over when its group is empty.
 */

#ifndef ELASTIC_RM_CONTROL_GROUP_H_INCLUDED
#define ELASTIC_RM_CONTROL_GROUP_H_INCLUDED

#include <cstdint>
#include <string>

#include "base/result.h"

namespace elastic::rm {

/* The parent of the steps' groups, created if necessary.  `setting`: "auto" (the group that
 * systemd has delegated to this process; empty if there is none), "off" (empty), or a folder of
 * a cgroup v2 file system. */
Result<std::string> steps_control_group(const std::string &setting);

/* The group of one step, below that folder. */
std::string step_group(const std::string &groups, uint64_t job, uint32_t step);
/* For one step.  Empty, or the error. */
std::string make_control_group(const std::string &group);
/* The calling process becomes a member.  False: see errno.  (Between fork and exec.) */
bool enter_control_group(const std::string &group);
bool is_populated(const std::string &group);
void kill_control_group(const std::string &group);
/* For an empty group. */
void remove_control_group(const std::string &group);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CONTROL_GROUP_H_INCLUDED */
