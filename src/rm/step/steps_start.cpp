/* See steps.h: the start of a step, by elastic-stepd. */

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/lacks_resource.h"
#include "base/log.h"
#include "step/control_group.h"
#include "step/steps_step.h"

namespace elastic::rm {

namespace {

constexpr const char *FILES_LIMIT = "nofile";

}  // namespace

std::string cannot_start(const std::string &cause)
{
    return "elasticd cannot start jobs now, and will try again: " + cause;
}

bool remove_step_folder(const std::string &folder)
{
    std::error_code code;
    std::filesystem::remove_all(folder, code);
    if (code)
        log_line(LogLevel::WARNING, "cannot remove the folder of a step",
                 {{"folder", folder}, {"error", code.message()}});
    return !lacks_resource(code.value());
}

void Steps::start(JobId job, uint32_t step, const Make &make)
{
    Step *found = find_or_adopt(job, step);
    if (found) {
        report(*found);
        return;
    }
    auto fresh = std::make_unique<Step>();
    fresh->key = {job, step};
    fresh->folder = folder_of(fresh->key);
    Step &entry = *(steps_[fresh->key] = std::move(fresh));
    Blame blame;
    std::string error = create(entry, make, blame);
    if (!error.empty())
        end(entry, blame.own.empty() ? StepStartFailed{job, step, error, blame.node}
                                     : own_fault(entry, error, blame.own));
}

/* Users see the reason, the log has the details. */
StepStartFailed Steps::own_fault(const Step &step, const std::string &error,
                                 const std::string &cause)
{
    auto [job, number] = step.key;
    log_line(LogLevel::ERROR, "elasticd cannot start a step at present, and will try again",
             {{"job", job}, {"step", number}, {"error", error}});
    return {job, number, cannot_start(cause), false, true};
}

/* `blame` is not empty if the program is not the cause of an error. */
std::string Steps::create(Step &step, const Make &make, Blame &blame)
{
    auto own_or_node = [&blame](std::string error) {
        const char *cause =
            errno == EAGAIN ? "no more processes can be made here" : strerror(errno);
        blame = lacks_resource(errno) ? Blame{false, cause} : Blame{true, ""};
        return error;
    };
    remove_step_folder(step.folder);
    if (mkdir(step.folder.c_str(), config_.as_root ? 0711 : 0700) != 0)
        return own_or_node("cannot make " + step.folder + ": " + strerror(errno));
    errno = 0;
    auto program = make(step.folder);
    if (!program)
        return lacks_resource(errno) ? own_or_node(program.error()) : program.error();
    StepSpec &spec = program.value().spec;
    step.uid = spec.uid;
    const User &user = program.value().user;
    blame.own = user.error;
    if (!user.error.empty())
        return user.error;
    if (!user.exists && config_.as_root && spec.uid != 0)
        return "there is no user with the number " + std::to_string(spec.uid) + " on this machine";
    std::string error;
    if (!config_.control_group.empty()) {
        spec.control_group = step_group(config_.control_group, step.key.first, step.key.second);
        errno = 0;
        error = make_control_group(spec.control_group);
        if (error.empty() && program.value().confine)
            error = program.value().confine(spec.control_group);
    }
    if (!error.empty())
        return own_or_node(error);
    spec.user = user.name;
    spec.gid = user.gid;
    spec.groups = user.groups;
    step.gid = user.gid;
    auto names_files = [](const ProcessLimit &limit) { return limit.name == FILES_LIMIT; };
    if (config_.files_soft > 0 && std::ranges::none_of(spec.limits, names_files))
        spec.limits.push_back({FILES_LIMIT, config_.files_soft});
    if (spec.is_script)
        error = write_file(
            step.folder, STEP_SCRIPT_FILE, program.value().script, 0500, owner_of_files(step));
    if (error.empty() && spec.is_script)
        error = write_file(step.folder, STEP_SLOTS_FILE, "", 0600, owner_of_files(step));
    if (error.empty())
        error = write_hosts(step, program.value().hosts, program.value().gpus);
    if (error.empty())
        error = write_file(step.folder, STEP_SPEC_FILE,
                           write(spec).dump(-1, ' ', false, Json::error_handler_t::replace));
    if (error.empty())
        error = launch_stepd(step);
    return error.empty() ? error : own_or_node(error);
}

/* Files that the user's own processes read belong to the user. */
std::optional<FileOwner> Steps::owner_of_files(const Step &step) const
{
    return config_.as_root ? std::optional<FileOwner>({step.uid, step.gid}) : std::nullopt;
}

std::string Steps::write_hosts(const Step &step, const std::string &hosts,
                               const std::string &gpus) const
{
    std::string error = write_file(step.folder, STEP_HOSTS_FILE, hosts, 0600, owner_of_files(step));
    return error.empty() && !gpus.empty()
        ? write_file(step.folder, STEP_GPUS_FILE, gpus, 0600, owner_of_files(step))
        : error;
}

std::string Steps::launch_stepd(Step &step)
{
    std::string error = start_stepd(config_.stepd, step.folder);
    if (error.empty() && !connect(step))        /* it runs, and must be supervised */
        connect_later(step);
    return error;
}

/* Until it is connected, or has ended: descriptors may be exhausted at present. */
void Steps::connect_later(Step &step)
{
    constexpr int64_t AGAIN_MS = 200;
    step.rest_timer = loop_.after(AGAIN_MS, [this, same = &step] {
        same->rest_timer = 0;
        if (connect(*same))
            return;
        if (errno == ECONNREFUSED || errno == ENOENT)
            stepd_closed(*same);
        else
            connect_later(*same);
    });
}

bool Steps::connect(Step &step)
{
    Step *same = &step;
    step.stepd = LineConnection::connect(
        loop_, step.folder + "/" + STEP_SOCKET_FILE, geteuid(), LineLimits{.descriptors = true},
        [this, same](const Json &line) { stepd_line(*same, line); },
        [this, same](const std::string &) { stepd_closed(*same); });
    return step.stepd != nullptr;
}

}  // namespace elastic::rm
