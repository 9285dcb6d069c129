/*
 * Limits of a Unix group: for all its members together, and for each job of a member.  A job counts
 * for each of these groups that its user was a member of at submission.
 */

#ifndef ELASTIC_RM_CORE_GROUP_LIMIT_H_INCLUDED
#define ELASTIC_RM_CORE_GROUP_LIMIT_H_INCLUDED

#include "core/fields.h"

namespace elastic::rm {

constexpr size_t GROUPS_MAX = 256, GROUP_NAME_BYTES_MAX = 64;

struct GroupLimit {
    std::string name;
    int64_t running_max = 0;    /* jobs on nodes at once; 0: any number, as below */
    int64_t cores_max = 0;      /* cores of these jobs together */
    int64_t jobs_max = 0;       /* jobs that have not ended; more are refused */
    int64_t core_time_max_ms = 0;       /* of one job: cores at its largest size times time limit */
    /* Core time of all these jobs in a period; then no more start or grow.  Periods of that length
     * follow one another from time 0 on. */
    int64_t budget_ms = 0, period_ms = 0;

    bool operator==(const GroupLimit &) const = default;
    ELASTIC_FIELDS(name, running_max, cores_max, jobs_max, core_time_max_ms, budget_ms, period_ms)
};

/* The core time that the jobs of a group with a budget have used in the present period. */
struct GroupTime {
    std::string name;
    int64_t core_ms = 0;
    int64_t until_ms = 0;       /* counted up to then */
    bool operator==(const GroupTime &) const = default;
    ELASTIC_FIELDS(name, core_ms, until_ms)
};
/* When the period of that time ends. */
inline int64_t period_end_ms(const GroupLimit &limit, int64_t time_ms)
{
    return (time_ms / limit.period_ms + 1) * limit.period_ms;
}

/* Use by the jobs of a group. */
struct GroupUse {
    int64_t jobs = 0, running = 0, cores = 0;
    bool operator==(const GroupUse &) const = default;
};

/* Null: the group has no limits. */
const GroupLimit *find_group(const std::vector<GroupLimit> &groups, const std::string &name);

/* Empty, or the error in the limits. */
std::string check(const std::vector<GroupLimit> &groups);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_GROUP_LIMIT_H_INCLUDED */
