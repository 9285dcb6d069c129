/* See node_program.h. */

#include "step/node_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/command.h"
#include "base/lacks_resource.h"
#include "base/log.h"
#include "base/words.h"

namespace elastic::rm {

namespace {

constexpr const char *SCRIPT_FILE = "script", *OUTPUT_FILE = "output";
constexpr int64_t GRACE_S = 5;                  /* between SIGTERM and SIGKILL */
/* For a connection to the node, in addition to the limit of the program there. */
constexpr int64_t CONNECT_MS = 30000;
constexpr int64_t CONNECT_AGAIN_MS = 200, START_AGAIN_MS = 5000;
constexpr size_t OUTPUT_MAX = 4096;
/* Exit codes of timeout(1). */
constexpr int CODE_TIMED_OUT = 124, CODE_KILLED = 137;

int64_t seconds_of(int64_t limit_ms)
{
    return std::max<int64_t>((limit_ms + 999) / 1000, 1);
}

/* The beginning of the file, which may be long. */
std::string beginning_of(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    std::string text(OUTPUT_MAX, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(file.gcount()));
    return text;
}

/* For finding the shell, and for its access to the node. */
std::vector<std::string> environment_of_shell()
{
    std::vector<std::string> variables;
    for (const char *name : {"PATH", "HOME", "SSH_AUTH_SOCK"}) {
        if (const char *value = getenv(name))
            variables.push_back(std::string(name) + "=" + value);
    }
    return variables;
}

StepSpec step_of(const NodeProgramSpec &spec)
{
    StepSpec step;
    step.job = spec.job;
    step.step = spec.step;
    step.uid = geteuid();
    step.gid = getegid();
    step.groups = {step.gid};
    step.user = std::to_string(step.uid);
    step.arguments = spec.shell;
    step.environment = environment_of_shell();
    step.directory = "/";
    step.input = spec.folder + "/" + SCRIPT_FILE;
    step.output = spec.folder + "/" + OUTPUT_FILE;
    step.is_script = true;
    step.umask = 077;
    step.time_limit_ms = (seconds_of(spec.limit_ms) + GRACE_S) * 1000 + CONNECT_MS;
    step.kill_grace_ms = GRACE_S * 1000;
    return step;
}

}  // namespace

std::string node_program_script(const NodeProgramSpec &spec)
{
    std::string text = "umask 022\ncd /\n";
    for (const std::string &variable : spec.variables) {
        size_t equals = variable.find('=');
        text += "export " + variable.substr(0, equals) + "=" +
            shell_word(variable.substr(equals + 1)) + "\n";
    }
    text += "exec timeout -k " + std::to_string(GRACE_S) + " " +
        std::to_string(seconds_of(spec.limit_ms));
    for (const std::string &word : spec.words)
        text += " " + shell_word(word);
    return text + " </dev/null 2>&1\n";
}

std::string node_program_problem(const StepExitFile &exit, int64_t limit_ms,
                                 const std::string &output)
{
    std::string last = last_line(output);
    last = last.empty() ? "" : ": " + last;
    std::string limit = std::to_string(seconds_of(limit_ms)) + " s";
    if (!exit.started)
        return "it could not be started: " + exit.reason;
    if (!exit.reason.empty() || exit.exit_code == CODE_TIMED_OUT)
        return "it has not ended within " + limit + last;
    if (exit.exit_code == CODE_KILLED)
        return "it was killed, probably as it continued after its limit of " + limit + last;
    return exit.exit_code == 0
        ? "" : "it ended with exit code " + std::to_string(exit.exit_code) + last;
}

NodeProgram::NodeProgram(Loop &loop, StepdProgram stepd, NodeProgramSpec spec, Done done)
    : loop_(loop), program_(std::move(stepd)), spec_(std::move(spec)), done_(std::move(done))
{
    if (access((spec_.folder + "/" + STEP_EXIT_FILE).c_str(), F_OK) == 0)
        timer_ = loop_.after(0, [this] { ended(); });
    else if (!connect())
        start();
}

NodeProgram::~NodeProgram()
{
    loop_.cancel(timer_);
}

void NodeProgram::start()
{
    timer_ = 0;
    std::string error = prepare_and_start();
    if (!error.empty() && lacks_resource(errno)) {      /* the node is not the cause */
        log_line(LogLevel::WARNING, "a program on a node cannot be started at present",
                 {{"job", spec_.job}, {"error", error}});
        timer_ = loop_.after(START_AGAIN_MS, [this] { start(); });
    } else if (!error.empty()) {
        timer_ = loop_.after(0, [this, error] { finish({error, ""}); });
    } else if (!connect()) {
        connect_later();
    }
}

std::string NodeProgram::prepare_and_start()
{
    std::error_code code;
    std::filesystem::remove_all(spec_.folder, code);    /* of a killed run */
    if (mkdir(spec_.folder.c_str(), 0700) != 0)
        return "cannot make " + spec_.folder + ": " + strerror(errno);
    std::string error = write_file(spec_.folder, SCRIPT_FILE, node_program_script(spec_));
    if (error.empty())
        error = write_file(spec_.folder, STEP_SPEC_FILE, write(step_of(spec_)).dump());
    return error.empty() ? start_stepd(program_, spec_.folder) : error;
}

bool NodeProgram::connect()
{
    stepd_ = LineConnection::connect(
        loop_, spec_.folder + "/" + STEP_SOCKET_FILE, geteuid(), LineLimits{},
        [](const Json &) {}, [this](const std::string &) { ended(); });
    return stepd_ != nullptr;
}

/* Descriptors may be exhausted at present. */
void NodeProgram::connect_later()
{
    timer_ = loop_.after(CONNECT_AGAIN_MS, [this] {
        timer_ = 0;
        if (connect())
            return;
        if (errno == ECONNREFUSED || errno == ENOENT)
            ended();
        else
            connect_later();
    });
}

/* Its elastic-stepd has ended.  If this machine is shut down, the program runs again after the
 * boot. */
void NodeProgram::ended()
{
    timer_ = 0;
    auto text = read_file(spec_.folder, STEP_EXIT_FILE);
    Json json = text && text.value() ? Json::parse(*text.value(), nullptr, false) : Json();
    auto exit = parse<StepExitFile>(json);
    if (!exit)
        return finish({"its supervisor was killed, or could not start", ""});
    if (exit.value().node_leaves || exit.value().own_fault) {
        timer_ = loop_.after(START_AGAIN_MS, [this] { start(); });
        return;
    }
    std::string output = beginning_of(spec_.folder + "/" + OUTPUT_FILE);
    finish({node_program_problem(exit.value(), spec_.limit_ms, output), output});
}

void NodeProgram::finish(const NodeProgramEnd &end)
{
    Done done = std::move(done_);
    done(end);
}

}  // namespace elastic::rm
