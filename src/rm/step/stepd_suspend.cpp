/* See stepd.h: a suspended step.  Each of its processes on this host is stopped by SIGSTOP.
 * mpiexec gets SIGTSTP, stops the processes on other hosts, and is stopped last.  All processes
 * of the step here are descendants of this one, their reaper.  A process that is being stopped
 * may still start another: all are checked again until each is stopped.
 *
 * An mpiexec in the shell of `elastic alloc` is not a descendant.  It stops its processes and is
 * not stopped itself, so that its user can interrupt it.  SIGTSTP is sent to it again, for
 * processes that it starts later. */

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "step/child_processes.h"
#include "step/stepd.h"

namespace elastic::rm {

namespace {

constexpr int64_t LAUNCHER_MS = 2000;   /* for mpiexec to forward it */
constexpr int64_t AGAIN_MAX_MS = 1000;

/* True also if it has ended, or if a debugger has stopped it. */
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
        stop_processes();
    } else {
        launched_ms_ += monotonic_ms() - suspended_at_ms_;
        suspended_ = false;
        continue_processes();
    }
    arm_limit();
}

/* Only to those that still run: a process that reuses the number of another one gets no signal. */
void Stepd::signal_launchers(int number)
{
    std::erase_if(launchers_, [](const auto &launcher) {
        return process_start(launcher.first) != launcher.second;
    });
    for (const auto &[pid, start] : launchers_)
        kill(pid, number);
}

void Stepd::stop_processes(int64_t again_ms)
{
    loop_.cancel(std::exchange(stop_timer_, 0));
    signal_launchers(SIGTSTP);
    std::vector<pid_t> own = descendants_of(getpid());
    bool all_stop = monotonic_ms() - suspended_at_ms_ >= LAUNCHER_MS;
    bool is_done = std::ranges::all_of(launchers_, [&](const auto &launcher) {
        return std::ranges::find(own, launcher.first) != own.end();
    });
    for (pid_t pid : own) {
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

/* Except processes that had stopped by themselves. */
void Stepd::continue_processes()
{
    for (pid_t pid : descendants_of(getpid())) {
        if (stopped_.contains(pid))
            kill(pid, SIGCONT);
    }
    stopped_.clear();
    signal_launchers(SIGCONT);
}

}  // namespace elastic::rm
