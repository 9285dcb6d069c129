/*
 * The core of elasticd: jobs, nodes, allocations and decisions.  Events and time in, actions out;
 * no I/O, no clock, no thread, no randomness.  The daemon, the simulator and the tests drive the
 * same core.
 *
 * How to drive it: number each event, store it, pass it to handle(), and perform the returned
 * actions, in that order.  The first event is Configure, then NodeUp for each node.  After a
 * restart: restore() the last snapshot, handle() the stored events that are newer, and drop their
 * actions except Record and Answer (rows that may not be stored yet), then perform pending().
 *
 *   job.h node.h config.h state.h   its data
 *   event.h action.h record.h       its input and output
 *   job_table.h                     the states of a job
 *   policy.h placement.h reserved_cores.h  starts, growths and shrinks, and their nodes
 *   core_impl.h                     the core's own parts
 *   invariants.h                    conditions that always hold
 *
 * Invariants (invariants.h checks them): no core is booked twice; no process is allocated on a
 * node that is not up; sizes obey the job's bounds; each accepted request has exactly one end;
 * epochs are 1, 2, 3, ... per step; changes of a job never nest.
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

    /* Returns the actions for one event.  seq must be state().seq + 1; an event with a lower
     * number has been handled already and returns nothing.  Never throws; invalid content is
     * answered, recorded or counted. */
    Actions handle(const Event &event);

    /* All actions whose answers the core awaits, to be performed (again) after a restart, the
     * timer included. */
    Actions pending() const;

    const State &state() const;
    /* Empty, or the reason for which such a job would be refused. */
    std::string refusal(const JobSpec &spec, AnswerCode &code) const;

    /* After this call there are no Records: for simulations without a history.  All else is the
     * same. */
    void keep_no_history();

    /* Replaces the configured policy, for simulations of policies that elasticd does not have.
     * The policy must outlive the core.  Snapshots do not contain it. */
    void decide_by(const Policy &policy);

    /* The whole state with a version.  restore() refuses a newer or damaged one and returns the
     * reason. */
    Json snapshot() const;
    static Result<Core> restore(const Json &snapshot, const std::vector<Json> &parts = {});
    /* The same in parts, as of the time of this call, whatever is handled before the last part
     * is read: a snapshot without nodes and jobs, then `objects_max` of them at a time; null: no
     * more parts.  Only one snapshot is in progress: begin_snapshot() drops the former one. */
    Json begin_snapshot();
    Json next_part(size_t objects_max);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_CORE_H_INCLUDED */
