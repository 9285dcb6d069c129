/*
 * What is to be done about Slurm's jobs, so that they become what the core wants: the difference
 * between the two. Decided from the two alone, each time anew: that finds again what was begun
 * before a restart, what an answer got lost of, and what belongs to nobody any more.
 *
 * A *set* are the Slurm jobs of one step of one of our jobs.  Under *merge* one of them grows (an
 * expansion is merged into it) and shrinks; else each node is a Slurm job of its own, so that every
 * one can be given back alone.  Both may be mixed: whichever Slurm job has a node, is shrunk by it,
 * or cancelled if that was its last.
 *
 * Pure; any thread.
 */

#ifndef ELASTIC_RM_SLURM_PLAN_H_INCLUDED
#define ELASTIC_RM_SLURM_PLAN_H_INCLUDED

#include <set>

#include "backend/slurm/slurm_text.h"
#include "core/state.h"

namespace elastic::rm {

using NodeSet = std::set<std::string>;

/* What the core wants for a job that is placed. */
struct SlurmWish {
    JobId job = 0;
    uint32_t step = 0;
    uint32_t uid = 0;
    NodeSet keep;               /* its own */
    bool acquires = false;
    uint64_t request = 0;       /* of the acquisition, 0: for its start */
    NodeSet acquire;            /* all of its nodes, those that it has already included */
};
SlurmWish wish_of(const Job &job);

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
    NodeNames lost;             /* nodes that are its own for the core and not in Slurm */
};

/* `jobs`: those of Slurm that carry this job's and step's tag, of whatever request.  `no_merge`:
 * expansions whose merging was refused, which stay jobs of their own. */
SlurmPlan plan_for(const SlurmWish &wish, const std::vector<const SlurmJob *> &jobs, bool merge,
                   const std::set<SlurmId> &no_merge);

/* Which Slurm job has each node: what the launcher needs. */
std::map<std::string, SlurmId> node_map(const std::vector<const SlurmJob *> &jobs);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_PLAN_H_INCLUDED */
