/*
 * GPUs of a job as numbers for its programs and mpiexec: on their node, or on elasticd's machine if
 * the nodes are parts of it.  Pure.
 */

#ifndef ELASTIC_RM_GPU_NUMBERS_H_INCLUDED
#define ELASTIC_RM_GPU_NUMBERS_H_INCLUDED

#include <functional>
#include <string>

#include "core/gpus.h"

namespace elastic::rm {

constexpr const char *GPU_VARIABLES[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
                                         "ZE_AFFINITY_MASK"};

/* The number of the first GPU of a node; empty: 0. */
using FirstGpu = std::function<int(const NodeName &)>;

/* "0,1": the GPUs of these processes or sets, in sequence. */
std::string gpu_numbers(const NodeName &node, const ProcessGpus &gpus, const FirstGpu &first);
/* The GPUs of the job, as mpiexec and its proxies read them (ELASTIC_STEP_GPUS): the variables, the
 * GPUs of each process (0: all of its node), and those of each node in the order of its processes,
 * as in "CUDA_VISIBLE_DEVICES:2:n0=0,1;n1=0,1".  Empty: none. */
std::string format_gpus(const Job &job, const FirstGpu &first);
/* They change with its size: its programs read the present ones in STEP_GPUS_FILE. */
bool changes_gpus(const Job &job);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_GPU_NUMBERS_H_INCLUDED */
