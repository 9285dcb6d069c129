/* See mix.h. */

#include "sim/mix.h"

#include "sim/simulated_cluster.h"

namespace elastic::rm {

RunMetrics simulate_mix(const std::vector<MixJob> &mix, int nodes, int cores, PolicyKind policy,
                        bool as_rigid)
{
    ClusterOptions options;
    options.config.policy = policy;
    options.nodes = nodes;
    options.cores = cores;
    options.jobs = mix;
    options.check = false;
    if (as_rigid) {
        for (MixJob &job : options.jobs) {
            int size_request = job.spec.preferred > 0 ? job.spec.preferred : job.spec.maximum;
            int size = size_at_most(
                job.spec, std::min(size_request, nodes * cores / job.spec.cores_per_process));
            job.spec.minimum = job.spec.maximum = size;
            job.spec.preferred = 0;
            job.spec.elasticity = Elasticity::RIGID;
        }
    }
    SimulatedCluster cluster(options);
    cluster.run();
    return cluster.metrics();
}

}  // namespace elastic::rm
