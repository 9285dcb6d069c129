/*
 * How mpiexec's proxies start on nodes of Slurm: elastic-srun (slurm_launch_main.cpp) replaces
 * srun for mpiexec.  A file in the step's folder contains the Slurm job of each node; elasticd
 * writes it before it sends the node to mpiexec.  Each step that elastic-srun starts is on one
 * node.
 *
 * The file: a line `NODE ID` for each node of the job.
 *
 * Pure.
 */

#ifndef ELASTIC_RM_SLURM_LAUNCH_H_INCLUDED
#define ELASTIC_RM_SLURM_LAUNCH_H_INCLUDED

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::rm {

constexpr const char *SLURM_JOBS_FILE = "slurm-jobs";

std::string format_slurm_jobs(const std::map<std::string, uint64_t> &nodes);
/* nullopt: the node is not in it. */
std::optional<uint64_t> find_slurm_job(std::string_view text, std::string_view node);

/* The node in these arguments of srun: that of --nodelist, if it is one. */
std::optional<std::string> node_of_srun(const std::vector<std::string> &words);
/* Variables of an environment that would change the effect of Slurm's commands. */
std::vector<std::string> misleading_variables(char **environment);

/* The prefix of the names. */
std::vector<std::string> srun_options(uint64_t slurm_job);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SLURM_LAUNCH_H_INCLUDED */
