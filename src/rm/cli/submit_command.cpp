/* `elastic submit`: sends a script or a program to elasticd and returns, or waits for its end
 * (--wait). */

#include <CLI/CLI.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "cli/array_tasks.h"
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/job_view.h"
#include "cli/nested_start.h"
#include "cli/slurm_lines.h"
#include "cli/submission.h"
#include "cli/wait_for_job.h"

namespace elastic {

namespace {

constexpr size_t SCRIPT_MAX_BYTES = size_t{4} << 20;

struct Submit {
    bool json = false, wait = false, parsable = false, program = false, test_only = false;
    bool slurm_names = false;   /* the script was written for Slurm */
    std::string wrapped;
    JobOptions job;
};

void add_submit_options(CLI::App &command, Submit &options)
{
    command.add_flag("--json", options.json, "print JSON, one object per line");
    add_job_options(command, options.job);
    command.add_flag("-W,--wait", options.wait, "wait for the job's end and return its exit code");
    command.add_flag("--parsable", options.parsable, "print the job's number alone");
    command.add_flag("--test-only", options.test_only,
                     "submit nothing: print whether it would be accepted, and when it would start");
    command.add_option("--wrap", options.wrapped, "a shell command instead of a script");
    command.add_flag("--program", options.program, "a program for mpiexec, even if it is a script");
}

/* The text of a script: a file that begins with "#!".  Empty: not a script. */
Result<std::string> read_script(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    char head[2] = {};
    if (!file.read(head, 2) || head[0] != '#' || head[1] != '!')
        return std::string();
    std::ostringstream text;
    text << "#!" << file.rdbuf();
    if (text.str().size() > SCRIPT_MAX_BYTES)
        return Error{path + " is longer than " + std::to_string(SCRIPT_MAX_BYTES) +
                     " bytes: is it a script?"};
    if (text.str().find('\0') != std::string::npos)
        return Error{path + " begins with #!, but holds zero bytes: is it a script?"};
    return text.str();
}

/* The options of the script's own lines, overridden by those of the command line.  #ELASTIC
 * lines override #SBATCH lines. */
Result<Submit> with_script_options(const Submit &given, const std::vector<std::string> &words,
                                   const std::string &script)
{
    auto slurm = slurm_options(script);
    if (!slurm)
        return Error{"#SBATCH, " + slurm.error()};
    auto own = script_options(script);
    if (!own)
        return Error{"#ELASTIC: " + own.error()};
    if (own.value().empty() && !slurm.value().any)
        return given;
    for (const std::string &note : slurm.value().notes)
        print_note("#SBATCH, " + note);
    CLI::App command("", "elastic submit");
    Submit options;
    add_submit_options(command, options);
    options.slurm_names = slurm.value().any;
    std::vector<std::string> all = slurm.value().words;
    all.insert(all.end(), own.value().begin(), own.value().end());
    all.insert(all.end(), words.begin(), words.end());
    std::reverse(all.begin(), all.end());       /* as CLI11 requires */
    try {
        command.parse(all);
    } catch (const CLI::ParseError &error) {
        return Error{std::string("the script's #ELASTIC and #SBATCH lines: ") + error.what()};
    }
    return options;
}

int64_t count_tasks(const Json &job)
{
    return integer_or(object_of(job, "array"), "tasks", 0);
}

std::string tasks_text(const Json &job)
{
    int64_t tasks = count_tasks(job);
    return tasks > 0 ? ", an array of " + std::to_string(tasks) + " tasks" : "";
}

int print_job(const Submit &options, const Json &job)
{
    std::string id = text_of(job, "id");
    if (options.json)
        print_json(job);
    else
        print_line(options.parsable ? id : "Submitted job " + id + tasks_text(job));
    return DONE;
}

int wait_for_end(Elasticd &elasticd, const std::string &id, Json job)
{
    std::string path = path_of_wait(id, "ended");
    while (!has_ended(job)) {
        Json answer;
        if (int code = elasticd.get(path, answer, Elasticd::WAIT_PATIENCE))
            return code;
        job = object_of(answer, "job");
    }
    return exit_code_of(job);
}

/* For an array, waits for all its tasks, which have consecutive numbers: the highest exit code. */
int wait_for_all(Elasticd &elasticd, const Json &job)
{
    int64_t first = integer_or(job, "id", 0);
    int code = wait_for_end(elasticd, job_name(job), job);
    for (int64_t task = 1; task < count_tasks(job); task++)
        code = std::max(code, wait_for_end(elasticd, std::to_string(first + task), Json::object()));
    return code;
}

bool is_file(const std::string &path)
{
    struct stat found = {};
    return stat(path.c_str(), &found) == 0 && !S_ISDIR(found.st_mode);
}

bool is_folder(const std::string &path)
{
    struct stat found = {};
    return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
        (path.find('/') != path.npos || path.starts_with("."));
}

/* Whether the job will find it: in its directory, here (a script), or in its PATH. */
bool is_there(const std::string &word, const Json &request)
{
    std::string folder = string_or(request, "directory", ".") + "/";
    if (is_file(word) || (word.front() != '/' && is_file(folder + word)))
        return true;
    std::istringstream path(string_or(object_of(request, "environment"), "PATH", ""));
    for (std::string entry; word.find('/') == word.npos && std::getline(path, entry, ':');) {
        if (is_file(entry + "/" + word))
            return true;
    }
    return false;
}

/* "would start at 2026-11-28T14:03:07 at the latest, when job 3 ends, with 2 to 8 processes" */
int print_test(const Submit &options, const Json &test)
{
    int64_t start_ms = integer_or(test, "expected_start_ms", -1),
            other = integer_or(test, "expected_after", 0),
            minimum = integer_or(test, "min", 0), maximum = integer_or(test, "max", 0);
    std::string size = std::to_string(minimum) +
                       (maximum > minimum ? " to " + std::to_string(maximum) : "") + " processes";
    if (options.json)
        print_json(test);
    else if (options.parsable)
        print_line(start_ms > 0 ? format_time(start_ms) : "unknown");
    else if (start_ms <= 0)
        print_line("the job would be accepted, with " + size + "; its start cannot be predicted");
    else
        print_line("the job would start at " + format_time(start_ms) + " at the latest" +
                   (other > 0 ? ", when job " + std::to_string(other) + " ends" : "") + ", with " +
                   size);
    return DONE;
}

int test_submission(const Submit &options, Json request)
{
    Elasticd elasticd;
    Json answer;
    request["test_only"] = true;
    if (int code = elasticd.post("/v1/jobs", request, answer))
        return code;
    if (!answer.contains("test"))
        return complain(REFUSED, "this elasticd is older and does not know --test-only");
    return print_test(options, object_of(answer, "test"));
}

int submit(const Submit &options, const std::vector<std::string> &program,
           const std::string &script)
{
    std::string directory = working_directory();
    auto request = job_request(options.job, directory, present_environment());
    if (!request)
        return complain(USAGE, request.error());
    request.value()["command"] = program;
    if (options.slurm_names) {
        request.value()["slurm_environment"] = true;
        request.value()["environment"]["SLURM_SUBMIT_DIR"] = directory;
    }
    bool is_elsewhere = getenv("ELASTICD_URL") != nullptr && getenv("ELASTICD_SOCKET") == nullptr;
    if (script.empty() && is_folder(program.front()))
        return complain(USAGE, "'" + program.front() + "' is a folder: a script or a program is "
                                                       "expected");
    if (script.empty() && !options.program && !is_elsewhere &&
        (program.front().empty() || !is_there(program.front(), request.value())))
        return complain(USAGE, "there is no '" + program.front() +
                                   "' here, and none in PATH: is it misspelt? (--program submits "
                                   "what only the nodes have)");
    if (!script.empty())
        request.value()["script"] = script;
    if (options.test_only)
        return test_submission(options, request.value());
    if (int code = start_in_allocation(options.parsable))
        return code;
    Elasticd elasticd;
    Json job;
    if (int code = submit_job(elasticd, request.value(), job))
        return code;
    print_job(options, job);
    return options.wait ? wait_for_all(elasticd, job) : DONE;
}

int run_submit(const Submit &given, const ProgramLine &line)
{
    if (!given.wrapped.empty())
        return submit(given, {"wrap"}, "#!/bin/sh\n" + given.wrapped + "\n");
    if (line.program.empty())
        return complain(USAGE, "a script or a program is missing: elastic submit -n 2:8 ./app");
    auto script =
        given.program ? Result<std::string>(std::string()) : read_script(line.program.front());
    if (!script)
        return complain(USAGE, script.error());
    if (script.value().empty())
        return submit(given, line.program, "");
    auto options = with_script_options(given, line.options, script.value());
    return options ? submit(options.value(), line.program, script.value())
                   : complain(USAGE, options.error());
}

}  // namespace

CLI::App *add_submit(CLI::App &app, const ProgramLine &line, int &code)
{
    auto options = std::make_shared<Submit>();
    CLI::App *command = app.add_subcommand("submit", "submit a script or a program to elasticd");
    add_submit_options(*command, *options);
    command->footer("The arguments after the options are a script (a file that begins with #!; its "
                    "lines #ELASTIC OPTIONS are\n"
                    "options, too, and its lines #SBATCH OPTIONS are honoured as far as possible) "
                    "or a program, and its arguments.");
    command->callback([options, &line, &code] { code = run_submit(*options, line); });
    return command;
}

}  // namespace elastic
