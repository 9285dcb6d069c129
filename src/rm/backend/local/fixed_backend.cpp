/* See fixed_backend.h. */

#include "backend/local/fixed_backend.h"

#include <unistd.h>

#include "backend/node_list.h"
#include "core/node_cores.h"

namespace elastic::rm {

namespace {

constexpr int64_t AGAIN_MS = 1000;

}  // namespace

FixedBackend::FixedBackend(Loop &loop, std::map<std::string, int> nodes, std::string launcher,
                           std::vector<std::string> variables)
    : loop_(loop), nodes_(std::move(nodes)), launcher_(std::move(launcher)),
      variables_(std::move(variables))
{
    variables_.push_back("HYDRA_LAUNCHER=" + launcher_);
}

FixedBackend::~FixedBackend()
{
    loop_.cancel(timer_);
}

std::string FixedBackend::start(const State &known, Notify notify)
{
    known_ = &known;
    notify_ = std::move(notify);
    report_nodes();
    for (const auto &[name, node] : known.nodes)
        if (!nodes_.contains(name) && !node.removed)
            notify_(NodeRemoved{name});
    return "";
}

void FixedBackend::report_nodes()
{
    timer_ = 0;
    bool all_are_known = true;
    for (const auto &[name, cores] : nodes_)
        all_are_known = report(name, cores) && all_are_known;
    if (!all_are_known)
        timer_ = loop_.after(AGAIN_MS, [this] { report_nodes(); });
}

/* Returns whether all of it has been reported. */
bool FixedBackend::report(const std::string &name, int cores)
{
    const Node *node = known_->node(name);
    if (node && node->up && !node->removed && node->cores == cores && node->trouble.empty())
        return true;
    if (!node || can_have_cores(*known_, *node, cores)) {
        notify_(NodeUp{name, cores});
        return true;
    }
    if (!node->up || node->removed)
        notify_(NodeUp{name, node->cores});
    else if (std::string why = why_cores_wait(*node, cores); node->trouble != why)
        notify_(NodeSuspect{name, std::move(why)});
    return false;
}

void FixedBackend::check_node(const std::string &node)
{
    auto found = nodes_.find(node);
    if (found != nodes_.end())
        notify_(NodeUp{found->first, found->second});
}

std::unique_ptr<Backend> make_local_backend(const Settings &settings, Loop &loop)
{
    std::map<std::string, int> nodes;
    for (int64_t i = 0; i < settings.local_nodes; i++)
        nodes[settings.local_node_prefix + std::to_string(i)] =
            static_cast<int>(settings.local_cores_per_node);
    return std::make_unique<FixedBackend>(
        loop, std::move(nodes), "fork", std::vector<std::string>{});
}

/* The variables by which launchers find the allocation, for jobs that are submitted from another
 * environment. */
std::unique_ptr<Backend> make_nested_backend(const Settings &settings, Loop &loop)
{
    std::map<std::string, int> nodes;
    auto listed = parse_hosts(settings.hosts);
    for (const ListedNode &node : listed ? listed.value() : ListedNodes())
        nodes[node.name] = node.cores;
    std::vector<std::string> variables;
    for (char **entry = environ; *entry; entry++)
        for (const char *wanted :
             {"SLURM_JOB_ID=", "SLURM_JOBID=", "SLURM_CONF=", "SLURM_JOB_NODELIST=",
              "SLURM_NODELIST=", "SLURM_JOB_NUM_NODES=", "LSB_JOBID=", "LSF_BINDIR=",
              "LSF_SERVERDIR=", "LSF_LIBDIR=", "LSF_ENVDIR=", "LSB_MCPU_HOSTS=", "LSB_HOSTS=",
              "LSB_DJOB_HOSTFILE="})
            if (std::string_view(*entry).starts_with(wanted))
                variables.emplace_back(*entry);
    return std::make_unique<FixedBackend>(
        loop, std::move(nodes), settings.nested_launcher, std::move(variables));
}

}  // namespace elastic::rm
