/* See launch.h. */

#include "step/launch.h"

#include <algorithm>
#include <optional>

#include "base/words.h"
#include "core/placement.h"

namespace elastic::rm {

namespace {

/* If a name occurs more than once, the last one counts, as in a shell. */
void set_variable(std::vector<std::string> &environment, const std::string &name,
                  const std::string &value)
{
    std::erase_if(environment,
                  [&](const std::string &entry) { return entry.starts_with(name + "="); });
    environment.push_back(name + "=" + value);
}

/* For a task of an array: with the prefix of Slurm's names or of elasticd's. */
void add_array_variables(std::vector<std::string> &environment, const Job &job,
                         const std::string &prefix)
{
    auto array = job.task ? parse_array(job.spec.array) : Result<ArrayIndices>(Error{""});
    if (!array)
        return;
    const std::vector<int> &indices = array.value().indices;
    const std::pair<const char *, uint64_t> variables[] = {
        {"JOB_ID", job.task->array},
        {"TASK_ID", job.task->index},
        {"TASK_COUNT", indices.size()},
        {"TASK_MIN", indices.front()},
        {"TASK_MAX", indices.back()},
        {"TASK_STEP", array.value().step()},
    };
    for (const auto &[name, value] : variables)
        set_variable(environment, prefix + name, std::to_string(value));
}

/* For a script, which runs once for the whole job: the GPUs of its first node, if they do not
 * change. */
void add_script_gpus(std::vector<std::string> &environment, const Job &job, const StartStep &start,
                     const LaunchSetup &setup, bool like_slurm)
{
    auto own = std::ranges::find(job.gpus, start.blocks.front().node, &NodeGpus::node);
    if (own == job.gpus.end() || changes_gpus(job))
        return;
    std::string numbers = gpu_numbers(own->node, {own->gpus}, setup.first_gpu);
    for (const char *name : GPU_VARIABLES)
        if (setup.scripts_have_gpus)
            set_variable(environment, name, numbers);
    if (!like_slurm)
        return;
    set_variable(environment, "SLURM_JOB_GPUS", numbers);
    set_variable(environment, "SLURM_GPUS_ON_NODE", std::to_string(std::popcount(own->gpus)));
}

/* Replaces the variable of a job in which this one was submitted. */
void set_gpus_variable(std::vector<std::string> &environment, const std::string &gpus)
{
    constexpr const char *NAME = "ELASTIC_STEP_GPUS";
    set_variable(environment, NAME, gpus);
    if (gpus.empty())
        environment.pop_back();
}

/* An mpiexec with this variable refuses a spawn beyond it.  Replaces the value of a job in which
 * this one was submitted. */
void set_processes_max(std::vector<std::string> &environment, const Job &job, bool limited)
{
    set_variable(environment, "ELASTIC_STEP_PROCESSES_MAX",
                 std::to_string(most_processes(job.spec)));
    if (!limited)
        environment.pop_back();
}

/* Replaces the variable of a job in which this one was submitted: an empty value removes it. */
void set_name(std::vector<std::string> &environment, const std::string &name,
              const std::string &value)
{
    set_variable(environment, name, value);
    if (value.empty())
        environment.pop_back();
}

void add_job_variables(std::vector<std::string> &environment, const Job &job,
                       const StartStep &start, const LaunchSetup &setup)
{
    set_variable(environment, "ELASTIC_JOB_ID", std::to_string(job.id));
    set_variable(environment, "ELASTIC_JOB_NAME", job.spec.name);
    set_variable(environment, "ELASTIC_JOB_SIZE", std::to_string(start.size));
    set_variable(environment, "ELASTIC_JOB_MIN", std::to_string(job.spec.minimum));
    set_variable(environment, "ELASTIC_JOB_MAX", std::to_string(job.spec.maximum));
    set_variable(environment, "ELASTIC_JOB_NODES", format_hosts(start.blocks));
    set_name(environment, "ELASTIC_JOB_PARTITION", job.spec.partition);
    set_name(environment, "ELASTIC_JOB_RESERVATION", job.spec.reservation);
    add_array_variables(environment, job, "ELASTIC_ARRAY_");
    set_gpus_variable(environment, changes_gpus(job) ? "@" + setup.folder + "/" + STEP_GPUS_FILE
                                                     : format_gpus(job, setup.first_gpu));
    set_processes_max(environment, job, !setup.spawn_beyond_slots);
    set_variable(environment, "ELASTICD_SOCKET", setup.daemon_socket);
    set_variable(environment, STEP_FOLDER_VARIABLE, setup.folder);
    for (const std::string &entry : setup.launcher_environment)
        set_variable(environment, entry.substr(0, entry.find('=')),
                     entry.substr(entry.find('=') + 1));
}

std::vector<std::string>
mpiexec_arguments(const Launch &launch, const StartStep &start, const LaunchSetup &setup)
{
    std::vector<std::string> arguments = {setup.mpiexec};
    arguments.insert(arguments.end(), setup.launcher_options.begin(), setup.launcher_options.end());
    arguments.insert(arguments.end(),
                     {"-hosts", format_hosts(start.blocks), "-n", std::to_string(start.size)});
    arguments.insert(arguments.end(), launch.mpiexec.begin(), launch.mpiexec.end());
    arguments.insert(arguments.end(), launch.command.begin(), launch.command.end());
    return arguments;
}

/* False on nodes of a real Slurm: its programs would use the variables as those of their own
 * Slurm job. */
bool is_like_slurm(const Launch &launch, const LaunchSetup &setup)
{
    auto &all = setup.launcher_environment;
    return launch.slurm_environment && std::ranges::find(all, "HYDRA_LAUNCHER=slurm") == all.end();
}

/* With the same meaning as in sbatch. */
void add_slurm_variables(std::vector<std::string> &environment, const Job &job,
                         const StartStep &start)
{
    std::string names, id = std::to_string(job.id), size = std::to_string(start.size);
    Blocks nodes = gathered(start.blocks);
    int cores = job.spec.cores_per_process;
    std::vector<int> tasks_of_nodes, cores_of_nodes;
    for (const Block &block : nodes) {
        names += (names.empty() ? "" : ",") + block.node.str();
        tasks_of_nodes.push_back(block.processes);
        cores_of_nodes.push_back(block.processes * cores);
    }
    const std::pair<const char *, std::string> variables[] = {
        {"SLURM_JOB_ID", id},
        {"SLURM_JOBID", id},
        {"SLURM_JOB_NAME", job.spec.name},
        {"SLURM_JOB_USER", job.spec.user},
        {"SLURM_NTASKS", size},
        {"SLURM_NPROCS", size},
        {"SLURM_JOB_UID", std::to_string(job.spec.uid)},
        {"SLURM_CPUS_PER_TASK", std::to_string(cores)},
        {"SLURM_JOB_NUM_NODES", std::to_string(nodes.size())},
        {"SLURM_NNODES", std::to_string(nodes.size())},
        {"SLURM_JOB_NODELIST", names},
        {"SLURM_NODELIST", names},
        {"SLURM_TASKS_PER_NODE", format_counts(tasks_of_nodes)},
        {"SLURM_JOB_CPUS_PER_NODE", format_counts(cores_of_nodes)},
    };
    for (const auto &[name, value] : variables)
        set_variable(environment, name, value);
    set_name(environment, "SLURM_JOB_PARTITION", job.spec.partition);
    set_name(environment, "SLURM_JOB_RESERVATION", job.spec.reservation);
    if (job.spec.processes_per_node > 0)
        set_variable(environment, "SLURM_NTASKS_PER_NODE",
                     std::to_string(job.spec.processes_per_node));
    if (!nodes.empty())
        set_variable(environment, "SLURM_CPUS_ON_NODE",
                     std::to_string(cores_of_nodes.front()));
    add_array_variables(environment, job, "SLURM_ARRAY_");
}

std::string parent_of(const std::string &path)
{
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
}

/* A script finds the mpiexec of this elasticd, whatever else is installed; a Slurm script also
 * finds the commands of Slurm that it may call. */
void add_script_variables(std::vector<std::string> &environment, const LaunchSetup &setup,
                          bool like_slurm)
{
    set_variable(environment, "HYDRA_HOST_FILE", setup.folder + "/" + STEP_HOSTS_FILE);
    std::string path = "/usr/local/bin:/usr/bin:/bin", folder = parent_of(setup.mpiexec);
    for (const std::string &entry : environment)
        if (entry.starts_with("PATH="))
            path = entry.substr(5);
    if (!folder.empty())
        path = folder + ":" + path;
    if (like_slurm && !setup.slurm_commands.empty()) {
        path = setup.slurm_commands + ":" + path;
        set_variable(environment, "ELASTIC_MPIEXEC", setup.mpiexec);
    }
    set_variable(environment, "PATH", path);
}

}  // namespace

namespace {

/* nullopt: the character is not a pattern. */
std::optional<std::string> replacement(char pattern, size_t digits, const PathNames &names)
{
    auto number = [digits](JobId id) {
        std::string text = std::to_string(id);
        return std::string(digits - std::min(digits, text.size()), '0') + text;
    };
    auto file_name = [](std::string text) {
        std::ranges::replace(text, '/', '_');
        return text;
    };
    switch (pattern) {
        case 'j': return number(names.job);
        case 'A': return number(names.task ? names.task->array : names.job);
        case 'a':
            return names.task ? std::optional(number(static_cast<JobId>(names.task->index)))
                              : std::nullopt;
        case 'x': return file_name(names.name);
        case 'u': return file_name(names.user);
        case 'N': return names.host.empty() ? std::nullopt : std::optional(file_name(names.host));
        case '%': return "%";
        default: return std::nullopt;
    }
}

}  // namespace

std::string expand_path(const std::string &pattern, const std::string &directory,
                        const PathNames &names)
{
    std::string path;
    for (size_t i = 0; i < pattern.size(); i++) {
        size_t at = i + 1, digits = 0;
        if (at + 1 < pattern.size() && pattern[at] >= '1' && pattern[at] <= '9')
            digits = static_cast<size_t>(pattern[at++] - '0');  /* as in %5j */
        bool is_pattern = pattern[i] == '%' && at < pattern.size();
        auto replaced = is_pattern ? replacement(pattern[at], digits, names) : std::nullopt;
        path += replaced ? *replaced : std::string(1, pattern[i]);
        i = replaced ? at : i;
    }
    return path.starts_with("/") ? path : directory + (directory.ends_with("/") ? "" : "/") + path;
}

PathNames names_of_paths(const Job &job, const std::string &name)
{
    return {job.id, name, job.spec.user, job.task, job.started_host};
}

LaunchPaths paths_of(const Launch &launch, const PathNames &names)
{
    LaunchPaths paths;
    paths.output = expand_path(
        !launch.output.empty() ? launch.output
            : names.task       ? "elastic-%A_%a.out"
                               : "elastic-%j.out",
        launch.directory, names);
    if (!launch.error.empty())
        paths.error = expand_path(launch.error, launch.directory, names);
    if (paths.error == paths.output)
        paths.error.clear();
    paths.input =
        launch.input.empty() ? "/dev/null" : expand_path(launch.input, launch.directory, names);
    return paths;
}

std::string format_hosts(const Blocks &blocks)
{
    std::string text;
    for (const Block &block : blocks)
        text += (text.empty() ? "" : ",") + block.node + ":" + std::to_string(block.processes);
    return text;
}

std::string format_host_lines(const Blocks &blocks)
{
    std::string text;
    for (const Block &block : blocks)
        text += block.node + ":" + std::to_string(block.processes) + "\n";
    return text;
}

StepSpec make_step(const Launch &launch, const Job &job, const StartStep &start,
                   const LaunchSetup &setup)
{
    StepSpec spec;
    spec.job = job.id;
    spec.step = start.step;
    spec.uid = job.spec.uid;
    spec.user = job.spec.user;
    spec.directory = launch.directory;
    spec.environment = launch.environment;
    spec.is_script = launch.is_script;
    spec.umask = launch.umask;
    spec.limits = launch.limits;
    spec.time_limit_ms = job.spec.time_limit_ms;
    spec.kill_grace_ms = setup.kill_grace_ms;
    spec.warn_signal = launch.warn_signal;
    spec.warn_before_ms = launch.warn_before_ms;
    add_job_variables(spec.environment, job, start, setup);
    bool like_slurm = is_like_slurm(launch, setup);
    if (like_slurm)
        add_slurm_variables(spec.environment, job, start);
    if (launch.is_script) {
        add_script_variables(spec.environment, setup, like_slurm);
        if (!start.blocks.empty())
            add_script_gpus(spec.environment, job, start, setup, like_slurm);
        spec.arguments = launch.command;
        spec.arguments[0] = setup.folder + "/" + STEP_SCRIPT_FILE;
    } else {
        spec.arguments = mpiexec_arguments(launch, start, setup);
    }
    PathNames names = names_of_paths(job, job.spec.name);
    names.host = start.blocks.empty() ? "" : start.blocks.front().node.str();
    LaunchPaths paths = paths_of(launch, names);
    spec.output = paths.output;
    spec.error = paths.error;
    spec.input = paths.input;
    return spec;
}

}  // namespace elastic::rm
