/* See gpu_numbers.h. */

#include "step/gpu_numbers.h"

namespace elastic::rm {

std::string gpu_numbers(const NodeName &node, const ProcessGpus &gpus, const FirstGpu &first)
{
    int from = first ? first(node) : 0;
    std::string numbers;
    for (GpuSet left : gpus) {
        for (; left != 0; left &= left - 1)
            numbers +=
                (numbers.empty() ? "" : ",") + std::to_string(from + std::countr_zero(left));
    }
    return numbers;
}

std::string format_gpus(const Job &job, const FirstGpu &first)
{
    std::string variables, nodes;
    auto add = [&](const NodeName &node, const ProcessGpus &gpus) {
        nodes += (nodes.empty() ? "" : ";") + node + "=" + gpu_numbers(node, gpus, first);
    };
    for (const char *name : GPU_VARIABLES)
        variables += (variables.empty() ? "" : ",") + std::string(name);
    if (job.spec.gpus_per_process > 0) {
        for (const auto &[node, gpus] : gpus_by_node(job.blocks, job.process_gpus))
            add(node, gpus);
    } else {
        for (const NodeGpus &each : job.gpus)
            add(each.node, {each.gpus});
    }
    return nodes.empty() ? ""
                         : variables + ":" + std::to_string(job.spec.gpus_per_process) + ":" +
                               nodes;
}

bool changes_gpus(const Job &job)
{
    return needs_gpus(job.spec) && job.spec.elasticity != Elasticity::RIGID;
}

}  // namespace elastic::rm
