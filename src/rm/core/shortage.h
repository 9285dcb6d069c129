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
    int processes = 0;          /* the number with which it would start, at least */
    int capacity = 0;               /* number that fits now, if no other job waited */
    int nodes = 0;              /* the number that it requires; 0: none */
    int open_nodes = 0;         /* of these, as many have capacity now */
    std::vector<NodeName> full;     /* listed nodes on which no process fits */
    std::vector<Giving> giving; /* for any waiting job */
    /* jobs that have agreed to shrink, but do not reach a probe: their cores are not counted on */
    std::vector<Giving> overdue;
    std::vector<Giving> suspended;      /* jobs whose cores it could use */
};

/* Nullopt: it does not wait for resources, or the nodes that are up cannot hold it. */
std::optional<Shortage> shortage(const State &state, const Job &job);

/* Waiting jobs that lack cores which this suspended job keeps, in the order of the queue; of a
 * long queue only those near its front. */
std::vector<JobId> kept_waiting(const State &state, const Job &suspended);

/* A running job whose size changes, or has changed, for a waiting job. */
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
