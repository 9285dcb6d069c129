/*
 * Requests of clients.  One is served at once while the loop's turn has time; else it waits for a
 * later turn, so that many requests at a time do not hold up the loop.  Users take turns.  Runs on
 * the daemon's loop.
 *
 * The caller bounds the number of waiting requests: each has a connection.
 */

#ifndef ELASTIC_RM_DAEMON_REQUEST_QUEUE_H_INCLUDED
#define ELASTIC_RM_DAEMON_REQUEST_QUEUE_H_INCLUDED

#include <functional>
#include <string>

#include "base/loop.h"
#include "daemon/fair_queue.h"

namespace elastic::rm {

class RequestQueue {
  public:
    using Serve = std::function<void()>;

    explicit RequestQueue(Loop &loop) : loop_(loop) {}

    void add(const std::string &user, Serve serve)
    {
        if (waiting_.empty() && loop_.has_time())
            return serve();
        waiting_.push(user, std::move(serve));
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
        for (bool has_time = true; has_time && !waiting_.empty(); has_time = loop_.has_time())
            waiting_.pop()();
        if (!waiting_.empty())
            go_on_soon();
    }

    Loop &loop_;
    FairQueue<std::string, Serve> waiting_;
    Loop::TimerId timer_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_REQUEST_QUEUE_H_INCLUDED */
