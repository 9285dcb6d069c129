/* Requests of people that wait until something has happened, or for a time.  On the daemon's
 * loop. */

#ifndef ELASTIC_RM_WAITING_REQUESTS_H_INCLUDED
#define ELASTIC_RM_WAITING_REQUESTS_H_INCLUDED

#include <functional>
#include <list>

#include "base/loop.h"

namespace elastic::rm {

class WaitingRequests {
  public:
    /* True when it has answered; `late`: it must. */
    using Waiter = std::function<bool(bool late)>;

    explicit WaitingRequests(Loop &loop) : loop_(loop) {}

    void add(int64_t for_ms, Waiter waiter);
    /* Something has happened. */
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
