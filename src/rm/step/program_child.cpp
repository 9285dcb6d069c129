/* See program_child.h. */

#include "step/program_child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/words.h"
#include "step/as_user.h"
#include "step/control_group.h"

namespace elastic::rm {

namespace {

[[noreturn]] void give_up(int report, const char *what, const char *name)
{
    char text[CHILD_REPORT_MAX];
    int length = snprintf(text, sizeof text, "%s %s: %s", what, name, strerror(errno));
    [[maybe_unused]] ssize_t n =
        ::write(report, text, std::min<size_t>(static_cast<size_t>(length), sizeof text - 1));
    _exit(127);
}

void open_as(int report, int target, const std::string &path, int flags)
{
    int fd = open(path.c_str(), flags | O_NOCTTY, 0666);
    if (fd < 0)
        give_up(report, target == STDIN_FILENO ? "cannot read" : "cannot write", path.c_str());
    int status = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, status & ~O_NONBLOCK);
    if (fd != target) {
        dup2(fd, target);
        close(fd);
    }
}

/* Does not block at a FIFO without a reader: `elastic run` has opened its ends before. */
void open_files(int report, const StepSpec &spec)
{
    constexpr int OUT = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK;
    open_as(report, STDIN_FILENO, spec.input, O_RDONLY | O_NONBLOCK);
    open_as(report, STDOUT_FILENO, spec.output, OUT);
    if (spec.error.empty())
        dup2(STDOUT_FILENO, STDERR_FILENO);
    else
        open_as(report, STDERR_FILENO, spec.error, OUT);
}

/* As far as the hard limits permit; after the files are open, which a small limit on descriptors
 * might prevent. */
void set_limits(const StepSpec &spec)
{
    for (const ProcessLimit &wanted : spec.limits) {
        for (const LimitName &known : LIMIT_NAMES) {
            rlimit limit;
            if (wanted.name != known.name || getrlimit(known.resource, &limit) != 0)
                continue;
            rlim_t value = wanted.value < 0 ? RLIM_INFINITY : static_cast<rlim_t>(wanted.value);
            limit.rlim_cur = std::min(value, limit.rlim_max);
            setrlimit(known.resource, &limit);
        }
    }
}

/* Closes descriptors of elasticd's parent, elasticd or this process: the program gets only 0 to
 * 2. */
void close_at_exec()
{
    if (close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    /* For a kernel before 5.11. */
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    int end = static_cast<int>(std::min<rlim_t>(limit.rlim_max, 1 << 20));
    for (int fd = STDERR_FILENO + 1; fd < end; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace

void reset_signals()
{
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_program(int report, const StepSpec &spec, pid_t parent)
{
    setpgid(0, 0);
    if (!spec.control_group.empty() && !enter_control_group(spec.control_group))
        give_up(report, "cannot enter the control group", spec.control_group.c_str());
    if (!become_user(spec))
        give_up(report, "cannot become user", spec.user.c_str());
    prctl(PR_SET_PDEATHSIG, SIGTERM);   /* after the change of user, which clears it */
    if (getppid() != parent)
        _exit(127);
    if (chdir(spec.directory.c_str()) != 0)
        give_up(report, "cannot enter the directory", spec.directory.c_str());
    umask(static_cast<mode_t>(spec.umask));
    open_files(report, spec);
    close_at_exec();
    set_limits(spec);
    reset_signals();
    auto arguments = pointers_to(spec.arguments), environment = pointers_to(spec.environment);
    environ = environment.data();       /* execvp reads PATH there */
    execvp(arguments[0], arguments.data());
    give_up(report,
            errno == EAGAIN ? "the user has too many processes on this host (ulimit -u): cannot run"
                            : "cannot run",
            arguments[0]);
}

}  // namespace elastic::rm
