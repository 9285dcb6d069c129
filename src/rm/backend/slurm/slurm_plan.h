/*
 * The orders that change the Slurm jobs into the target state of the core.
 *
 * They are computed anew each time from the target and the present Slurm jobs alone: this finds
 * again orders from before a restart, orders without an answer, and nodes that belong to no job any
 * more.
 *
 * A *set* are the Slurm jobs of one step of one own job.  Under *merge* one of them grows (an
 * expansion is merged into it) and shrinks; else each node is a separate Slurm job, so that each
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
    SlurmNodeSet keep;               /* its own nodes */
    bool acquires = false;
    uint64_t request = 0;       /* of the acquisition; 0: for its start */
    SlurmNodeSet acquire; /* all nodes of the request, including those that it already has */
};
SlurmTarget target_of(const Job &job);

enum class SlurmAct { CANCEL, SHRINK, ALLOCATE, MERGE };

struct SlurmOrder {
    SlurmAct act = SlurmAct::CANCEL;
    SlurmId id = 0;             /* CANCEL, SHRINK, MERGE: this Slurm job; ALLOCATE: 0 */
    NodeNames nodes;            /* SHRINK: nodes that it keeps; ALLOCATE: requested nodes */
    SlurmId expands = 0;        /* ALLOCATE: the Slurm job to expand; 0: a separate job */
    uint64_t request = 0;       /* ALLOCATE */
};

struct SlurmPlan {
    std::vector<SlurmOrder> orders; /* in this order; if one fails, the later ones are dropped */
    /* all requested nodes are allocated, and no order is needed before their use */
    bool acquired = false;
    NodeNames taken;            /* nodes that the core assigns to it but Slurm does not */
};

/* `jobs`: Slurm jobs with the tag of this job and step, of any request.  `no_merge`: expansions
 * that Slurm has refused to merge; they stay separate jobs. */
SlurmPlan plan_for(const SlurmTarget &target, const std::vector<const SlurmJob *> &jobs, bool merge,
                   const std::set<SlurmId> &no_merge);

/* The pause until Slurm is polled again while a request waits there: short while it is new, so
 * that Slurm's reason is known soon. */
int64_t poll_pause_ms(int64_t interval_ms, int64_t age_ms);

/* The Slurm job of each node, for the launcher. */
std::map<std::string, SlurmId> node_map(const std::vector<const SlurmJob *> &jobs);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_PLAN_H_INCLUDED */
