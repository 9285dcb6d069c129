/*
 * All that the core knows, to be read by anybody (HTTP API, policies, tests) and changed by the
 * core alone.
 */

#ifndef ELASTIC_RM_CORE_STATE_H_INCLUDED
#define ELASTIC_RM_CORE_STATE_H_INCLUDED

#include <compare>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "core/config.h"
#include "core/job.h"
#include "core/node.h"

namespace elastic::rm {

/* The order of waiting jobs: submission, brought forward by priority.  Since it never changes,
 * everybody becomes first in the end. */
struct QueueKey {
    int64_t key = 0;            /* submitted_ms - priority * priority_weight_ms */
    JobId job = 0;
    auto operator<=>(const QueueKey &) const = default;
};

struct State {
    Config config;
    int64_t now_ms = 0;
    uint64_t seq = 0;           /* of the last event */
    std::map<JobId, Job> jobs;  /* waiting, running, and the last finished ones */
    std::map<std::string, Node> nodes;
    /* indices, derived from the above */
    std::set<QueueKey> queue;   /* PENDING and not held */
    std::set<JobId> placed;     /* STARTING to COMPLETING */
    std::deque<JobId> finished; /* oldest first */
    std::unordered_map<std::string, JobId> requests;    /* of Submits */
    int64_t free_cores = 0;     /* sum of Node::free */
    /* counters */
    JobId last_job = 0;
    uint64_t records = 0;       /* number of the last Record */
    uint64_t unexpected = 0;    /* events that did not fit */

    const Job *job(JobId id) const;
    const Node *node(const std::string &name) const;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_STATE_H_INCLUDED */
