/*
 * Variables and file names of a step of srun, and of each of its processes.  Pure.
 */

#ifndef ELASTIC_RM_SLURM_STEP_ENVIRONMENT_H_INCLUDED
#define ELASTIC_RM_SLURM_STEP_ENVIRONMENT_H_INCLUDED

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "slurm/srun_options.h"
#include "slurm/step_layout.h"

namespace elastic::rm {

using Variables = std::vector<std::pair<std::string, std::string>>;

/* SLURM_STEP_ID, SLURM_NTASKS, ...: the same for all processes. */
Variables step_variables(const Layout &layout, int step);
/* SLURM_PROCID, SLURM_LOCALID, SLURM_NODEID, SLURMD_NODENAME; no position: the rank has come by an
 * adaptation, so that only the first is known. */
Variables task_variables(int rank, const TaskPosition &position);

/* Of --export: these variables, and what the step cannot do without.  A value that is not given is
 * that of `environment`. */
Variables exported_environment(char **environment, const SrunOptions &options);

/* Values of the patterns in names of files. */
struct FileNames {
    std::string job, array, index, step, name, user, task, node, host;
};
/* From the variables of the job, of the step and of the process, as far as there are any. */
FileNames names_of_step(const std::function<std::string(const char *)> &variable);
/* %j %J %A %a %s %x %u %t %n %N, and %% for %. */
std::string expand_name(const std::string &pattern, const FileNames &names);
/* Whether it has %t, %n or %N, so that it is not one file for all processes. */
bool is_name_of_task(const std::string &pattern);

/* Of --input. */
struct StepInput {
    std::string path;                   /* empty: that of the script */
    std::optional<std::string> to_rank; /* for mpiexec -s; none: rank 0 */
};
StepInput input_of(const SrunOptions &options);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_STEP_ENVIRONMENT_H_INCLUDED */
