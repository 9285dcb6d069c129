/* See gpu_request.h. */

#include "api/gpu_request.h"

namespace elastic::rm {

void read_gpus_of_parts(BodyReader &body, JobSpec &spec)
{
    spec.gpus_per_process = static_cast<int>(body.number("gpus_per_process", 0, GPUS_MAX, 0));
    spec.gpus_per_node = static_cast<int>(body.number("gpus_per_node", 0, GPUS_MAX, 0));
    if (needs_gpus(spec) && spec.gpus_per_process > 0 && spec.gpus_per_node > 0)
        body.fail("gpus_per_node", "cannot be combined with gpus_per_process: give one of them");
}

void read_gpus_of_all(BodyReader &body, JobSpec &spec, int nodes)
{
    constexpr int64_t ALL_MAX = int64_t{1} << 20;
    int64_t all = body.number("gpus", 0, ALL_MAX, 0);
    if (all == 0)
        return;
    if (spec.minimum != spec.maximum)
        body.fail("gpus", "is for a job of one size: give gpus_per_process for an elastic job");
    int64_t each_process = all / spec.minimum, each_node = nodes > 0 ? all / nodes : 0;
    bool agrees = needs_gpus(spec) &&
        (spec.gpus_per_process * int64_t{spec.minimum} == all ||
         (nodes > 0 && spec.gpus_per_node * int64_t{nodes} == all));
    if (agrees)
        return;
    if (needs_gpus(spec))
        body.fail("gpus", "is " + std::to_string(all) + ", but all processes or nodes together "
                          "have another number: leave one of them out");
    if (each_process * spec.minimum == all && each_process <= GPUS_MAX)
        spec.gpus_per_process = static_cast<int>(each_process);
    else if (nodes > 0 && each_node * nodes == all && each_node <= GPUS_MAX)
        spec.gpus_per_node = static_cast<int>(each_node);
    else
        body.fail("gpus", "is " + std::to_string(all) + ", which " +
                              std::to_string(spec.minimum) +
                              (spec.minimum == 1 ? " process" : " processes") +
                              " cannot have in equal parts: give gpus_per_node, whose processes "
                              "share them, or another number");
}

}  // namespace elastic::rm
