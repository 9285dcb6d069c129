/* See stepd.h: a step that is suspended.  Each of its processes on this host is stopped by SIGSTOP.
 * mpiexec gets SIGTSTP, stops those on other hosts, and is stopped last.  All processes of the
 * step here are descendants of this one, their reaper.  A process that is being stopped may still
 * start another: all are checked again until each is stopped. */

#include <dirent.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <vector>

#include "base/log.h"
#include "step/stepd.h"

namespace elastic::rm {

namespace {

constexpr int64_t LAUNCHER_MS = 2000;   /* for mpiexec to forward it */
constexpr int64_t AGAIN_MS = 10, AGAIN_MAX_MS = 1000;
constexpr size_t PROCESSES_MAX = 1 << 20;

/* Children of all its threads. */
void add_children(pid_t pid, std::vector<pid_t> &found)
{
    std::string tasks = "/proc/" + std::to_string(pid) + "/task";
    std::unique_ptr<DIR, int (*)(DIR *)> threads(opendir(tasks.c_str()), closedir);
    while (dirent *entry = threads ? readdir(threads.get()) : nullptr) {
        std::ifstream children(tasks + "/" + entry->d_name + "/children");
        for (pid_t child; children >> child;)
            found.push_back(child);
    }
}

std::vector<pid_t> descendants()
{
    std::vector<pid_t> found;
    add_children(getpid(), found);
    for (size_t i = 0; i < found.size() && found.size() < PROCESSES_MAX; i++)
        add_children(found[i], found);
    return found;
}

/* Or it has ended, or a debugger has stopped it. */
bool is_stopped(pid_t pid)
{
    auto stat = read_file("/proc/" + std::to_string(pid), "stat");
    size_t end = stat && stat.value() ? stat.value()->rfind(')') : std::string::npos;
    return end == std::string::npos || end + 2 >= stat.value()->size() ||
           std::string_view("TtZX").find((*stat.value())[end + 2]) != std::string_view::npos;
}

}  // namespace

void Stepd::set_suspended(bool suspended)
{
    if (suspended == suspended_)
        return;
    log_line(LogLevel::INFO, suspended ? "the step is suspended" : "the step continues");
    loop_.cancel(std::exchange(stop_timer_, 0));
    if (suspended) {
        suspended_at_ms_ = monotonic_ms();
        suspended_ = true;
        for (pid_t pid : descendants()) {
            if (launchers_.contains(pid))
                kill(pid, SIGTSTP);
        }
        stop_processes(AGAIN_MS);
    } else {
        launched_ms_ += monotonic_ms() - suspended_at_ms_;
        suspended_ = false;
        continue_processes();
    }
    arm_limit();
}

void Stepd::stop_processes(int64_t again_ms)
{
    bool all_stop = monotonic_ms() - suspended_at_ms_ >= LAUNCHER_MS, is_done = true;
    for (pid_t pid : descendants()) {
        if (is_stopped(pid))
            continue;
        is_done = false;
        if (launchers_.contains(pid) && !all_stop)
            continue;
        kill(pid, SIGSTOP);
        stopped_.insert(pid);
    }
    if (is_done)
        return;
    stop_timer_ = loop_.after(again_ms, [this, again_ms] {
        stop_timer_ = 0;
        stop_processes(std::min(2 * again_ms, AGAIN_MAX_MS));
    });
}

/* Not those that had stopped by themselves. */
void Stepd::continue_processes()
{
    for (pid_t pid : descendants()) {
        if (stopped_.contains(pid) || launchers_.contains(pid))
            kill(pid, SIGCONT);
    }
    stopped_.clear();
}

}  // namespace elastic::rm
