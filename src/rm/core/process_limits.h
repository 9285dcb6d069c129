/*
 * Properties that a process inherits beside its environment, so that a job runs as it would from
 * its user's shell: the file mode creation mask and the soft resource limits (setrlimit(2)).  The
 * command reads them where it is called, elastic-stepd sets them in the job.  Plain data with its
 * JSON.
 */

#ifndef ELASTIC_RM_CORE_PROCESS_LIMITS_H_INCLUDED
#define ELASTIC_RM_CORE_PROCESS_LIMITS_H_INCLUDED

#include <sys/resource.h>

#include <string>
#include <vector>

#include "core/fields.h"

namespace elastic::rm {

/* One soft limit, in the units of setrlimit(2); UNLIMITED: RLIM_INFINITY. */
struct ProcessLimit {
    static constexpr int64_t UNLIMITED = -1;
    std::string name;
    int64_t value = UNLIMITED;
    ELASTIC_FIELDS(name, value)
};

struct LimitName {
    const char *name;
    decltype(RLIMIT_NOFILE) resource;
};
/* The limits that are copied. */
constexpr LimitName LIMIT_NAMES[] = {
    {"as", RLIMIT_AS},         {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},     {"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK},
    {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"rss", RLIMIT_RSS},
    {"stack", RLIMIT_STACK},
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_PROCESS_LIMITS_H_INCLUDED */
