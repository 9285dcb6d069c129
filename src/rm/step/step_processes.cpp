/* See step_processes.h. */

#include "step/step_processes.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>

#include "base/descriptor.h"
#include "step/control_group.h"

namespace elastic::rm {

namespace {

/* Zombies count as ended: another process must collect them. */
bool is_alive(const std::string &folder)
{
    auto stat = read_file(folder, "stat");
    size_t end = stat && stat.value() ? stat.value()->rfind(')') : std::string::npos;
    return end != std::string::npos && end + 2 < stat.value()->size() &&
        (*stat.value())[end + 2] != 'Z';
}

bool names_the_step(const std::string &folder, const std::string &step_folder)
{
    auto environment = read_file(folder, "environ");
    if (!environment || !environment.value())
        return false;
    std::string wanted = std::string(STEP_FOLDER_VARIABLE).append("=").append(step_folder);
    std::string_view rest = *environment.value();
    while (!rest.empty()) {
        std::string_view entry = rest.substr(0, rest.find('\0'));
        if (entry == wanted)
            return true;
        rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    }
    return false;
}

bool is_of_step(pid_t pid, const StepSpec &spec, const StepStartedFile &started,
                const std::string &step_folder)
{
    std::string folder = "/proc/" + std::to_string(pid);
    struct stat status = {};
    if (stat(folder.c_str(), &status) != 0 || !is_alive(folder))
        return false;
    if (pid == started.pid && started.pid_start != 0)
        return process_start(pid) == started.pid_start;
    return status.st_uid == spec.uid && process_start(pid) >= started.pid_start &&
        names_the_step(folder, step_folder);
}

}  // namespace

size_t kill_step_processes(const StepSpec &spec, const StepStartedFile &started,
                           const std::string &folder)
{
    size_t count = 0;
    if (!spec.control_group.empty() && is_populated(spec.control_group)) {
        kill_control_group(spec.control_group);
        count++;
    }
    std::unique_ptr<DIR, int (*)(DIR *)> processes(opendir("/proc"), closedir);
    while (dirent *entry = processes ? readdir(processes.get()) : nullptr) {
        pid_t pid = atoi(entry->d_name);
        if (pid <= 1 || !is_of_step(pid, spec, started, folder))
            continue;
        Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
        if (!process.is_open() || !is_of_step(pid, spec, started, folder))
            continue;           /* it has ended meanwhile */
        syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
        count++;
    }
    return count;
}

}  // namespace elastic::rm
