/*
 * The orders that make Slurm jobs what the core requires: the difference between the two.
 * Computed from the two alone, each time anew: this finds again orders from before a restart,
 * orders without an answer, and nodes that belong to no job any more.
 *
 * A *set* are the Slurm jobs of one step of one own job.  Under *merge* one of them grows (an
 * expansion is merged into it) and shrinks; else each node is a Slurm job of its own, so that each
 * one can be released alone.  Both may be mixed: the Slurm job with a node shrinks by it, or is
 * cancelled if that was its last.
 *
 * Pure; any thread.
 */

#ifndef ELASTIC_RM_SLURM_PLAN_H_INCLUDED
#define ELASTIC_RM_SLURM_PLAN_H_INCLUDED

#include <set>

#include "backend/slurm/slurm_text.h"
#include "core/state.h"

namespace elastic::rm {

using SlurmNodeSet = std::set<std::string>;

/* The target state of an allocated job, as the core requires it. */
struct SlurmTarget {
    JobId job = 0;
    uint32_t step = 0;
    uint32_t uid = 0;
    SlurmNodeSet keep;               /* its own */
    bool acquires = false;
    uint64_t request = 0;       /* of the acquisition, 0: for its start */
    SlurmNodeSet acquire;            /* all of its nodes, those that it has already included */
};
SlurmTarget target_of(const Job &job);

enum class SlurmAct { CANCEL, SHRINK, ALLOCATE, MERGE };

struct SlurmOrder {
    SlurmAct act = SlurmAct::CANCEL;
    SlurmId id = 0;             /* CANCEL, SHRINK, MERGE: of this Slurm job; ALLOCATE: 0 */
    NodeNames nodes;            /* SHRINK: that it keeps; ALLOCATE: that are wanted */
    SlurmId expands = 0;        /* ALLOCATE: into this one; 0: a job of its own */
    uint64_t request = 0;       /* ALLOCATE */
};

struct SlurmPlan {
    std::vector<SlurmOrder> orders;     /* in this order; later ones make no sense if one fails */
    /* all that was wanted is there, and nothing is to be done before it is used */
    bool acquired = false;
    NodeNames taken;            /* nodes that are its own for the core and not in Slurm */
};

/* `jobs`: those of Slurm that carry this job's and step's tag, of whatever request.  `no_merge`:
 * expansions whose merging was refused, which stay jobs of their own. */
SlurmPlan plan_for(const SlurmTarget &target, const std::vector<const SlurmJob *> &jobs, bool merge,
                   const std::set<SlurmId> &no_merge);

/* The Slurm job of each node, for the launcher. */
std::map<std::string, SlurmId> node_map(const std::vector<const SlurmJob *> &jobs);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_PLAN_H_INCLUDED */
