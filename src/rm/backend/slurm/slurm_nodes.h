/*
 * Events for the core about Slurm's nodes and the jobs of others that wait for them.
 *
 * A node with jobs of others gets no new processes (NodeSuspect, with the owner's name); neither
 * does a node that an administrator drains, or that does not answer at present.  Own jobs end only
 * with a node that Slurm has given up (NodeDown).  A node with bookings of the core never counts
 * as a node of others: the report of Slurm may be older than the booking.
 *
 * Pure; any thread.
 */

#ifndef ELASTIC_RM_SLURM_NODES_H_INCLUDED
#define ELASTIC_RM_SLURM_NODES_H_INCLUDED

#include "backend/slurm/slurm_text.h"
#include "core/event.h"
#include "core/state.h"

namespace elastic::rm {

/* Whether the Slurm job belongs to elasticd `cluster`, for a job of the core that is submitted
 * by the same user. */
bool is_own(const SlurmJob &job, const std::string &cluster, const State &state);
/* "Slurm job 17 of bob" */
std::string name_of(const SlurmJob &job);

/* The changes for the core; the jobs may be newer than the nodes.  A node that has left the
 * partition gets no new processes; its jobs continue, and leave it when possible. */
std::vector<EventContent>
node_events(const State &state, const std::vector<SlurmNode> &nodes,
            const std::vector<SlurmJob> &jobs, const std::string &cluster);

/*
 * The job for which our elastic jobs release nodes: the first of the other users' jobs that wait
 * for nodes.  If it still waits after `patience_ms`, it needs something that elasticd cannot
 * release, and the next one counts.
 */
class SlurmDemand {
  public:
    SlurmDemand(int64_t lowest_priority, int64_t patience_ms)
        : lowest_priority_(lowest_priority), patience_ms_(patience_ms)
    {
    }
    NodesWanted poll(const State &state, const std::vector<SlurmJob> &jobs,
                     const std::string &cluster, int64_t now_ms);

  private:
    int64_t lowest_priority_, patience_ms_;
    std::map<SlurmId, int64_t> since_ms_;       /* for waiting jobs: since when it was the first */
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_NODES_H_INCLUDED */
