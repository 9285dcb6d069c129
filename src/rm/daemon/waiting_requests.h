/* Requests of people that wait for an event, or for a time.  Runs on the daemon's loop. */

#ifndef ELASTIC_RM_WAITING_REQUESTS_H_INCLUDED
#define ELASTIC_RM_WAITING_REQUESTS_H_INCLUDED

#include <functional>
#include <list>

#include "base/loop.h"

namespace elastic::rm {

class WaitingRequests {
  public:
    /* Returns true when it has answered; with `late` it must answer. */
    using Waiter = std::function<bool(bool late)>;

    explicit WaitingRequests(Loop &loop) : loop_(loop) {}

    void add(int64_t for_ms, Waiter waiter);
    /* Called after each event. */
    void wake();
    bool empty() const { return waiting_.empty(); }

  private:
    struct Waiting {
        Waiter waiter;
        Loop::TimerId timer;
    };

    Loop &loop_;
    std::list<Waiting> waiting_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_WAITING_REQUESTS_H_INCLUDED */
