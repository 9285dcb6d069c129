/*
 * `elastic alloc`: submits a job that only holds its cores, and runs a shell or a command beside it
 * with the job's environment, in which mpiexec and srun start processes on these cores.
 *
 * The script of the job writes its environment into a file and reads its input to the end.  The
 * input is a pipe that this command holds open: the job ends when this command ends in any way.
 */

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/descriptor.h"
#include "base/words.h"
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/job_view.h"
#include "cli/nested_start.h"
#include "cli/other_machine.h"
#include "cli/submission.h"
#include "cli/wait_for_job.h"

namespace elastic {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char *FILE_VARIABLE = "ELASTIC_ALLOC_FILE";
constexpr const char *SCRIPT =
    "#!/bin/sh\n"
    "file=$ELASTIC_ALLOC_FILE\n"
    "env -0 >\"$file.new\" && mv \"$file.new\" \"$file\"\n"
    "exec cat >/dev/null\n";
/* For a command whose job has ended, until it is killed; and for a job whose command has ended. */
constexpr auto GRACE = 10s;
constexpr auto TRY_AGAIN = 100ms;
constexpr int INTERRUPTED = 128 + SIGINT;

struct Alloc {
    bool quiet = false;
    JobOptions job;
};

/* A private folder with the pipe and the file. */
class Folder {
  public:
    static Result<Folder> make()
    {
        Folder folder;
        std::string path = temporary_folder("elastic-alloc");
        if (!mkdtemp(path.data()))
            return Error{"cannot make a folder " + path + ": " + strerror(errno) +
                         " (set XDG_RUNTIME_DIR to a folder of yours)"};
        folder.path_ = path;
        if (mkfifo(folder.input().c_str(), 0600) != 0)
            return Error{"cannot make the pipe " + folder.input() + ": " + strerror(errno)};
        folder.pipe_ = rm::Descriptor(open(folder.input().c_str(), O_RDWR | O_CLOEXEC));
        if (!folder.pipe_.is_open())
            return Error{"cannot open the pipe " + folder.input() + ": " + strerror(errno)};
        return folder;
    }
    Folder(Folder &&other) noexcept
        : path_(std::exchange(other.path_, "")), pipe_(std::move(other.pipe_))
    {
    }
    ~Folder()
    {
        if (path_.empty())
            return;
        for (const std::string &file : {input(), environment(), environment() + ".new"})
            unlink(file.c_str());
        rmdir(path_.c_str());
    }
    std::string input() const { return path_ + "/input"; }
    std::string environment() const { return path_ + "/environment"; }
    /* Ends the job. */
    void end_job() { pipe_.reset(); }

  private:
    Folder() = default;

    std::string path_;
    rm::Descriptor pipe_;
};

std::string id_of(const Json &job)
{
    return text_of(job, "id");
}

void note(const Alloc &options, const std::string &text)
{
    if (!options.quiet)
        print_note(text);
}

bool is_waiting(const Json &job)
{
    std::string state = text_of(job, "state");
    return state == "PENDING" || state == "STARTING";
}

int cancel(Elasticd &elasticd, const Json &job, int code)
{
    Json answer;
    elasticd.interrupt_when(nullptr);
    elasticd.post("/v1/jobs/" + id_of(job) + "/cancel", Json::object(), answer);
    return code;
}

/* DONE: it runs. */
int wait_for_start(const Alloc &options, Elasticd &elasticd, Json &job)
{
    elasticd.interrupt_when(SignalDescriptor::has_end);
    for (int wait_ms = 100; is_waiting(job); wait_ms = Elasticd::WAIT_MS) {
        HttpAnswer answer = elasticd.request(
            "GET", path_of_wait(id_of(job), "started", wait_ms), nullptr, Elasticd::WAIT_PATIENCE);
        if (SignalDescriptor::has_end())
            return cancel(elasticd, job, INTERRUPTED);
        if (!answer.ok())
            return complain(UNREACHABLE, answer.complaint());
        job = object_of(answer.body, "job");
        if (wait_ms == 100 && is_waiting(job))
            note(options, "job " + id_of(job) + " waits for its cores ('elastic why " +
                              id_of(job) + "'); an interrupt cancels it");
    }
    elasticd.interrupt_when(nullptr);
    return has_ended(job) ? complain(REFUSED, "job " + id_of(job) + " has not started: " +
                                                  string_or(job, "reason", "it has ended"))
                          : DONE;
}

/* The script has just started; it may need some time to write its environment. */
int take_environment(Elasticd &elasticd, const Json &job, const Folder &folder)
{
    Json answer;
    while (access(folder.environment().c_str(), R_OK) != 0) {
        if (SignalDescriptor::has_end())
            return cancel(elasticd, job, INTERRUPTED);
        if (int code = elasticd.get("/v1/jobs/" + id_of(job), answer))
            return code;
        if (has_ended(object_of(answer, "job")))
            return complain(REFUSED, "job " + id_of(job) + " ended while it started: " +
                                         string_or(object_of(answer, "job"), "reason", "-"));
        std::this_thread::sleep_for(TRY_AGAIN);
    }
    std::ostringstream text;
    text << std::ifstream(folder.environment(), std::ios::binary).rdbuf();
    std::istringstream entries(text.str());
    clearenv();
    for (std::string entry; std::getline(entries, entry, '\0');) {
        size_t sign = entry.find('=');
        std::string name = entry.substr(0, sign);
        if (sign != std::string::npos && name != "_" && name != "SHLVL" && name != FILE_VARIABLE)
            setenv(name.c_str(), entry.c_str() + sign + 1, 1);
    }
    const char *hosts = getenv("HYDRA_HOST_FILE");
    if (!hosts || access(hosts, R_OK) != 0)
        return cancel(elasticd, job,
                      complain(REFUSED, "the files of job " + id_of(job) +
                                            " are not on this machine: 'elastic alloc' works on "
                                            "the machine of elasticd"));
    return DONE;
}

/* Interrupts affect only the command.  Returns 0, or an errno. */
int start_command(const std::vector<std::string> &command, pid_t &pid)
{
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t ignored;
    sigemptyset(&ignored);
    for (int number : {SIGINT, SIGQUIT}) {
        signal(number, SIG_IGN);
        sigaddset(&ignored, number);
    }
    posix_spawnattr_setsigdefault(&attributes, &ignored);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawnp(&pid, command.front().c_str(), nullptr, &attributes,
                             rm::pointers_to(command).data(), environ);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Waits for the end of the job, and then ends the command. */
class Watcher {
  public:
    Watcher(const Alloc &options, const Json &job, pid_t command)
        : options_(options), job_(job), command_(command), thread_([this] { watch(); })
    {
    }
    /* The command has ended, and the job will end. */
    void finish()
    {
        ended_at_ = Clock::now();
        command_has_ended_ = true;
        thread_.join();
    }

  private:
    bool is_too_late() const { return command_has_ended_ && Clock::now() > ended_at_ + GRACE; }
    void watch()
    {
        Elasticd elasticd;
        elasticd.interrupt_when([this] { return is_too_late(); });
        while (!has_ended(job_) && !is_too_late()) {
            HttpAnswer answer = elasticd.request("GET", path_of_wait(id_of(job_), "ended"),
                                                 nullptr, Elasticd::WAIT_PATIENCE);
            if (answer.ok())
                job_ = object_of(answer.body, "job");
            else
                std::this_thread::sleep_for(TRY_AGAIN);
        }
        if (!command_has_ended_)
            end_command();
    }
    void end_command()
    {
        note(options_, "job " + id_of(job_) + " has ended: " + text_of(job_, "state") + ", " +
                           string_or(job_, "reason", "no reason is known"));
        for (int number : {SIGHUP, SIGCONT})
            kill(command_, number);
        for (auto end = Clock::now() + GRACE; !command_has_ended_;) {
            if (Clock::now() > end)
                kill(command_, SIGKILL);
            std::this_thread::sleep_for(TRY_AGAIN);
        }
    }

    const Alloc &options_;
    Json job_;
    pid_t command_;             /* not reaped before this object has ended */
    std::atomic<bool> command_has_ended_ = false;
    Clock::time_point ended_at_;
    std::thread thread_;
};

int run_command(const Alloc &options, const Json &job, Folder &folder,
                std::vector<std::string> command)
{
    const char *shell = getenv("SHELL");
    if (command.empty())
        command = {shell && *shell ? shell : "/bin/sh"};
    pid_t pid = 0;
    if (int error = start_command(command, pid))
        return complain(REFUSED, "cannot execute " + command.front() + ": " + strerror(error));
    Watcher watcher(options, job, pid);
    siginfo_t end = {};
    while (waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        continue;
    folder.end_job();
    watcher.finish();
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Until it returns, signals affect only the job. */
int get_cores(const Alloc &options, Elasticd &elasticd, const Json &request, Json &job,
              const Folder &folder)
{
    SignalDescriptor signals;
    int code = submit_job(elasticd, request, job, SignalDescriptor::has_end);
    if (code == DONE)
        code = wait_for_start(options, elasticd, job);
    if (code == DONE)
        code = take_environment(elasticd, job, folder);
    while (signals.next() != 0)
        continue;
    return code;
}

int run_alloc(const Alloc &options, const std::vector<std::string> &command)
{
    if (!options.job.array.empty())
        return complain(USAGE, "--array: 'elastic alloc' has one job");
    std::string directory = working_directory();
    auto request = job_request(options.job, directory, present_environment());
    if (!request)
        return complain(USAGE, request.error());
    if (int code = start_in_allocation(options.quiet))
        return code;
    Elasticd elasticd;
    if (std::string why = why_no_pipes(elasticd); !why.empty())
        return complain(USAGE, why + ": a command here cannot use its cores. Use 'elastic submit', "
                                     "or 'elastic alloc' there");
    auto folder = Folder::make();
    if (!folder)
        return complain(UNREACHABLE, folder.error());
    Json &job_request = request.value();
    job_request["command"] = {"alloc"};
    job_request["script"] = SCRIPT;
    job_request["slurm_environment"] = true;
    job_request["environment"]["SLURM_SUBMIT_DIR"] = directory;
    job_request["environment"][FILE_VARIABLE] = folder.value().environment();
    job_request["input"] = folder.value().input();
    job_request["output"] = job_request["error"] = "/dev/null";
    Json job;
    if (int code = get_cores(options, elasticd, job_request, job, folder.value()))
        return code;
    note(options, "job " + id_of(job) + " has " + text_of(job, "size") +
                      (text_of(job, "size") == "1" ? " process" : " processes") + " on " +
                      std::string(getenv("ELASTIC_JOB_NODES") ? getenv("ELASTIC_JOB_NODES") : "-") +
                      "; it ends with " + (command.empty() ? "this shell" : command.front()));
    return run_command(options, job, folder.value(), command);
}

}  // namespace

CLI::App *add_alloc(CLI::App &app, const ProgramLine &line, int &code)
{
    auto options = std::make_shared<Alloc>();
    CLI::App *command = app.add_subcommand(
        "alloc", "allocate cores for a shell or a command here; mpiexec in it uses them");
    add_job_options(*command, options->job);
    command->add_flag("-q,--quiet", options->quiet, "print no messages of elastic, except errors");
    command->footer("The arguments after the options are the command; the default is $SHELL.\n"
                    "The job ends with the command and has its exit code.");
    command->callback([options, &line, &code] { code = run_alloc(*options, line.program); });
    return command;
}

}  // namespace elastic
