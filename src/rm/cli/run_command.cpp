/* `elastic run`: submits a job and represents it at the terminal until it has ended. */

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/job_pipes.h"
#include "cli/nested_start.h"
#include "cli/other_machine.h"
#include "cli/submission.h"
#include "cli/wait_for_job.h"

namespace elastic {

namespace {

struct Run {
    bool json = false, quiet = false;
    JobOptions job;
};

/* An end was signalled, but the answer has not arrived soon after.  With the answer, the job can
 * be cancelled. */
class Interrupted {
  public:
    bool operator()()
    {
        auto now = std::chrono::steady_clock::now();
        if (!since_ && SignalDescriptor::has_end())
            since_ = now;
        return since_ && now - *since_ >= PATIENCE;
    }

  private:
    static constexpr std::chrono::milliseconds PATIENCE{1500};
    std::optional<std::chrono::steady_clock::time_point> since_;
};

int run_job(Run &options, const std::vector<std::string> &program)
{
    if (!options.job.array.empty())
        return complain(USAGE, "--array: 'elastic run' waits for one job: submit arrays with "
                               "'elastic submit'");
    if (program.empty())
        return complain(USAGE, "a program is missing: elastic run -n 2:8 ./app");
    auto request = job_request(options.job, working_directory(), present_environment());
    if (!request)
        return complain(USAGE, request.error());
    request.value()["command"] = program;
    if (int code = start_in_allocation(options.quiet))
        return code;

    /* Before the submission: from now on signals are for the job, and all its output is read. */
    SignalDescriptor signals;
    auto pipes = JobPipes::create(request.value());
    if (!pipes)
        return complain(UNREACHABLE, pipes.error());
    Elasticd elasticd;
    Interrupted interrupted;
    if (pipes.value().are_used()) {
        elasticd.interrupt_when(std::ref(interrupted));
        if (std::string why = why_no_pipes(elasticd); !why.empty())
            return complain(USAGE, why + ": 'elastic run' cannot pass its output and input. Use "
                                         "'elastic submit', or give files there: 'elastic run -o "
                                         "FILE -i /dev/null'");
    }
    Json job;
    if (int code = submit_job(elasticd, request.value(), job, std::ref(interrupted)))
        return code;
    return wait_for_job(elasticd, job, signals, pipes.value(), options.quiet, options.json);
}

}  // namespace

CLI::App *add_run(CLI::App &app, const ProgramLine &line, int &code)
{
    auto options = std::make_shared<Run>();
    CLI::App *command =
        add_command(app, "run", "run a program as a job and wait for it", options->json);
    add_job_options(*command, options->job);
    command->add_flag("-q,--quiet", options->quiet, "print no messages of elastic, except errors");
    command->footer(
        "The arguments after the options are the program and its arguments:\n"
        "elastic run -n 2:8 ./app --its-option\n"
        "Signals are passed on; the exit code is the job's.");
    command->callback([options, &line, &code] { code = run_job(*options, line.program); });
    return command;
}

}  // namespace elastic
