/*
 * The one event loop of the daemon: descriptors (epoll), timers, signals and children.
 *
 * A *turn* is: wait, call back for ready descriptors and due timers, then call end_of_turn.  There
 * the daemon makes all input of the turn durable with one commit.
 *
 * Owner of the epoll descriptor alone; watched descriptors belong to the callers, which call
 * discard() before they close them.  A callback may watch, change and discard any descriptor,
 * including its own: no callback is called after its discard().  One thread.
 */

#ifndef ELASTIC_RM_LOOP_H_INCLUDED
#define ELASTIC_RM_LOOP_H_INCLUDED

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>

#include "base/descriptor.h"

namespace elastic::rm {

int64_t monotonic_ms();         /* includes sleep; cannot be set */
int64_t unix_ms();              /* the wall clock: only for display */

class Loop {
  public:
    using Ready = std::function<void(uint32_t epoll_events)>;
    using Task = std::function<void()>;
    using TimerId = uint64_t;

    Loop();

    void watch(int fd, uint32_t events, Ready ready);
    void change(int fd, uint32_t events);
    void discard(int fd);

    /* Calls `task` once, `delay_ms` from now; 0: in the next turn. */
    TimerId after(int64_t delay_ms, Task task);
    void cancel(TimerId id);

    /* For another thread: post() makes the loop call back, in its own thread, at least once. */
    class Posting {
      public:
        void post() const;

      private:
        friend class Loop;
        std::shared_ptr<Descriptor> event_;
    };
    Posting make_posting(Task posted);

    /* The signals are blocked for the process and reported here instead. */
    void watch_signals(std::initializer_list<int> signals, std::function<void(int)> handler);
    /* Calls back once when this child of the process has ended, with its status from waitpid(2).
     * Call it in the turn that made the child.  Its number is not reused during the call:
     * signals may be sent to its group. */
    using ChildEnded = std::function<void(int status)>;
    void watch_child(pid_t pid, ChildEnded ended);
    /* For the handler of SIGCHLD: collects every child that has ended, watched or not. */
    void reap_children();
    /* Runs another turn without waiting. */
    void turn_again() { turn_again_ = true; }
    /* Whether this turn has used little processor time yet.  If not, work that can wait should
     * wait for a later turn: meanwhile no descriptor is served. */
    bool has_time() const;

    /* Until stop().  `turned`, if set, is called after each turn with its processor time, in
     * seconds. */
    void run(const Task &end_of_turn, const std::function<void(double)> &turned = nullptr);
    void stop() { stopped_ = true; }

  private:
    struct Watch {
        Ready ready;
        uint64_t generation;    /* distinguishes a new watch of a reused descriptor */
    };
    struct Timer {
        int64_t at_ms;
        Task task;
    };

    int wait_ms() const;
    void deliver(int timeout_ms);
    void run_timers();

    Descriptor epoll_, signals_;
    std::map<int, std::shared_ptr<Watch>> watches_;
    std::map<pid_t, ChildEnded> children_;
    std::map<TimerId, Timer> timers_;
    std::multimap<int64_t, TimerId> due_;
    uint64_t next_generation_ = 1;
    TimerId next_timer_ = 1;
    bool stopped_ = false, turn_again_ = false;
    double turn_begin_s_ = 0;           /* of the processor's time */
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_LOOP_H_INCLUDED */
