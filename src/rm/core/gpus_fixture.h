/* For tests: nodes with GPUs, and jobs that need some. */

#ifndef ELASTIC_RM_CORE_GPUS_FIXTURE_H_INCLUDED
#define ELASTIC_RM_CORE_GPUS_FIXTURE_H_INCLUDED

#include "core/core_driver.h"

namespace elastic::rm {

inline JobSpec with_gpus(JobSpec spec, int of_process, int of_node = 0)
{
    spec.gpus_per_process = of_process;
    spec.gpus_per_node = of_node;
    return spec;
}

/* Nodes n0, n1, ... of four cores, with this number of GPUs. */
struct GpuMachine : CoreDriver {
    GpuMachine(PolicyKind policy, const std::vector<int> &gpus)
        : CoreDriver(policy, static_cast<int>(gpus.size()), 4)
    {
        for (size_t i = 0; i < gpus.size(); i++)
            send(NodeGpusSet{"n" + std::to_string(i), gpus[i]});
    }
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_GPUS_FIXTURE_H_INCLUDED */
