/* For invariants.cpp: nodes on which a job may not start, found from the configuration alone,
 * without State::enter; and the distribution on a number of nodes. */

#ifndef ELASTIC_RM_CORE_INVARIANT_NODES_H_INCLUDED
#define ELASTIC_RM_CORE_INVARIANT_NODES_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

/* Empty, or the error in these nodes of a job that starts now. */
inline std::string wrong_nodes(const State &state, const Job &job, const Blocks &blocks)
{
    if (job.spec.in && !starts_jobs(*job.spec.in))
        return "in a closed partition";
    int64_t ends_ms = job.limit_at_ms == NEVER ? INT64_MAX : job.limit_at_ms;
    for (const NodeReservation &each : state.config.reservations) {
        bool is_own = each.name == job.spec.reservation;
        bool is_other = !is_own && each.until_ms > state.now_ms && each.from_ms < ends_ms;
        for (const Block &block : blocks) {
            bool has = each.nodes.empty() || each.nodes.contains(block.node);
            if (is_other && has)
                return "on " + block.node + ", which is reserved for others";
            if (is_own && !has)
                return "on " + block.node + ", which its reservation does not have";
        }
    }
    return "";
}

/* Empty, or the error in the distribution of a job with a number of nodes that starts now. */
inline std::string wrong_distribution(const State &state, const JobSpec &spec, const Blocks &blocks)
{
    if (spec.nodes == 0)
        return "";
    if (blocks.size() != static_cast<size_t>(spec.nodes) ||
        count_processes(blocks) != spec.minimum)
        return "on " + std::to_string(blocks.size()) + " nodes, with " +
               std::to_string(count_processes(blocks)) + " processes";
    auto is_full = [&](const Block &block) {
        const Node &node = *state.node(block.node);
        int more = block.processes + 1, gpus = gpus_on_node(spec, more);
        return more * spec.cores_per_process > node.cores || gpus > node.gpus ||
            more == spec.processes_per_node + 1;
    };
    for (size_t i = 1; i < blocks.size(); i++) {
        const Block &before = blocks[i - 1];
        if (!NaturalLess()(before.node, blocks[i].node))
            return "on " + blocks[i].node + " after " + before.node;
    }
    for (const Block &one : blocks) {
        for (const Block &other : blocks) {
            bool is_later = NaturalLess()(other.node, one.node);
            int most = one.processes + (is_later ? 1 : 0);
            if (other.processes > most && !is_full(one))
                return "with too few processes on " + one.node;
        }
    }
    return "";
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_INVARIANT_NODES_H_INCLUDED */
