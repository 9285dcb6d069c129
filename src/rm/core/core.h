/*
 * The core of elasticd: jobs, nodes, allocations and decisions.  Events and time in, actions out;
 * no I/O, no clock, no thread, no randomness.  The daemon, the simulator and the tests drive the
 * same core.
 *
 * How to drive it: number each event, store it, hand it to handle(), carry out what comes back,
 * in that order.  The first event is Configure, then NodeUp for each node.  After a restart:
 * restore() the last snapshot, handle() the stored events that are newer than it, throwing their
 * actions away except Record and Answer (rows that may not be stored yet), then carry out
 * pending().
 *
 *   job.h node.h config.h state.h   what it knows
 *   event.h action.h record.h       what it is told, what it says
 *   job_table.h                     the states of a job
 *   policy.h placement.h promise.h  who starts, grows, shrinks, and where
 *   core_impl.h                     the core's own parts
 *   invariants.h                    what is always true
 *
 * Invariants (invariants.h checks them): no core is booked twice; nothing is placed on a node
 * that is not up; sizes keep the job's bounds; each accepted request has exactly one end; epochs
 * are 1, 2, 3, ... per step; a job's changes never nest.
 */

#ifndef ELASTIC_RM_CORE_CORE_H_INCLUDED
#define ELASTIC_RM_CORE_CORE_H_INCLUDED

#include <memory>

#include "core/action.h"
#include "core/event.h"
#include "core/state.h"

namespace elastic::rm {

class Policy;

class Core {
  public:
    Core();
    ~Core();
    Core(Core &&) noexcept;
    Core &operator=(Core &&) noexcept;

    /* What is to be done about one event.  seq must be state().seq + 1; an event that is not
     * newer than the last one has been handled already and gives nothing.  Never throws; bad
     * content is answered, recorded or counted. */
    Actions handle(const Event &event);

    /* Everything that the core waits for, to be carried out (again) after a restart, the timer
     * included. */
    Actions pending() const;

    const State &state() const;
    /* Empty, or why such a job would not be accepted. */
    std::string refusal(const JobSpec &spec, AnswerCode &code) const;

    /* From now on no Record comes: for simulations whose history nobody reads.  All else is the
     * same. */
    void keep_no_history();

    /* From now on this policy decides in place of the configuration's: for simulations of what
     * elasticd does not have.  It must outlive the core; snapshots do not know it. */
    void decide_by(const Policy &policy);

    /* The whole state with a version; restore refuses one that is newer or broken, and says why. */
    Json snapshot() const;
    static Result<Core> restore(const Json &snapshot, const std::vector<Json> &parts = {});
    /* The same in parts, as of now, whatever is handled before the last one is taken: a snapshot
     * without nodes and jobs, then `objects_max` of them at a time; null: that was all.  One at a
     * time: the former one is dropped. */
    Json begin_snapshot();
    Json next_part(size_t objects_max);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_CORE_H_INCLUDED */
