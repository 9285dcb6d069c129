/* See step_layout.h. */

#include "slurm/step_layout.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/change.h"

namespace elastic::rm {

namespace {

struct Node {
    std::string name;
    std::vector<int> free, all; /* slots */
    int tasks = 0;
};

bool contains(const std::vector<std::string> &names, const std::string &name)
{
    return std::ranges::find(names, name) != names.end();
}

/* The nodes that the step may have, in their order. */
std::vector<Node> candidates(const JobSlots &allocated, const SrunOptions &options,
                             const Used &used)
{
    std::vector<Node> nodes;
    int slot = 0, number = 0;
    for (const ListedNode &listed : allocated.nodes) {
        Node node{listed.name, {}, {}};
        for (int i = 0; i < std::max(listed.cores, 1); i++, slot++) {
            node.all.push_back(slot);
            if (static_cast<size_t>(slot) >= used.size() || !used[static_cast<size_t>(slot)])
                node.free.push_back(slot);
        }
        bool wanted = options.node_names.empty() || contains(options.node_names, node.name);
        if (number++ >= options.relative && wanted && !contains(options.excluded, node.name))
            nodes.push_back(std::move(node));
    }
    return nodes;
}

int slots_per_task(const JobSlots &allocated, const SrunOptions &options)
{
    int cores = std::max(allocated.cores_per_task, 1);
    return std::max((options.cpus_per_task + cores - 1) / cores, 1);
}

/* Processes that the node can have. */
int capacity(const Node &node, const SrunOptions &options, int per_task, bool idle)
{
    const std::vector<int> &slots = idle || options.overlap ? node.all : node.free;
    int most = static_cast<int>(slots.size()) / per_task;
    if (options.overcommit)
        most = SRUN_TASKS_MAX;
    return options.tasks_per_node > 0 ? std::min(most, options.tasks_per_node) : most;
}

int default_tasks(const std::vector<Node> &nodes, const SrunOptions &options, int per_task)
{
    int tasks = 0, n = 0;
    SrunOptions fitting = options;
    fitting.overcommit = false;
    for (const Node &node : nodes)
        if (options.nodes == 0 || n++ < options.nodes)
            tasks += options.tasks_per_node > 0 ? options.tasks_per_node
                                                : capacity(node, fitting, per_task, true);
    return tasks;
}

/* Evenly, as far as each can have them; false: too few can. */
bool distribute(std::vector<Node> &nodes, const SrunOptions &options, int tasks, int per_task,
                bool idle)
{
    std::vector<Node *> chosen;
    size_t wanted = options.nodes > 0 ? static_cast<size_t>(options.nodes) : nodes.size();
    for (Node &node : nodes)
        if (capacity(node, options, per_task, idle) > 0 && chosen.size() < wanted)
            chosen.push_back(&node);
    if (options.nodes > 0 && chosen.size() < wanted)
        return false;
    bool more = true;
    while (tasks > 0 && more) {
        more = false;
        for (Node *node : chosen) {
            if (tasks > 0 && node->tasks < capacity(*node, options, per_task, idle)) {
                node->tasks++, tasks--;
                more = true;
            }
        }
    }
    return tasks == 0;
}

void add_task(Layout &layout, const std::string &node)
{
    if (layout.blocks.empty() || layout.blocks.back().node != node)
        layout.blocks.push_back({node, 0});
    layout.blocks.back().tasks++;
}

Layout layout_of(const std::vector<Node> &nodes, const SrunOptions &options, int per_task)
{
    Layout layout;
    layout.slots_per_task = per_task;
    int most = 0;
    for (const Node &node : nodes) {
        most = std::max(most, node.tasks);
        for (int i = 0; !options.cyclic && i < node.tasks; i++)
            add_task(layout, node.name);
        size_t used = std::min(node.free.size(), static_cast<size_t>(node.tasks) *
                                                     static_cast<size_t>(per_task));
        if (!options.overlap)
            layout.slots.insert(layout.slots.end(), node.free.begin(),
                                node.free.begin() + static_cast<std::ptrdiff_t>(used));
    }
    for (int round = 0; options.cyclic && round < most; round++)
        for (const Node &node : nodes)
            if (round < node.tasks)
                add_task(layout, node.name);
    return layout;
}

std::string why_impossible(const std::vector<Node> &nodes, const JobSlots &allocated,
                           const SrunOptions &options, int tasks)
{
    for (const std::string &name : options.node_names) {
        auto named = [&](const ListedNode &node) { return node.name == name; };
        if (std::ranges::none_of(allocated.nodes, named))
            return "node " + name + " does not belong to the job";
    }
    if (nodes.empty())
        return "no node of the job is left (--relative, --nodelist, --exclude)";
    if (options.nodes > static_cast<int>(nodes.size()))
        return "more nodes requested than permitted: " + std::to_string(options.nodes) +
               ", the job has " + std::to_string(nodes.size());
    size_t slots = 0;
    for (const Node &node : nodes)
        slots += node.all.size();
    return "more processors requested than permitted: " + std::to_string(tasks) +
           " processes" +
           (options.cpus_per_task > 0
                ? " of " + std::to_string(options.cpus_per_task) + " processors"
                : "") +
           ", these nodes of the job have " + std::to_string(slots) + " slots of " +
           std::to_string(std::max(allocated.cores_per_task, 1)) +
           (allocated.cores_per_task > 1 ? " processors" : " processor") +
           " (-O starts more processes than that)";
}

}  // namespace

int Layout::tasks() const
{
    return std::accumulate(blocks.begin(), blocks.end(), 0,
                           [](int sum, const Block &block) { return sum + block.tasks; });
}

std::vector<std::string> Layout::nodes() const
{
    std::vector<std::string> names;
    std::unordered_set<std::string> known;
    for (const Block &block : blocks)
        if (known.insert(block.node).second)
            names.push_back(block.node);
    return names;
}

StepAllocation allocate_step(const JobSlots &allocated, const SrunOptions &options,
                             const Used &used)
{
    int per_task = slots_per_task(allocated, options);
    std::vector<Node> nodes = candidates(allocated, options, used), idle = nodes;
    int tasks = options.tasks > 0 ? options.tasks : default_tasks(nodes, options, per_task);
    if (tasks == 0 || !distribute(idle, options, tasks, per_task, true))
        return {StepAllocation::Result::IMPOSSIBLE, {},
                why_impossible(nodes, allocated, options, std::max(tasks, 1))};
    if (!distribute(nodes, options, tasks, per_task, false))
        return {StepAllocation::Result::BUSY, {}, {}};
    return {StepAllocation::Result::OK, layout_of(nodes, options, per_task), {}};
}

std::string format_blocks(const Layout &layout)
{
    std::string text;
    for (const Layout::Block &block : layout.blocks)
        text += (text.empty() ? "" : ",") + block.node + ":" + std::to_string(block.tasks);
    return text;
}

Result<Layout> parse_blocks(const std::string &text)
{
    Layout layout;
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find(',', at), text.size()), colon = text.find(':', at);
        Layout::Block block;
        if (colon != std::string::npos && colon < end) {
            block.node = text.substr(at, colon - at);
            auto tasks = parse_number(text.substr(colon + 1, end - colon - 1), 1, SRUN_TASKS_MAX);
            block.tasks = static_cast<int>(tasks.value_or(0));
        }
        if (block.tasks == 0 || !check_host_name(block.node).empty())
            return Error{"'" + text + "' is not a list of NODE:PROCESSES"};
        layout.blocks.push_back(std::move(block));
        at = end + 1;
    }
    return layout;
}

TaskPosition position_of(const Layout &layout, int rank)
{
    struct Before {             /* of a node: its position, and its tasks so far */
        int node, tasks;
    };
    std::unordered_map<std::string, Before> before;
    for (const Layout::Block &block : layout.blocks) {
        Before &here = before.try_emplace(block.node, Before{static_cast<int>(before.size()), 0})
                           .first->second;
        if (rank >= 0 && rank < block.tasks)
            return {here.node, here.tasks + rank, block.node};
        rank -= block.tasks;
        here.tasks += block.tasks;
    }
    return {};
}

}  // namespace elastic::rm
