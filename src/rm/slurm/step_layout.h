/*
 * Where the processes of a step of srun run: on which nodes of the job, and on which of its slots.
 * A slot is the capacity for one process of the job; its number is its position in the hosts file
 * of the step.  Pure.
 */

#ifndef ELASTIC_RM_SLURM_STEP_LAYOUT_H_INCLUDED
#define ELASTIC_RM_SLURM_STEP_LAYOUT_H_INCLUDED

#include <string>
#include <vector>

#include "backend/node_list.h"
#include "slurm/srun_options.h"

namespace elastic::rm {

struct Layout {
    struct Block {
        std::string node;
        int tasks = 0;
        bool operator==(const Block &) const = default;
    };
    std::vector<Block> blocks;  /* in the order of ranks; a node may come again */
    std::vector<int> slots;     /* that the step uses alone; empty if it overlaps with others */
    int slots_per_task = 1;
    int tasks() const;
    /* Each node once, in the order of its first process. */
    std::vector<std::string> nodes() const;
};

/* Of a job with so many slots on each node; `cores_per_task` is that of the job. */
struct JobSlots {
    ListedNodes nodes;
    int cores_per_task = 1;
};

/* Whether each slot is used by another step; empty: none is. */
using Used = std::vector<bool>;

struct StepAllocation {
    enum class Result { OK, BUSY, IMPOSSIBLE } result = Result::IMPOSSIBLE;
    Layout layout;
    std::string why;            /* of IMPOSSIBLE */
};
/* BUSY: it fits when other steps have ended. */
StepAllocation allocate_step(const JobSlots &allocated, const SrunOptions &options,
                             const Used &used);

/* "n0:2,n1:1" for mpiexec -hosts, and the reverse. */
std::string format_blocks(const Layout &layout);
Result<Layout> parse_blocks(const std::string &text);
/* Position of the node in nodes(), and rank among the processes there; -1: there is no such
 * rank. */
struct TaskPosition {
    int node = -1, local = -1;
    std::string name;
};
TaskPosition position_of(const Layout &layout, int rank);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_STEP_LAYOUT_H_INCLUDED */
