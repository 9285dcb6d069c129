/* See loop.h. */

#include "base/loop.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>

#include "base/processor_time.h"

namespace elastic::rm {

namespace {

constexpr int EVENTS_MAX = 128;         /* of one turn */
constexpr double TURN_S = 0.003;        /* for work that can wait */

int64_t clock_ms(clockid_t clock)
{
    timespec t = {};
    clock_gettime(clock, &t);
    return int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1000000;
}

[[noreturn]] void fail(const char *what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

/* Descriptor and generation in the 64 bits that epoll stores. */
uint64_t pack(int fd, uint64_t generation)
{
    return generation << 32 | static_cast<uint32_t>(fd);
}

}  // namespace

int64_t monotonic_ms()
{
    return clock_ms(CLOCK_BOOTTIME);
}

int64_t unix_ms()
{
    return clock_ms(CLOCK_REALTIME);
}

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC))
{
    if (!epoll_.is_open())
        fail("epoll_create1");
}

void Loop::watch(int fd, uint32_t events, Ready ready)
{
    uint64_t generation = next_generation_++ & UINT32_MAX;
    epoll_event event = {events, {.u64 = pack(fd, generation)}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        fail("epoll_ctl");
    watches_[fd] = std::make_shared<Watch>(Watch{std::move(ready), generation});
}

void Loop::change(int fd, uint32_t events)
{
    auto found = watches_.find(fd);
    if (found == watches_.end())
        return;
    epoll_event event = {events, {.u64 = pack(fd, found->second->generation)}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0)
        fail("epoll_ctl");
}

void Loop::discard(int fd)
{
    if (watches_.erase(fd) > 0)
        epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Loop::TimerId Loop::after(int64_t delay_ms, Task task)
{
    int64_t at_ms = monotonic_ms() + std::max<int64_t>(delay_ms, 0);
    TimerId id = next_timer_++;
    timers_.emplace(id, Timer{at_ms, std::move(task)});
    due_.emplace(at_ms, id);
    return id;
}

void Loop::cancel(TimerId id)
{
    auto found = timers_.find(id);
    if (found == timers_.end())
        return;
    auto [first, last] = due_.equal_range(found->second.at_ms);
    due_.erase(std::find_if(first, last, [&](const auto &entry) { return entry.second == id; }));
    timers_.erase(found);
}

void Loop::Posting::post() const
{
    uint64_t one = 1;
    [[maybe_unused]] ssize_t bytes = write(event_->get(), &one, sizeof one);
}

/* Its descriptor exists as long as the loop. */
Loop::Posting Loop::make_posting(Task posted)
{
    Posting posting;
    posting.event_ = std::make_shared<Descriptor>(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!posting.event_->is_open())
        fail("eventfd");
    watch(posting.event_->get(), EPOLLIN,
          [event = posting.event_, posted = std::move(posted)](uint32_t) {
              uint64_t count = 0;
              while (read(event->get(), &count, sizeof count) > 0)
                  ;
              posted();
          });
    return posting;
}

void Loop::watch_signals(std::initializer_list<int> signals, std::function<void(int)> handler)
{
    sigset_t set;
    sigemptyset(&set);
    for (int number : signals)
        sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    signals_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_.is_open())
        fail("signalfd");
    watch(signals_.get(), EPOLLIN, [this, handler = std::move(handler)](uint32_t) {
        signalfd_siginfo info = {};
        while (read(signals_.get(), &info, sizeof info) == sizeof info)
            handler(static_cast<int>(info.ssi_signo));
    });
}

/* ---- children -------------------------------------------------------------------------------- */

void Loop::watch_child(pid_t pid, ChildEnded ended)
{
    children_[pid] = std::move(ended);
}

/* The end of a child is read, reported, and only then reaped. */
void Loop::reap_children()
{
    for (;;) {
        siginfo_t info = {};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
            return;
        pid_t pid = info.si_pid;
        auto found = children_.find(pid);
        if (found != children_.end()) {
            ChildEnded ended = std::move(found->second);
            children_.erase(found);
            ended(info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0)
                                             : W_EXITCODE(0, info.si_status));
        }
        waitpid(pid, nullptr, WNOHANG);
    }
}

int Loop::wait_ms() const
{
    if (turn_again_)
        return 0;
    if (due_.empty())
        return -1;
    return static_cast<int>(std::clamp<int64_t>(due_.begin()->first - monotonic_ms(), 0, INT_MAX));
}

void Loop::deliver(int timeout_ms)
{
    epoll_event events[EVENTS_MAX];
    int count = epoll_wait(epoll_.get(), events, EVENTS_MAX, timeout_ms);
    if (count < 0 && errno != EINTR)
        fail("epoll_wait");
    for (int i = 0; i < count; i++) {
        auto found = watches_.find(static_cast<int>(events[i].data.u64 & UINT32_MAX));
        if (found == watches_.end() || found->second->generation != events[i].data.u64 >> 32)
            continue;
        std::shared_ptr<Watch> same = found->second;    /* it may discard itself */
        same->ready(events[i].events);
    }
}

/* Only tasks that are due now: a task that requests the next turn runs after the others. */
void Loop::run_timers()
{
    int64_t now_ms = monotonic_ms();
    std::vector<TimerId> ready;
    for (auto entry = due_.begin(); entry != due_.end() && entry->first <= now_ms; ++entry)
        ready.push_back(entry->second);
    for (TimerId id : ready) {
        auto found = timers_.find(id);
        if (found == timers_.end())
            continue;
        Task task = std::move(found->second.task);
        cancel(id);
        task();
    }
}

bool Loop::has_time() const
{
    return processor_seconds() - turn_begin_s_ < TURN_S;
}

void Loop::run(const Task &end_of_turn, const std::function<void(double)> &turned)
{
    stopped_ = false;
    while (!stopped_) {
        turn_begin_s_ = processor_seconds();
        int timeout_ms = wait_ms();
        turn_again_ = false;
        deliver(timeout_ms);
        run_timers();
        end_of_turn();
        if (turned)
            turned(processor_seconds() - turn_begin_s_);
    }
}

}  // namespace elastic::rm
