/* GPUs of the processes of a job.  Pure. */

#ifndef ELASTIC_RM_CORE_GPUS_H_INCLUDED
#define ELASTIC_RM_CORE_GPUS_H_INCLUDED

#include "core/job.h"

namespace elastic::rm {

/* Removes the first `count` of them, or all if there are fewer. */
GpuSet take_gpus(GpuSet &from, int count);
/* The GPUs of the ranks that remain if these (rising) leave; `left` receives those of the
 * leaving ranks. */
ProcessGpus without(const ProcessGpus &gpus, const std::vector<int> &leave,
                    ProcessGpus *left = nullptr);
/* The GPUs of these processes on each node, in their order; nodes in the order of the blocks. */
std::vector<std::pair<NodeName, ProcessGpus>> gpus_by_node(const Blocks &blocks,
                                                           const ProcessGpus &gpus);
/* Sets Job::gpus of a job with GPUs for each process. */
void collect_gpus(Job &job);
/* Sets Job::process_gpus of a job that was stored by an older elasticd, which recorded GPUs only
 * per node: the processes get them in the order of their ranks. */
void deal_gpus(Job &job);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_GPUS_H_INCLUDED */
