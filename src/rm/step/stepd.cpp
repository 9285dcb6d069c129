/* See stepd.h. */

#include "step/stepd.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/lacks_resource.h"
#include "base/log.h"
#include "base/systemd_notify.h"
#include "step/as_user.h"
#include "step/child_processes.h"
#include "step/control_group.h"
#include "step/program_child.h"

namespace elastic::rm {

namespace {

/* time for remaining processes of the program to end by themselves; then for SIGTERM */
constexpr int64_t REST_GRACE_MS = 3000;
constexpr int64_t KILL_AGAIN_MS = 200;
constexpr int64_t LIMIT_SLACK_MS = 3000;        /* elasticd acts first, if it runs */
constexpr int64_t TIME_LIMIT_MAX_MS = int64_t{1} << 45;
constexpr int64_t REGISTER_PAUSE_MS = 50;       /* between two mpiexecs of a script */

}  // namespace

Stepd::Stepd(std::string folder, bool is_service)
    : folder_(std::move(folder)), is_service_(is_service)
{
}

std::string Stepd::read_spec()
{
    auto text = read_file(folder_, STEP_SPEC_FILE);
    if (!text || !text.value())
        return text ? folder_ + " holds no " + STEP_SPEC_FILE : text.error();
    Json json = Json::parse(*text.value(), nullptr, false);
    auto spec = parse<StepSpec>(json);
    if (json.is_discarded() || !spec)
        return folder_ + "/" + STEP_SPEC_FILE + ": " + (spec ? "not JSON" : spec.error());
    spec_ = spec.value();
    return "";
}

/* Inside the service's own group, if elasticd has selected none: for the program, without
 * elastic-stepd. */
std::string Stepd::find_control_group()
{
    if (!is_service_ || !spec_.control_group.empty())
        return "";
    auto groups = steps_control_group("auto");
    if (!groups)
        return groups.error();
    if (groups.value().empty())
        return "";
    spec_.control_group = step_group(groups.value(), spec_.job, spec_.step);
    return make_control_group(spec_.control_group);
}

std::string Stepd::make_register_socket()
{
    register_ = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    socklen_t length = sizeof address;
    int on = 1;
    /* Bound without a name: the kernel selects an abstract one. */
    if (!register_.is_open() ||
        bind(register_.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(sa_family_t)) !=
            0 ||
        setsockopt(register_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
        getsockname(register_.get(), reinterpret_cast<sockaddr *>(&address), &length) != 0)
        return std::string("cannot make the socket for step sockets: ") + strerror(errno);
    for (size_t i = 1; i < length - offsetof(sockaddr_un, sun_path); i++) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(address.sun_path[i]));
        register_name_ += digits;
    }
    loop_.watch(register_.get(), EPOLLIN, [this](uint32_t) { registered(); });
    return "";
}

/* Empty, or why the child could not be started.  launched() receives its result. */
std::string Stepd::launch()
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return std::string("cannot make a pipe: ") + strerror(errno);
    Descriptor reading(ends[0]), writing(ends[1]);
    spec_.environment.push_back(std::string(STEP_REGISTER_VARIABLE) + "=" + register_name_);
    pid_t parent = getpid();
    program_ = fork();
    if (program_ < 0)
        return std::string("cannot fork: ") + strerror(errno);
    if (program_ == 0)
        become_program(writing.get(), spec_, parent);
    /* here, too: a signal may arrive before the child has done it */
    setpgid(program_, program_);
    launch_report_ = std::move(reading);
    loop_.watch(launch_report_.get(), EPOLLIN, [this](uint32_t) { launched(); });
    return "";
}

/* The child has become the program, or has reported why it failed. */
void Stepd::launched()
{
    char text[CHILD_REPORT_MAX];
    ssize_t bytes = launch_report_.is_open() ? ::read(launch_report_.get(), text, sizeof text) : -1;
    if (bytes < 0)
        return;
    loop_.discard(launch_report_.get());
    launch_report_.reset();
    if (bytes > 0) {
        launch_error_ = std::string(text, static_cast<size_t>(bytes));
        return;                 /* its end is near */
    }
    started_ = true;
    send_all();
}

std::string Stepd::start()
{
    std::string error = read_spec();
    if (error.empty())
        error = find_control_group();
    if (error.empty())
        error = make_register_socket();
    if (error.empty())
        error = launch();
    if (!error.empty())
        return error;
    launched_ms_ = monotonic_ms();
    arm_limit();
    StepStartedFile started{getpid(), program_, process_start(program_), boot_id()};
    /* If this cannot be written the step still runs: only a failure of elastic-stepd would be
     * undetected. */
    error = write_file(folder_, STEP_STARTED_FILE, write(started).dump());
    if (!error.empty())
        log_line(LogLevel::WARNING, error);
    notify_systemd("READY=1\nSTATUS=job " + std::to_string(spec_.job) + ", step " +
                   std::to_string(spec_.step) + ", user " + spec_.user);
    return "";
}

/* ---- without elasticd ------------------------------------------------------------------------ */

void Stepd::arm_limit()
{
    loop_.cancel(std::exchange(limit_timer_, 0));
    loop_.cancel(std::exchange(warn_timer_, 0));
    if (spec_.time_limit_ms <= 0 || suspended_)
        return;
    limit_timer_ =
        loop_.after(std::max<int64_t>(left_ms() + LIMIT_SLACK_MS, 0), [this] { limit_reached(); });
    if (spec_.warn_signal > 0 && !warned_)
        warn_timer_ = loop_.after(std::max<int64_t>(left_ms() - spec_.warn_before_ms, 0), [this] {
            limit_is_near();
        });
}

/* Until the time limit. */
int64_t Stepd::left_ms() const
{
    int64_t now_ms = suspended_ ? suspended_at_ms_ : monotonic_ms();
    return launched_ms_ + spec_.time_limit_ms - now_ms;
}

void Stepd::change_limit(int64_t limit_ms)
{
    spec_.time_limit_ms = std::clamp<int64_t>(limit_ms, 0, TIME_LIMIT_MAX_MS);
    /* If the remaining time exceeds the lead of the signal, it is sent again. */
    warned_ = warned_ && left_ms() <= spec_.warn_before_ms;
    arm_limit();
}

/* The program decides its reaction and its exit code. */
void Stepd::limit_is_near()
{
    constexpr int64_t START_LOOK_MS = 50;
    warn_timer_ = 0;
    if (!started_ && !ended_) { /* a program that does not run yet cannot receive it */
        warn_timer_ = loop_.after(START_LOOK_MS, [this] { limit_is_near(); });
        return;
    }
    warned_ = true;
    log_line(LogLevel::INFO, "the time limit is near", {{"signal", spec_.warn_signal}});
    if (program_ > 0 && !ended_)
        kill(spec_.is_script ? -program_ : program_, spec_.warn_signal);
}

void Stepd::limit_reached()
{
    limit_timer_ = 0;
    if (ended_)
        return;
    reason_ = "the time limit of " + std::to_string(spec_.time_limit_ms / 1000) + " s is reached";
    log_line(LogLevel::WARNING, reason_);
    signal_step(SIGTERM);
    kill_after(spec_.kill_grace_ms);
}

void Stepd::kill_after(int64_t ms)
{
    if (kill_timer_)
        return;                 /* the first one counts */
    kill_timer_ = loop_.after(ms, [this] {
        log_line(LogLevel::WARNING, "the step has not ended in time and is killed");
        signal_step(SIGKILL);
    });
}

int Stepd::run()
{
    setsid();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    listen_ = Descriptor(STEPD_LISTEN_FD);
    fcntl(STEPD_LISTEN_FD, F_SETFD, FD_CLOEXEC);
    fcntl(STEPD_LISTEN_FD, F_SETFL, O_NONBLOCK);
    loop_.watch_signals({SIGCHLD, SIGTERM, SIGINT}, [this](int number) {
        if (number == SIGCHLD)
            reap();
        else
            node_leaves();
    });
    watch_listen();
    errno = 0;
    std::string error = start();
    if (!error.empty()) {
        bool own_fault = lacks_resource(errno);
        program_ = 0;
        StepExitFile exit{false, 127, error, false, !own_fault};
        exit.own_fault = own_fault;
        finish(exit);
    }
    if (!written_)
        loop_.run([] {});
    return written_ ? 0 : 1;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* An mpiexec of the step reports its socket. */
void Stepd::registered()
{
    char path[256];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    iovec part = {path, sizeof path};
    loop_.change(register_.get(), 0);
    loop_.after(REGISTER_PAUSE_MS, [this] { loop_.change(register_.get(), EPOLLIN); });
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t bytes = recvmsg(register_.get(), &message, MSG_DONTWAIT);
    const cmsghdr *header = bytes > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (!header || header->cmsg_type != SCM_CREDENTIALS || bytes > 107)
        return;
    ucred sender = {};
    memcpy(&sender, CMSG_DATA(header), sizeof sender);
    if (sender.uid != spec_.uid)
        return;
    step_socket_ = std::string(path, static_cast<size_t>(bytes));
    signal_launchers(0);        /* removes those that have ended */
    if (uint64_t start = process_start(sender.pid))
        launchers_[sender.pid] = start;
    epoch_offset_ = -1;
    send_all();
    if (suspended_)
        stop_processes();
}

/* For a script, to its whole group, because a shell acts on a signal only after its command has
 * ended.  For mpiexec, to it alone; it forwards the signal. */
void Stepd::signal_step(int number)
{
    signalled_ = signalled_ || (program_ > 0 && !ended_);
    if (number == SIGKILL) {
        killing_ = true;
        if (program_ > 0 && !ended_)
            kill(-program_, SIGKILL);
        remove_rest(SIGKILL);
        return;
    }
    if (program_ > 0 && !ended_ && !(suspended_ && number == SIGCONT))
        kill(spec_.is_script ? -program_ : program_, number);
}

/* Only the system ends elastic-stepd by a signal: at a reboot, or when its service is stopped.
 * The job is not the cause, however its program handles it. */
void Stepd::node_leaves()
{
    log_line(LogLevel::WARNING, "the node is shut down: the step is ended");
    node_leaves_ = node_leaves_ || !ended_;
    signal_step(SIGTERM);
    set_suspended(false);
    kill_after(spec_.kill_grace_ms);
}

namespace {

/* All processes of the step on this host were children of this process or of its children. */
StepExitFile with_use(StepExitFile exit)
{
    rusage use = {};
    if (getrusage(RUSAGE_CHILDREN, &use) != 0)
        return exit;
    auto ms = [](const timeval &time) { return int64_t{time.tv_sec} * 1000 + time.tv_usec / 1000; };
    exit.cpu_ms = ms(use.ru_utime) + ms(use.ru_stime);
    exit.rss_bytes = int64_t{use.ru_maxrss} * 1024;
    return exit;
}

}  // namespace

void Stepd::reap()
{
    int status = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == program_)
            program_ended(status);
    if (!ended_ || finishing_ || pid >= 0 || errno != ECHILD || has_rest())
        return;
    if (!std::exchange(socket_removed_, true) && remove_socket_as_user(step_socket_, spec_))
        return;                 /* the end of that child calls this function again */
    finishing_ = true;
    if (!spec_.control_group.empty())
        remove_control_group(spec_.control_group);
    bool of_its_own = reason_.empty() || exit_code_ != 0;
    if (launch_error_.empty())
        finish(with_use({true, of_its_own ? exit_code_ : 128 + SIGTERM, reason_, signalled_, false,
                         node_leaves_}));
    else
        finish({false, 127, launch_error_});
}

void Stepd::program_ended(int status)
{
    launched();                 /* its last report */
    ended_ = true;
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (killing_) {
        remove_rest(SIGKILL);
        return;
    }
    loop_.after(REST_GRACE_MS, [this] {
        remove_rest(SIGTERM);
        loop_.after(REST_GRACE_MS, [this] { remove_rest(SIGKILL); });
    });
}

/* In its control group, which also contains processes without a parent. */
bool Stepd::has_rest() const
{
    return !spec_.control_group.empty() && is_populated(spec_.control_group);
}

/* All remaining processes of the step become children of this process, sooner or later. */
void Stepd::remove_rest(int number)
{
    for (pid_t pid : children_of(getpid()))
        if (pid != program_ || ended_ || number == SIGKILL)
            kill(pid, number);
    if (number != SIGKILL)
        return;
    if (has_rest())
        kill_control_group(spec_.control_group);
    loop_.after(KILL_AGAIN_MS, [this] {
        remove_rest(SIGKILL);
        reap();
    });
}

/* The end must not be lost because of a full disk: tries until it can be written. */
void Stepd::finish(const StepExitFile &exit)
{
    std::string error = write_file(folder_, STEP_EXIT_FILE, write(exit).dump());
    if (error.empty()) {
        written_ = true;
        loop_.stop();
        return;
    }
    log_line(LogLevel::ERROR, error);
    loop_.after(1000, [this, exit] { finish(exit); });
}

}  // namespace elastic::rm
