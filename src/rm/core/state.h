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

/* n2 before n10: runs of digits compare by value. */
struct NaturalLess {
    bool operator()(const std::string &left, const std::string &right) const;
};

/* Cores that a job has booked on one node. */
struct Share {
    const std::string *node;    /* of the job's blocks */
    int cores;
};

class State {
  public:
    Config config;
    int64_t now_ms = 0;
    uint64_t seq = 0;           /* of the last event */
    std::map<JobId, Job> jobs;  /* waiting, running, and the last finished ones */
    std::map<std::string, Node, NaturalLess> nodes;
    JobId last_job = 0;
    uint64_t records = 0;       /* number of the last Record */
    uint64_t unexpected = 0;    /* events that did not fit */
    int64_t timer_ms = NEVER;   /* what SetTimer has asked for */
    int64_t look_at_ms = NEVER; /* when all steps are asked how they are */
    int64_t policy_at_ms = NEVER;       /* when the policy wants to be asked again */
    int wanted_nodes = 0;       /* by somebody else, ahead of our own jobs (NodesWanted) */
    std::string wanted_by;
    std::deque<JobId> finished; /* oldest first */
    std::unordered_map<std::string, JobId> requests;    /* Job::request of the known jobs */

    /* Indices: what follows from the above, kept up to date by index() and unindex(). */
    struct Indices {
        std::set<QueueKey> queue;       /* PENDING and not held */
        std::set<JobId> placed;         /* STARTING to COMPLETING */
        std::set<JobId> settling;       /* placed, and cores are about to be freed */
        std::set<JobId> elastic;        /* RUNNING, and another size may be offered */
        std::set<JobId> roomy;          /* of these, who have idle cores in whole nodes of their own */
        std::set<std::pair<int64_t, JobId>> deadlines;  /* Job::deadline_ms */
        std::set<std::pair<int64_t, JobId>> limits;     /* Job::limit_at_ms */
        int64_t free_cores = 0;         /* sum of Node::free */
        int64_t up_cores = 0;           /* of nodes that are up and not draining */
        int draining_nodes = 0;
        int removed_nodes = 0;          /* that are still to be forgotten */
        int64_t spare_cores = 0;        /* what elastic jobs have above their minimum */
        bool operator==(const Indices &) const = default;
    };
    const Indices &indices() const { return indices_; }

    const Job *job(JobId id) const;
    const Node *node(const std::string &name) const;

    /* Every change of a job or node lies between unindex and index of it. */
    void index(const Job &job) { reindex(job, 1); }
    void unindex(const Job &job) { reindex(job, -1); }
    void index(const Node &node) { reindex(node, 1); }
    void unindex(const Node &node) { reindex(node, -1); }

    QueueKey queue_key(const Job &job) const;
    /* What these processes of a job book. */
    std::vector<Share> shares(const JobSpec &spec, const Blocks &blocks) const;
    /* All that the job books: present, joining and departing processes. */
    std::vector<Share> shares(const Job &job) const;

  private:
    void reindex(const Job &job, int sign);
    void reindex(const Node &node, int sign);

    Indices indices_;
};

/* Why a PENDING job waits, for people: "held", "resources", ... */
std::string why_waiting(const State &state, const Job &job);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_STATE_H_INCLUDED */
