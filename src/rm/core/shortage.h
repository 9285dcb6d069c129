/*
 * The resources that a waiting job lacks, the jobs that are about to free cores, and the jobs
 * whose sizes change for it.  For display (clause X3 of the performance specification); no
 * decision depends on it.  Pure.
 */

#ifndef ELASTIC_RM_CORE_SHORTAGE_H_INCLUDED
#define ELASTIC_RM_CORE_SHORTAGE_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

/* A job that ends or shrinks, whose processes have not left yet. */
struct Giving {
    JobId job = 0;
    int64_t cores = 0;
    bool operator==(const Giving &) const = default;
};

struct Shortage {
    int processes = 0;          /* as many as it would start with, at least */
    int capacity = 0;               /* number that fits now, if no other job waited */
    std::vector<NodeName> full;     /* listed nodes on which none fits */
    std::vector<Giving> giving; /* whoever it is for */
    /* who was to, and whose programs do not come to a probe: nobody counts on these cores */
    std::vector<Giving> overdue;
    std::vector<Giving> suspended;      /* who keep cores that it could use */
};

/* Nothing: it does not wait for its turn alone, or the nodes that are up cannot hold it. */
std::optional<Shortage> shortage(const State &state, const Job &job);

/* Waiting jobs that lack cores which this suspended one keeps, in the order of the queue; of a long
 * queue those near its front. */
std::vector<JobId> kept_waiting(const State &state, const Job &suspended);

/* A running job that has, or is about to get, another size for the sake of one that waits. */
struct Helper {
    JobId job = 0;
    int old_size = 0, size = 0;
    bool is_done = false;
    bool operator==(const Helper &) const = default;
};

/* In the order of their numbers. */
std::vector<Helper> helpers_of(const State &state, JobId waiting);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_SHORTAGE_H_INCLUDED */
