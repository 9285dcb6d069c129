/* See nested.h. */

#include "backend/nested/nested.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace elastic::rm {

namespace {

constexpr size_t FILE_BYTES_MAX = 16 * 1024 * 1024;

Result<std::string> read_text(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file.is_open())
        return Error{"cannot read the list of nodes " + path + ": " + strerror(errno)};
    std::string text(FILE_BYTES_MAX + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad())
        return Error{"cannot read the list of nodes " + path};
    text.resize(static_cast<size_t>(file.gcount()));
    if (text.size() > FILE_BYTES_MAX)
        return Error{path + " is longer than 16 MiB: it is not a list of nodes"};
    return text;
}

Result<ListedNodes> read_list(const std::string &path)
{
    auto text = read_text(path);
    return text ? parse_hosts_file(text.value(), path) : Result<ListedNodes>(Error{text.error()});
}

/* The first variable that is set. */
std::string one_of(const Variables &variable, std::initializer_list<const char *> names)
{
    for (const char *name : names)
        if (std::string value = variable(name); !value.empty())
            return value;
    return "";
}

Result<ListedNodes> nodes_of_slurm(const Variables &variable)
{
    /* The cores of the job, not its number of processes, which elasticd manages. */
    return parse_slurm_nodes(one_of(variable, {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}),
                             one_of(variable, {"SLURM_JOB_CPUS_PER_NODE", "SLURM_TASKS_PER_NODE"}));
}

Result<ListedNodes> nodes_of_lsf(const Variables &variable)
{
    std::string counted = variable("LSB_MCPU_HOSTS");
    return counted.empty() ? parse_lsf_hosts(variable("LSB_HOSTS")) : parse_lsf_mcpu_hosts(counted);
}

Result<ListedNodes> nodes_of(const Allocation &allocation, const Variables &variable)
{
    switch (allocation.system) {
        case BatchSystem::SLURM: return nodes_of_slurm(variable);
        case BatchSystem::PBS: return read_list(variable("PBS_NODEFILE"));
        case BatchSystem::LSF: return nodes_of_lsf(variable);
    }
    return Error{"no such batch system"};
}

const char *launcher_of(BatchSystem system)
{
    switch (system) {
        case BatchSystem::SLURM: return "slurm";
        case BatchSystem::PBS: return "ssh";
        case BatchSystem::LSF: return "lsf";
    }
    return "ssh";
}

/* A short name for a path, always the same (FNV-1a). */
std::string name_of_file(const std::string &path)
{
    uint64_t hash = 14695981039346656037u;
    for (char c : path)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    char text[24];
    snprintf(text, sizeof text, "file-%016llx", static_cast<unsigned long long>(hash));
    return text;
}

}  // namespace

Result<NestedNodes> nested_nodes(const std::string &file, const Variables &variable)
{
    auto allocation = find_allocation(variable);
    if (!allocation && file.empty())
        return Error{
            "--nested works inside a job of Slurm, PBS or LSF, and there is none here (neither "
            "SLURM_JOB_NODELIST nor "
            "PBS_NODEFILE nor LSB_MCPU_HOSTS is set): name a file with --nested=FILE, a node in "
            "each line"};
    NestedNodes nested;
    nested.launcher = allocation ? launcher_of(allocation->system) : "ssh";
    nested.name = allocation ? allocation->short_name() : name_of_file(file);
    nested.source = allocation ? std::string(allocation->system_name()) + " job " + allocation->id
                               : file;
    if (allocation && allocation->system == BatchSystem::SLURM)
        nested.slurm_job = allocation->id;
    auto nodes = file.empty() ? nodes_of(*allocation, variable) : read_list(file);
    if (!nodes)
        return Error{"the nodes of " + nested.source + ": " + nodes.error()};
    nested.nodes = std::move(nodes.value());
    /* Batch systems list a node once for each slot. */
    for (ListedNode &node : nested.nodes)
        node.cores = std::max(node.cores, 1);
    return nested;
}

void set_nested(Settings &settings, const NestedNodes &nodes)
{
    std::string folder = nested_folder(runtime_directory(), nodes.name);
    settings.cluster = nodes.source;
    settings.nested_folder = folder;
    settings.nested_slurm_job = nodes.slurm_job;
    settings.nested_source = nodes.source;
    settings.state_dir = folder + "/state";
    settings.socket = nested_socket(folder);
    settings.socket_mode = 0600;
    settings.tcp.clear();
    settings.hosts_file.clear();
    settings.hosts.clear();
    settings.partitions.clear();        /* they are for other nodes */
    settings.reservations.clear();
    settings.prolog.clear();            /* they are for the nodes' owner */
    settings.epilog.clear();
    for (const ListedNode &node : nodes.nodes)
        settings.hosts.push_back(node.name + ":" + std::to_string(node.cores));
    /* If ssh starts the processes, it can also probe the nodes. */
    settings.backend = nodes.launcher == "ssh" ? "hosts" : "nested";
    settings.nested_launcher = nodes.launcher;
}

}  // namespace elastic::rm
