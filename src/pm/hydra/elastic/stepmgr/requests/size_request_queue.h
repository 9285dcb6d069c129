/*
 * Size requests of the program that have no end yet: the open one, and one that waits.  Pure.
 * Decides by origin and time which request is next; SizeRequests (size_requests.h) carries out the
 * decision.
 *
 * A request of the program, of its hints or of an operation on process sets becomes the open one.
 * It replaces an open request of the same or a lower priority.  If the processes have agreed on a
 * size that the open request allows, the commit will grant that, so the new request waits.
 * Requests of a client, schedule or policy do not wait here: they refer to the present world, and
 * become adaptations at once or are refused.
 *
 * Invariants: at most one request is open and one waits; only MPIX_Comm_modify replaces
 * MPIX_Comm_modify.
 */

#ifndef ELASTIC_SIZE_REQUEST_QUEUE_H_INCLUDED
#define ELASTIC_SIZE_REQUEST_QUEUE_H_INCLUDED

#include <cstdint>
#include <optional>

#include "stepmgr/common/size_request.h"

namespace elastic {

class SizeRequestQueue {
  public:
    enum class Turn {
        OPENS,                  /* the open one ends, and this one opens */
        JOINS,                  /* find_same() is the same request of another process */
        WAITS,
        REFUSED
    };
    /* The turn of a new request.  `granted`: the processes have agreed on a size that the open
     * request allows. */
    Turn turn_of(const SizeRequest &request, bool granted) const;

    SizeRequest *open() { return open_ ? &*open_ : nullptr; }
    const SizeRequest *open() const { return open_ ? &*open_ : nullptr; }
    const SizeRequest *waiting() const { return waiting_ ? &*waiting_ : nullptr; }
    SizeRequest *waiting() { return waiting_ ? &*waiting_ : nullptr; }
    /* The open request, if it has this number.  Number 0 finds none. */
    SizeRequest *find(uint64_t number) { return has(number) ? &*open_ : nullptr; }
    const SizeRequest *find(uint64_t number) const { return has(number) ? &*open_ : nullptr; }
    /* The request that this one joins, with its holder and its time; nullptr: there is none. */
    SizeRequest *find_same(const SizeRequest &request);
    static void join(SizeRequest &same, const SizeRequest &request);

    /* No request is open. open: opens this one. open_waiting: opens the waiting one, if there is
     * one. */
    void open(SizeRequest request, uint64_t number);
    bool open_waiting(uint64_t number);
    /* Makes the request wait.  Of two requests one no longer waits and is returned: the older one,
     * unless its priority is higher. */
    std::optional<SizeRequest> wait(SizeRequest request);
    /* The open request has ended. */
    SizeRequest take_open();
    /* The waiting request has ended. */
    void remove_waiting() { waiting_.reset(); }

  private:
    bool has(uint64_t number) const { return open_ && number != 0 && open_->number == number; }

    std::optional<SizeRequest> open_, waiting_;
};

}  // namespace elastic

#endif /* ELASTIC_SIZE_REQUEST_QUEUE_H_INCLUDED */
