/* See allocation.h. */

#include "backend/nested/allocation.h"

#include <cstdlib>

namespace elastic::rm {

namespace {

struct Known {
    BatchSystem system;
    const char *name, *short_name;
    const char *id, *other_id;          /* variables */
    const char *nodes, *other_nodes;    /* one of them lists the nodes */
};

constexpr Known KNOWN[] = {
    {BatchSystem::SLURM, "Slurm", "slurm", "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NODELIST",
     "SLURM_NODELIST"},
    {BatchSystem::PBS, "PBS", "pbs", "PBS_JOBID", "PBS_JOBID", "PBS_NODEFILE", "PBS_NODEFILE"},
    {BatchSystem::LSF, "LSF", "lsf", "LSB_JOBID", "LSB_JOBID", "LSB_MCPU_HOSTS", "LSB_HOSTS"},
};

const Known &known(BatchSystem system)
{
    return KNOWN[static_cast<size_t>(system)];
}

}  // namespace

const char *Allocation::system_name() const
{
    return known(system).name;
}

std::string Allocation::short_name() const
{
    constexpr size_t ID_MAX = 32;
    std::string name = std::string(known(system).short_name) + "-";
    for (char c : id.substr(0, ID_MAX)) {
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        name += plain ? c : '_';
    }
    return name;
}

std::string environment_variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

std::optional<Allocation> find_allocation(const Variables &variable)
{
    for (const Known &each : KNOWN) {
        std::string id = variable(each.id);
        if (id.empty())
            id = variable(each.other_id);
        bool names_nodes = !variable(each.nodes).empty() || !variable(each.other_nodes).empty();
        if (!id.empty() && names_nodes)
            return Allocation{each.system, id};
    }
    return std::nullopt;
}

std::string nested_folder(const std::string &base, const std::string &short_name)
{
    return base + "/nested-" + short_name;
}

std::string nested_socket(const std::string &folder)
{
    return folder + "/elasticd.sock";
}

}  // namespace elastic::rm
