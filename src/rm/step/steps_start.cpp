/* See steps.h: the start of a step, by elastic-stepd. */

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "step/control_group.h"
#include "step/steps_step.h"

namespace elastic::rm {

namespace {

constexpr const char *FILES_LIMIT = "nofile";

}  // namespace

void remove_step_folder(const std::string &folder)
{
    std::error_code code;
    std::filesystem::remove_all(folder, code);
    if (code)
        log_line(LogLevel::WARNING, "cannot remove the folder of a step",
                 {{"folder", folder}, {"error", code.message()}});
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
    bool node_fault = false;
    std::string error = create(entry, make, node_fault);
    if (!error.empty())
        end(entry, StepStartFailed{job, step, error, node_fault});
}

/* `node_fault`: the program is not the cause. */
std::string Steps::create(Step &step, const Make &make, bool &node_fault)
{
    remove_step_folder(step.folder);
    node_fault = true;
    if (mkdir(step.folder.c_str(), config_.as_root ? 0711 : 0700) != 0)
        return "cannot make " + step.folder + ": " + strerror(errno);
    auto program = make(step.folder);
    node_fault = static_cast<bool>(program);
    if (!program)
        return program.error();
    StepSpec &spec = program.value().spec;
    step.uid = spec.uid;
    std::string error;
    if (!config_.control_group.empty()) {
        spec.control_group = step_group(config_.control_group, step.key.first, step.key.second);
        error = make_control_group(spec.control_group);
        if (error.empty() && program.value().confine)
            error = program.value().confine(spec.control_group);
    }
    if (!error.empty())
        return error;
    const User &user = program.value().user;
    node_fault = user.exists || !config_.as_root || spec.uid == 0;
    if (!node_fault)
        return "there is no user with the number " + std::to_string(spec.uid) + " on this machine";
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
    return error.empty() ? launch_stepd(step) : error;
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
