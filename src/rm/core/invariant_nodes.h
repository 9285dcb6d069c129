/* For invariants.cpp: nodes on which a job may not start.  Found from the configuration alone,
 * without State::enter. */

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

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_INVARIANT_NODES_H_INCLUDED */
