/*
 * Size requests of the program that have no end yet: the open one, and one that waits.  Pure; it
 * decides whose turn it is, by origin and time.  SizeRequests (size_requests.h) carries out the
 * consequences.
 *
 * A request of the program, of its hints or of an operation on process sets opens.  It replaces an
 * open one of the same or a lower priority.  When the processes have agreed on a size that the open
 * one allows, the commit will grant it, so the new request waits.  A client, schedule or policy
 * does not wait here: its request refers to the present world, and becomes an adaptation at once or
 * is refused.
 *
 * Invariants: at most one is open and one waits; none replaces MPIX_Comm_modify but another one.
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
        JOINS,                  /* find_same() is the same request of somebody else */
        WAITS,
        REFUSED
    };
    /* The turn of a new request.  `granted`: the processes have agreed on what the open one
     * allows. */
    Turn turn_of(const SizeRequest &request, bool granted) const;

    SizeRequest *open() { return open_ ? &*open_ : nullptr; }
    const SizeRequest *open() const { return open_ ? &*open_ : nullptr; }
    const SizeRequest *waiting() const { return waiting_ ? &*waiting_ : nullptr; }
    SizeRequest *waiting() { return waiting_ ? &*waiting_ : nullptr; }
    /* The open one, if it has this number; 0: none has. */
    SizeRequest *find(uint64_t number) { return has(number) ? &*open_ : nullptr; }
    const SizeRequest *find(uint64_t number) const { return has(number) ? &*open_ : nullptr; }
    /* The one that this request joins, also for its holder and its time; nullptr: it is another
     * one. */
    SizeRequest *find_same(const SizeRequest &request);
    static void join(SizeRequest &same, const SizeRequest &request);

    /* None is open: this one is from now on; the one that waits is, if there is one. */
    void open(SizeRequest request, uint64_t number);
    bool open_waiting(uint64_t number);
    /* Waits from now on.  Returns the one that does not wait any more: the older one, unless its
     * priority is higher. */
    std::optional<SizeRequest> wait(SizeRequest request);
    /* The open one has ended; the waiting one has. */
    SizeRequest take_open();
    void remove_waiting() { waiting_.reset(); }

  private:
    bool has(uint64_t number) const { return open_ && number != 0 && open_->number == number; }

    std::optional<SizeRequest> open_, waiting_;
};

}  // namespace elastic

#endif /* ELASTIC_SIZE_REQUEST_QUEUE_H_INCLUDED */
