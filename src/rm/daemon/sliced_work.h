/*
 * Long work that is divided among many turns of the loop, so that other work is served in between:
 * one step in each turn, and more while the turn has time.  Runs on the daemon's loop.
 */

#ifndef ELASTIC_RM_DAEMON_SLICED_WORK_H_INCLUDED
#define ELASTIC_RM_DAEMON_SLICED_WORK_H_INCLUDED

#include <deque>
#include <functional>

#include "base/loop.h"

namespace elastic::rm {

class SlicedWork {
  public:
    /* Does a small part, of less than a millisecond.  True: there is more to do. */
    using Step = std::function<bool()>;

    explicit SlicedWork(Loop &loop) : loop_(loop) {}

    void add(Step step)
    {
        steps_.push_back(std::move(step));
        go_on_soon();
    }

  private:
    void go_on_soon()
    {
        if (!timer_)
            timer_ = loop_.after(0, [this] {
                timer_ = 0;
                go_on();
            });
    }
    void go_on()
    {
        for (bool has_time = true; has_time && !steps_.empty(); has_time = loop_.has_time()) {
            Step step = std::move(steps_.front());
            steps_.pop_front();
            if (step())
                steps_.push_back(std::move(step));
        }
        if (!steps_.empty())
            go_on_soon();
    }

    Loop &loop_;
    std::deque<Step> steps_;            /* they take turns */
    Loop::TimerId timer_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_SLICED_WORK_H_INCLUDED */
