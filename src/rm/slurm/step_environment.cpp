/* See step_environment.h. */

#include "slurm/step_environment.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "base/words.h"

namespace elastic::rm {

namespace {

std::vector<int> tasks_of_nodes(const Layout &layout)
{
    std::unordered_map<std::string, int> tasks;
    for (const Layout::Block &block : layout.blocks)
        tasks[block.node] += block.tasks;
    std::vector<int> counts;
    for (const std::string &node : layout.nodes())
        counts.push_back(tasks[node]);
    return counts;
}

/* Without these neither mpiexec nor the step works. */
bool is_kept(const std::string &name)
{
    for (const char *prefix : {"SLURM_", "ELASTIC", "HYDRA_", "PMI_", "MPIEXEC_", "PATH="})
        if (name.starts_with(prefix))
            return true;
    return false;
}

}  // namespace

Variables step_variables(const Layout &layout, int step)
{
    std::vector<std::string> names = layout.nodes();
    std::string tasks = std::to_string(layout.tasks()), n_nodes = std::to_string(names.size());
    std::string tasks_per_node = format_counts(tasks_of_nodes(layout));
    return {{"SLURM_STEP_ID", std::to_string(step)}, {"SLURM_STEPID", std::to_string(step)},
            {"SLURM_NTASKS", tasks},                 {"SLURM_NPROCS", tasks},
            {"SLURM_STEP_NUM_TASKS", tasks},         {"SLURM_NNODES", n_nodes},
            {"SLURM_STEP_NUM_NODES", n_nodes},
            {"SLURM_STEP_NODELIST", join_words(names, ",")},
            {"SLURM_STEP_TASKS_PER_NODE", tasks_per_node},
            {"SLURM_TASKS_PER_NODE", tasks_per_node}};
}

Variables task_variables(int rank, const TaskPosition &position)
{
    Variables variables = {{"SLURM_PROCID", std::to_string(rank)}};
    if (position.node >= 0)
        variables.insert(variables.end(), {{"SLURM_LOCALID", std::to_string(position.local)},
                                           {"SLURM_NODEID", std::to_string(position.node)},
                                           {"SLURMD_NODENAME", position.name}});
    return variables;
}

Variables exported_environment(char **environment, const SrunOptions &options)
{
    Variables variables;
    const std::vector<std::string> none, &wanted = options.exported ? *options.exported : none;
    for (char **entry = environment; *entry; entry++) {
        std::string text = *entry, name = text.substr(0, text.find('='));
        if (options.export_all || is_kept(text) || std::ranges::find(wanted, name) != wanted.end())
            variables.emplace_back(name, text.size() > name.size() ? text.substr(name.size() + 1)
                                                                   : "");
    }
    for (const std::string &word : wanted)
        if (size_t sign = word.find('='); sign != std::string::npos)
            variables.emplace_back(word.substr(0, sign), word.substr(sign + 1));
    return variables;
}

FileNames names_of_step(const std::function<std::string(const char *)> &variable)
{
    FileNames names;
    names.job = variable("SLURM_JOB_ID");
    names.array = variable("SLURM_ARRAY_JOB_ID");
    if (names.array.empty())
        names.array = names.job;
    names.index = variable("SLURM_ARRAY_TASK_ID");
    names.step = variable("SLURM_STEP_ID");
    names.name = variable("SLURM_JOB_NAME");
    names.user = variable("SLURM_JOB_USER");
    names.task = variable("SLURM_PROCID");
    names.node = variable("SLURM_NODEID");
    names.host = variable("SLURMD_NODENAME");
    return names;
}

std::string expand_name(const std::string &pattern, const FileNames &names)
{
    std::string path;
    for (size_t i = 0; i < pattern.size(); i++) {
        size_t at = i + 1, width = 0;
        if (at + 1 < pattern.size() && pattern[at] >= '0' && pattern[at] <= '9')
            width = static_cast<size_t>(pattern[at++] - '0');
        std::string value;
        switch (pattern[i] == '%' && at < pattern.size() ? pattern[at] : '\0') {
            case 'j': value = names.job; break;
            case 'J': value = names.job + "." + names.step; break;
            case 'A': value = names.array; break;
            case 'a': value = names.index; break;
            case 's': value = names.step; break;
            case 'x': value = names.name; break;
            case 'u': value = names.user; break;
            case 't': value = names.task; break;
            case 'n': value = names.node; break;
            case 'N': value = names.host; break;
            case '%': value = "%"; break;
            default: path += pattern[i]; continue;
        }
        std::ranges::replace(value, '/', '_');
        path += std::string(width - std::min(width, value.size()), '0') + value;
        i = at;
    }
    return path;
}

bool is_name_of_task(const std::string &pattern)
{
    FileNames none, task;
    task.task = task.node = task.host = "1";
    return expand_name(pattern, none) != expand_name(pattern, task);
}

StepInput input_of(const SrunOptions &options)
{
    const std::string &input = options.input;
    if (input.empty() || input == "all")
        return {"", "all"};
    if (input == "none")
        return {"/dev/null", std::nullopt};
    if (std::ranges::all_of(input, [](unsigned char c) { return std::isdigit(c); }))
        return {"", input};
    return {input, "all"};
}

}  // namespace elastic::rm
