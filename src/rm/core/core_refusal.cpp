/* See core_impl.h: reasons to refuse a job. */

#include "core/core_impl.h"
#include "core/placement.h"
#include "core/time_limit.h"

namespace elastic::rm {

namespace {

std::string names_of(const std::vector<Partition> &partitions)
{
    std::string names;
    for (const Partition &each : partitions)
        names += (names.empty() ? "" : ", ") + each.name;
    return names;
}

/* The nodes that the job may use: " of partition long"; empty: all. */
std::string which_nodes(const JobSpec &spec)
{
    std::string which = nodes_of_partition(spec).empty() ? "" : " of partition " + spec.partition;
    if (!spec.reservation.empty())
        which = " of reservation " + spec.reservation;
    return which + (spec.exclude.empty() ? "" : " that it does not exclude");
}

}  // namespace

/* Empty, or the reason. */
std::string Core::Impl::refusal(const JobSpec &spec, AnswerCode &code) const
{
    code = AnswerCode::FIELD;
    if (std::string wrong = check(spec); !wrong.empty())
        return wrong;
    if (std::string wrong = partition_refusal(spec); !wrong.empty())
        return wrong;
    std::string wrong = reservation_refusal(spec);
    if (wrong.empty())
        wrong = core_time_refusal(spec);
    if (!wrong.empty())
        return wrong;
    code = AnswerCode::LIMIT;
    size_t tasks = spec.array.empty() ? 1 : parse_array(spec.array).value().indices.size();
    if (state.jobs.size() - state.finished.size() + tasks >
        static_cast<size_t>(state.config.jobs_max))
        return "there are " + std::to_string(state.config.jobs_max) +
               " jobs already; submit again when some have ended";
    if (std::string why = too_many_refusal(spec); !why.empty())
        return why;
    code = AnswerCode::CAPACITY;
    return capacity_refusal(spec);
}

/* Without reservations for others. */
std::string Core::Impl::capacity_refusal(const JobSpec &reduced) const
{
    JobSpec spec = state.unreserved(reduced);
    int size = size_at_least(spec, 1);
    int64_t cores = int64_t{size} * spec.cores_per_process;
    std::string whose;
    if (int64_t most = cores_max(spec, whose); cores > most)
        return "the job needs at least " + std::to_string(cores) + " cores, and " + whose +
               " may have " + std::to_string(most) + " at once; request less";
    if (!state.config.check_capacity)
        return "";
    int capacity = state.capacity_when_empty(spec, false);
    if (capacity >= size)
        return "";
    if (std::string small = small_nodes_refusal(spec); !small.empty())
        return small;
    if (!any_node_will_do(spec))
        return listed_refusal(spec, size, capacity);
    return "the job needs at least " + std::to_string(size) + " processes, and all " +
           std::to_string(state.nodes.size()) + " nodes together can hold " +
           std::to_string(capacity) + " such processes; request less";
}

/* Empty, or that no node holds even one of its processes, because of their cores. */
std::string Core::Impl::small_nodes_refusal(const JobSpec &spec) const
{
    int largest = 0;
    for (const auto &[name, node] : state.nodes) {
        if (!node.removed && may_use(spec, node.name))
            largest = std::max(largest, node.cores);
    }
    if (largest == 0 || largest >= spec.cores_per_process)
        return "";
    return "no node" + which_nodes(spec) + " has " + std::to_string(spec.cores_per_process) +
           " cores: the largest has " + std::to_string(largest) +
           "; request fewer cores for each process (-c), or less memory for it";
}

/* For a job that cannot use just any node, or needs a number of them, and needs more than fits. */
std::string Core::Impl::listed_refusal(const JobSpec &spec, int size, int capacity) const
{
    for (const NodeName &name : spec.nodelist) {
        const Node *node = state.node(name);
        if (!node || node->removed)
            return "there is no node " + name.str() + ", which its node list names";
        if (node->cores < spec.cores_per_process)
            return "node " + name.str() + " of its node list has " + std::to_string(node->cores) +
                   " cores, and a process needs " + std::to_string(spec.cores_per_process);
    }
    std::string which = which_nodes(spec);
    if (spec.nodes > 0) {
        std::string needs = "the job needs " + std::to_string(spec.nodes) +
            (spec.nodes == 1 ? " node" : " nodes") + (needs_gpus(spec) ? " with GPUs" : "");
        if (capacity > 0)
            return needs + " for " + std::to_string(size) + " processes, and the largest" +
                   (spec.nodes == 1 ? "" : " " + std::to_string(spec.nodes)) + which +
                   " can hold " + std::to_string(capacity) + "; request less";
        Shape one_on_each = shape_of(spec);
        one_on_each.nodes = 0;
        one_on_each.processes_per_node = 1;
        int count = state.capacity_when_empty(one_on_each, false);
        return needs + " that can hold a process, and there " + (count == 1 ? "is " : "are ") +
               std::to_string(count) + (count == 1 ? " such node" : " such nodes") + which +
               "; request less";
    }
    if (needs_gpus(spec))
        return "the job needs at least " + std::to_string(size) + " processes with GPUs, and " +
               (which.empty() ? "all nodes" : "the nodes" + which) +
               " together can hold " + std::to_string(capacity) +
               " such processes: there are " + std::to_string(state.indices().nodes.gpus) +
               " GPUs ('elastic nodes' lists them); request less";
    return "the job needs at least " + std::to_string(size) +
           " processes, and the nodes" + which + " can hold " + std::to_string(capacity) +
           " such processes; request less" +
           (spec.exclude.empty() ? "" : ", or exclude fewer nodes");
}

/* Empty, or why its partition does not accept the job. */
std::string Core::Impl::partition_refusal(const JobSpec &spec) const
{
    const std::vector<Partition> &all = state.config.partitions;
    if (all.empty() && !spec.partition.empty())
        return "there is no partition " + spec.partition + ": there are none at all";
    if (all.empty())
        return "";
    if (spec.partition.empty())
        return "no partition is the default: name one of " + names_of(all);
    if (!state.partition(spec.partition))
        return "there is no partition " + spec.partition + ": choose one of " + names_of(all);
    const Partition &partition = *state.partition(spec.partition);
    if (partition.state == PartitionState::DRAIN)
        return "partition " + spec.partition + " takes no new jobs (drain)";
    for (const NodeName &node : spec.nodelist) {
        if (!has_node(partition, node))
            return "node " + node.str() + " of its node list is not in partition " +
                   spec.partition;
    }
    return partition_limit_refusal(spec);
}

std::string Core::Impl::partition_limit_refusal(const JobSpec &spec) const
{
    if (!spec.in)
        return "";
    int64_t limit_ms = time_limit(state, spec), most_ms = spec.in->max_time_ms;
    if (most_ms > 0 && (limit_ms == 0 || limit_ms > most_ms))
        return "partition " + spec.partition + " allows a time limit of " +
               std::to_string(most_ms / 1000) + " s at most, and the job " +
               (limit_ms == 0 ? "has none" : "requests " + std::to_string(limit_ms / 1000) + " s");
    int64_t cores = int64_t{most_processes(spec)} * spec.cores_per_process;
    if (spec.in->max_cores > 0 && cores > spec.in->max_cores)
        return "partition " + spec.partition + " allows a job " +
               std::to_string(spec.in->max_cores) + " cores at most, and this one may have " +
               std::to_string(cores) + ": request a smaller maximum";
    return "";
}

/* Cores at its largest size, times its time limit. */
std::string Core::Impl::core_time_refusal(const JobSpec &spec) const
{
    constexpr int64_t HOUR_MS = 3600000;
    int64_t cores = int64_t{most_processes(spec)} * spec.cores_per_process;
    int64_t limit_ms = time_limit(state, spec);
    auto exceeds = [&](int64_t most_ms) {
        return most_ms > 0 && (limit_ms == 0 || cores > most_ms / limit_ms);
    };
    auto refusal = [&](const std::string &who, int64_t most_ms) {
        std::string why = who + " a job " + std::to_string(most_ms / HOUR_MS) + " core hours and " +
                          std::to_string(most_ms % HOUR_MS / 1000) + " core seconds at most, and " +
                          "this one may have " + std::to_string(cores) + " cores ";
        return limit_ms == 0
                   ? why + "without a time limit: request one"
                   : why + "for " + std::to_string(limit_ms / 1000) + " s: request fewer, or less "
                                                                      "time";
    };
    if (exceeds(state.config.job_core_time_max_ms))
        return refusal("limits.core_time_per_job allows", state.config.job_core_time_max_ms);
    for (const std::string &name : spec.groups) {
        const GroupLimit *group = find_group(state.config.groups, name);
        if (group && exceeds(group->core_time_max_ms))
            return refusal("group " + name + " allows", group->core_time_max_ms);
    }
    return "";
}

/* Including its tasks. */
std::string Core::Impl::too_many_refusal(const JobSpec &spec) const
{
    size_t tasks = spec.array.empty() ? 1 : parse_array(spec.array).value().indices.size();
    for (const std::string &name : spec.groups) {
        const GroupLimit *group = find_group(state.config.groups, name);
        int64_t jobs = state.of_group(name).jobs;
        if (group && group->jobs_max > 0 && jobs + static_cast<int64_t>(tasks) > group->jobs_max)
            return "members of group " + name + " have " + std::to_string(jobs) +
                   " jobs that have not ended, and may have " + std::to_string(group->jobs_max) +
                   ": submit again when some have ended";
    }
    return "";
}

}  // namespace elastic::rm
