/*
 * Long work that is divided among many turns of the loop, so that other work is served in between.
 * All work of this kind shares a limit of processor time in each turn.  Runs on the daemon's loop.
 */

#ifndef ELASTIC_RM_DAEMON_SLICED_WORK_H_INCLUDED
#define ELASTIC_RM_DAEMON_SLICED_WORK_H_INCLUDED

#include <deque>
#include <functional>

#include "base/loop.h"
#include "base/processor_time.h"

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
    static constexpr double SLICE_S = 0.004;

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
        double until_s = processor_seconds() + SLICE_S;
        while (!steps_.empty() && processor_seconds() < until_s) {
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
