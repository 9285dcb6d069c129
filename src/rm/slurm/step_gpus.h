/*
 * The GPUs of a step of srun.  With GPUs for each process a slot of the job has its own, as many as
 * a process: those of slots that no running step uses (slot_locks.h).  Otherwise, and with
 * --overlap, a step has all GPUs of the job on its nodes.  Pure.
 */

#ifndef ELASTIC_RM_SLURM_STEP_GPUS_H_INCLUDED
#define ELASTIC_RM_SLURM_STEP_GPUS_H_INCLUDED

#include <string>

#include "slurm/step_layout.h"

namespace elastic::rm {

/* `of_job` and the result: ELASTIC_STEP_GPUS (step/launch.h).  A text of another form is returned
 * as it is. */
std::string gpus_of_step(const std::string &of_job, const JobSlots &allocated,
                         const Layout &layout);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_STEP_GPUS_H_INCLUDED */
