/*
 * Processors and memory that the steps on this machine may use: the control group (cgroup v2) of
 * each step gets a set of processors (cpuset) and a memory limit that follow the bookings of its
 * job, including joining and departing processes.  For the back end whose nodes are parts of this
 * machine; each node has a number of processors, in order.
 *
 * Owner of the assignment of processors; the groups belong to the steps (control_group.h).  No
 * decision is made here: if a booking cannot be assigned, the step continues with its present
 * processors, and the log reports it.  Runs on the daemon's loop.
 */

#ifndef ELASTIC_RM_CONFINEMENT_H_INCLUDED
#define ELASTIC_RM_CONFINEMENT_H_INCLUDED

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/state.h"

namespace elastic::rm {

struct ConfinementConfig {
    bool cores = false;
    int64_t memory_per_core = 0;        /* bytes; 0: no bound */
    bool any() const { return cores || memory_per_core > 0; }
};

class Confinement {
  public:
    using Cores = std::map<std::string, int>;   /* by node */

    explicit Confinement(const ConfinementConfig &config) : config_(config) {}

    /* Checks the controllers for the groups in `base`.  Empty, or the missing ones. */
    std::string open(const std::string &base) const;
    /* The node gets the next processors.  Empty, or the error. */
    std::string add_node(const std::string &name, int cores, int processors_of_machine);
    /* Reads the processors of a step at a restart of elasticd. */
    void adopt(JobId job, const std::string &group);
    /* Writes the present booking of the job into its step's group.  Empty, or the error. */
    std::string apply(JobId job, const Cores &booked, const std::string &group);
    void discard(JobId job);

    /* "0-2,5" */
    static std::string format(const std::set<int> &processors);
    static std::set<int> parse(const std::string &list);

  private:
    std::string change(JobId job, const Cores &booked, std::set<int> &mine);

    ConfinementConfig config_;
    std::map<std::string, std::vector<int>> nodes_;     /* processors of each node */
    int next_ = 0;
    std::map<int, JobId> owners_;       /* owner of each processor */
};

/* The booking of a job. */
Confinement::Cores booked_cores(const State &state, const Job &job);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CONFINEMENT_H_INCLUDED */
