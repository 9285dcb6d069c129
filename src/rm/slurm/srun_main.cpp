/*
 * srun and scontrol for scripts with #SBATCH lines that elasticd runs.  The folder of this program
 * is the first in the PATH of such a script, so that a script for Slurm runs unchanged.
 *
 * srun becomes the mpiexec of this elasticd, on slots of the job that no other step uses; it waits
 * until there are enough.  mpiexec starts this program once more for each process, as
 * `srun --elastic-task BLOCKS OUTPUT ERROR -- PROGRAM`: it sets SLURM_PROCID and its like, opens
 * files of one process, and becomes the program.  With --multi-prog the content of the file of
 * programs follows instead, after `--multi-prog`: files need not be there on other nodes.
 *
 * scontrol has only `show hostnames`, which scripts use to read lists of nodes.
 */

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "base/words.h"
#include "slurm/slot_locks.h"
#include "slurm/srun_options.h"
#include "slurm/step_environment.h"
#include "slurm/step_gpus.h"
#include "slurm/step_layout.h"
#include "slurm/task_programs.h"
#include "step/step_spec.h"

namespace elastic::rm {
namespace {

constexpr const char *TASK = "--elastic-task", *MULTI_PROG = "--multi-prog";
constexpr auto TRY_AGAIN = std::chrono::milliseconds(100);
/* As Slurm's srun. */
constexpr int FAILED = 1, NOT_EXECUTED = 2;

int fail(const std::string &text, int code = FAILED)
{
    std::cerr << "srun: error: " << text << std::endl;
    return code;
}

std::string variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

int become(const std::vector<std::string> &words)
{
    execvp(words.front().c_str(), pointers_to(words).data());
    return errno;
}

std::string own_path()
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return length > 0 ? std::string(path, static_cast<size_t>(length)) : "srun";
}

/* Empty, or what is wrong. */
std::string redirect(int descriptor, const std::string &path, bool append)
{
    int flags = descriptor == STDIN_FILENO ? O_RDONLY
                                           : O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC);
    int file = open(path.c_str(), flags, 0666);
    if (file < 0 || dup2(file, descriptor) < 0)
        return "cannot open " + path + ": " + strerror(errno);
    close(file);
    return "";
}

Result<TaskPrograms> read_programs(const std::string &path, std::string &text)
{
    std::ifstream file(path);
    std::string bytes(TASK_PROGRAMS_BYTES_MAX + 1, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!file.is_open() || file.bad())
        return Error{"cannot read " + path + ": " + strerror(errno)};
    text = bytes.substr(0, static_cast<size_t>(file.gcount()));
    auto programs = TaskPrograms::parse(text);
    return programs ? programs : Error{path + ": " + programs.error()};
}

/* ---- one process of a step ------------------------------------------------------------------- */

void set_task_variables(const Layout &layout)
{
    int rank = atoi(variable("PMI_RANK").c_str());
    TaskPosition position = position_of(layout, rank);
    for (const auto &[name, value] : task_variables(rank, position))
        setenv(name.c_str(), value.c_str(), 1);
    setenv("SLURM_TASK_PID", std::to_string(getpid()).c_str(), 1);
}

int run_task(const std::vector<std::string> &words)
{
    constexpr size_t PROGRAM = 5;       /* TASK BLOCKS OUTPUT ERROR -- PROGRAM */
    auto layout = words.size() > PROGRAM ? parse_blocks(words[1])
                                         : Result<Layout>(Error{"a program is expected"});
    if (!layout)
        return fail(layout.error());
    set_task_variables(layout.value());
    FileNames names = names_of_step(variable);
    bool append = !variable("ELASTIC_SRUN_APPEND").empty();
    unsetenv("ELASTIC_SRUN_APPEND");
    for (int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
        const std::string &pattern = words[descriptor == STDOUT_FILENO ? 2 : 3];
        if (pattern.empty())
            continue;
        std::string wrong = redirect(descriptor, expand_name(pattern, names), append);
        if (!wrong.empty())
            return fail(wrong);
    }
    std::vector<std::string> command(words.begin() + PROGRAM, words.end());
    if (words[PROGRAM - 1] == MULTI_PROG) {
        auto programs = TaskPrograms::parse(words[PROGRAM]);
        if (programs)
            command = programs.value().words_of(atoi(variable("PMI_RANK").c_str()));
        if (!programs || command.empty())
            return fail("no program for this rank", NOT_EXECUTED);
    }
    int error = become(command);
    return fail("cannot execute " + command.front() + ": " + strerror(error), NOT_EXECUTED);
}

/* ---- a step ---------------------------------------------------------------------------------- */

struct Step {
    Layout layout;
    int number = 0;
    std::string gpus;           /* ELASTIC_STEP_GPUS */
};

Result<JobSlots> read_job_slots()
{
    std::string path = variable("HYDRA_HOST_FILE");
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    if (path.empty() || !file)
        return Error{"this is srun of a script that elasticd runs; elsewhere 'elastic run' starts "
                     "a program as a job (HYDRA_HOST_FILE=" + path + ")"};
    auto nodes = parse_hosts_file(text.str(), path);
    if (!nodes)
        return Error{nodes.error()};
    return JobSlots{nodes.value(), std::max(atoi(variable("SLURM_CPUS_PER_TASK").c_str()), 1)};
}

/* A job whose GPUs change has them in a file. */
std::string read_gpus_of_job()
{
    std::string booked = variable("ELASTIC_STEP_GPUS");
    if (!booked.starts_with("@"))
        return booked;
    std::ifstream file(booked.substr(1));
    std::getline(file, booked);
    return booked;
}

/* The locks last as long as a process of the step has their file. */
Result<Step> take_slots(SlotLocks &locks, const SrunOptions &options)
{
    for (bool reported = false;; reported = true) {
        auto allocated = read_job_slots();
        if (!allocated)
            return Error{allocated.error()};
        int slots = 0;
        for (const ListedNode &node : allocated.value().nodes)
            slots += std::max(node.cores, 1);
        locks.begin();
        StepAllocation allocation = allocate_step(allocated.value(), options, locks.used(slots));
        bool fits = allocation.result == StepAllocation::Result::OK;
        bool taken = fits && locks.take(allocation.layout.slots);
        int number = taken ? locks.next_step() : 0;
        locks.end();
        if (allocation.result == StepAllocation::Result::IMPOSSIBLE)
            return Error{"cannot create a step of job " + variable("SLURM_JOB_ID") + ": " +
                         allocation.why};
        if (taken)
            return Step{allocation.layout, number,
                        gpus_of_step(read_gpus_of_job(), allocated.value(),
                                     allocation.layout)};
        if (options.immediate)
            return Error{"cannot create a step of job " + variable("SLURM_JOB_ID") +
                         " at once: other steps use its slots"};
        if (!reported)
            std::cerr << "srun: a step of job " << variable("SLURM_JOB_ID")
                      << " waits: other steps use the slots that it needs (--overlap shares them)"
                      << std::endl;
        std::this_thread::sleep_for(TRY_AGAIN);
    }
}

/* `programs`: the content of the file of --multi-prog. */
std::vector<std::string> mpiexec_words(const SrunOptions &options, const Step &step,
                                       const std::string &programs)
{
    std::string mpiexec = variable("ELASTIC_MPIEXEC");
    std::vector<std::string> words = {mpiexec.empty() ? "mpiexec" : mpiexec, "-hosts",
                                      format_blocks(step.layout), "-n",
                                      std::to_string(step.layout.tasks())};
    auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
    if (options.label)
        add({"-l"});
    if (!options.binding.empty())
        add({"-bind-to", options.binding});
    if (!options.directory.empty())
        add({"-wdir", options.directory});
    if (input_of(options).to_rank)
        add({"-s", *input_of(options).to_rank});
    auto of_task = [](const std::string &pattern) {
        return is_name_of_task(pattern) ? pattern : std::string();
    };
    add({own_path(), TASK, format_blocks(step.layout), of_task(options.output),
         of_task(options.error)});
    add({options.multi_prog ? MULTI_PROG : "--"});
    if (options.multi_prog)
        add({programs});
    else
        words.insert(words.end(), options.command.begin(), options.command.end());
    return words;
}

/* Files of the whole step, which mpiexec's output goes to. */
std::string redirect_step(const SrunOptions &options)
{
    FileNames names = names_of_step(variable);
    std::string wrong;
    if (std::string path = input_of(options).path; !path.empty())
        wrong = redirect(STDIN_FILENO, expand_name(path, names), false);
    bool output = !options.output.empty() && !is_name_of_task(options.output);
    if (wrong.empty() && output)
        wrong = redirect(STDOUT_FILENO, expand_name(options.output, names), options.append);
    bool error = !options.error.empty() && !is_name_of_task(options.error);
    if (wrong.empty() && error)
        return redirect(STDERR_FILENO, expand_name(options.error, names), options.append);
    bool joined = wrong.empty() && output && options.error.empty();
    if (joined && dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        return std::string("cannot redirect errors: ") + strerror(errno);
    return wrong;
}

void set_step_environment(const SrunOptions &options, const Step &step)
{
    if (options.exported) {
        auto kept = exported_environment(environ, options);
        clearenv();
        for (const auto &[name, value] : kept)
            setenv(name.c_str(), value.c_str(), 1);
    }
    for (const auto &[name, value] : step_variables(step.layout, step.number))
        setenv(name.c_str(), value.c_str(), 1);
    if (!step.gpus.empty())
        setenv("ELASTIC_STEP_GPUS", step.gpus.c_str(), 1);
    if (options.time_limit_s > 0)
        setenv("MPIEXEC_TIMEOUT", std::to_string(options.time_limit_s).c_str(), 1);
    if (options.append)
        setenv("ELASTIC_SRUN_APPEND", "1", 1);
    unsetenv("HYDRA_HOST_FILE");        /* -hosts has the nodes */
}

int run_step(const SrunOptions &options)
{
    if (auto slots = read_job_slots(); !slots)
        return fail(slots.error());
    std::string programs;
    auto read = options.multi_prog ? read_programs(options.command.front(), programs)
                                   : Result<TaskPrograms>(TaskPrograms());
    if (!read)
        return fail(read.error());
    auto locks = SlotLocks::open(variable(STEP_FOLDER_VARIABLE) + "/" + STEP_SLOTS_FILE);
    if (!locks)
        return fail(locks.error());
    auto step = take_slots(locks.value(), options);
    if (!step)
        return fail(step.error());
    int tasks = step.value().layout.tasks();
    if (int rank = read.value().first_without(tasks); options.multi_prog && rank >= 0)
        return fail(options.command.front() + ": no line has a program for rank " +
                    std::to_string(rank) + " of " + std::to_string(tasks));
    set_step_environment(options, step.value());
    std::string wrong = redirect_step(options);
    if (!wrong.empty())
        return fail(wrong);
    std::vector<std::string> words = mpiexec_words(options, step.value(), programs);
    int error = become(words);
    return fail("cannot execute " + words.front() + ": " + strerror(error), NOT_EXECUTED);
}

int run_srun(const std::vector<std::string> &words)
{
    auto options = parse_srun(words);
    if (!options)
        return fail(options.error());
    for (const std::string &warning : options.value().warnings)
        std::cerr << "srun: " << warning << std::endl;
    if (options.value().version) {
        std::cout << "srun of Elastic MPICH " ELASTIC_VERSION << std::endl;
        return 0;
    }
    if (options.value().help) {
        std::cout << "usage: srun [OPTIONS] PROGRAM [ARGUMENTS]\n\n"
                     "Starts the processes of a step of this job, with mpiexec.  Options are those "
                     "of Slurm's srun;\nthe page 'For users of Slurm' of the documentation lists "
                     "them.\n";
        return 0;
    }
    return run_step(options.value());
}

/* ---- scontrol -------------------------------------------------------------------------------- */

int run_scontrol(const std::vector<std::string> &words)
{
    if (words.size() < 2 || words[0] != "show" || !words[1].starts_with("hostname")) {
        std::cerr << "scontrol: in a job of elasticd there is 'scontrol show hostnames [LIST]' "
                     "alone; for jobs and nodes there are 'elastic show' and 'elastic nodes'"
                  << std::endl;
        return FAILED;
    }
    std::string list = words.size() > 2 ? words[2] : variable("SLURM_JOB_NODELIST");
    auto nodes = parse_slurm_nodes(list, "");
    if (!nodes) {
        std::cerr << "scontrol: " << nodes.error() << std::endl;
        return FAILED;
    }
    for (const ListedNode &node : nodes.value())
        std::cout << node.name << "\n";
    return 0;
}

}  // namespace
}  // namespace elastic::rm

int main(int argc, char **argv)
{
    using namespace elastic::rm;
    std::vector<std::string> words(argv + 1, argv + argc);
    std::string_view name = argc > 0 ? argv[0] : "";
    if (name.substr(name.rfind('/') + 1) == "scontrol")
        return run_scontrol(words);
    return !words.empty() && words[0] == TASK ? run_task(words) : run_srun(words);
}
