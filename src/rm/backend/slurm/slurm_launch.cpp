/* See slurm_launch.h. */

#include "backend/slurm/slurm_launch.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace elastic::rm {

std::string format_slurm_jobs(const std::map<std::string, uint64_t> &nodes)
{
    std::string text;
    for (const auto &[node, id] : nodes)
        text += node + " " + std::to_string(id) + "\n";
    return text;
}

std::optional<uint64_t> find_slurm_job(std::string_view text, std::string_view node)
{
    while (!text.empty()) {
        size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!line.starts_with(node) || line.size() <= node.size() || line[node.size()] != ' ')
            continue;
        line.remove_prefix(node.size() + 1);
        uint64_t id = 0;
        auto [last, code] = std::from_chars(line.data(), line.data() + line.size(), id);
        if (code == std::errc() && last == line.data() + line.size())
            return id;
    }
    return std::nullopt;
}

std::optional<std::string> node_of_srun(const std::vector<std::string> &words)
{
    for (size_t i = 0; i + 1 < words.size(); i++)
        if (words[i] == "--nodelist" || words[i] == "-w")
            return words[i + 1].find_first_of(",[") == std::string::npos
                ? std::optional(words[i + 1])
                : std::nullopt;
    return std::nullopt;
}

/* All variables that Slurm's commands read, except the path of its configuration. */
std::vector<std::string> misleading_variables(char **environment)
{
    std::vector<std::string> names;
    for (char **entry = environment; *entry; entry++) {
        std::string name(*entry, strcspn(*entry, "="));
        if (name == "SLURM_CONF")
            continue;
        for (const char *prefix :
             {"SLURM_", "SALLOC_", "SQUEUE_", "SINFO_", "SCANCEL_", "SCONTROL_", "SBATCH_"})
            if (name.starts_with(prefix))
                names.push_back(name);
    }
    return names;
}

/* Other steps of the job may run there too; MPI and binding are done by mpiexec; a failing step
 * reports that itself. */
std::vector<std::string> srun_options(uint64_t slurm_job)
{
    return {"--jobid=" + std::to_string(slurm_job), "--overlap", "--mpi=none", "--cpu-bind=none",
            "--kill-on-bad-exit=0"};
}

}  // namespace elastic::rm
