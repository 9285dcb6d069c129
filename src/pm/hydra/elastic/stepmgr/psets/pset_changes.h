/*
 * A change through process sets, from the query of the first process to its end.  One process is
 * notified, and accepts or declines for all; no other process waits.  A request that adds and
 * removes processes is two changes.  This class has the actions of the rows of
 * pset_change_table.cpp.  SR1, SR3-SR9, SR11, SJ1, SF1-SF3.
 *
 *   pset_changes.cpp      from the request to the decision of the notified process
 *   pset_change_end.cpp   from the decision to the end; ends of processes
 *   pset_mode.h           whether the job changes so; pset_departures.h: processes that end outside
 *                         of a change
 *
 * PsetOperations, which requests changes for the program, passes calls to this class.
 */

#ifndef ELASTIC_PSET_CHANGES_H_INCLUDED
#define ELASTIC_PSET_CHANGES_H_INCLUDED

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepmgr/psets/process_sets.h"
#include "stepmgr/psets/pset_departures.h"
#include "stepmgr/psets/pset_mode.h"
#include "stepmgr/state/adaptation_control.h"
#include "stepmgr/state/size_request_control.h"

namespace elastic {

class PsetChanges {
  public:
    struct Hooks {
        std::function<void()> schedule_straggler_report;
        std::function<void()> job_over; /* all processes have ended */
    };

    PsetChanges(StepState &state, ProcessSets &psets, PsetMode &mode, PsetDepartures &departures,
                AdaptationControl &control, SizeRequestControl &requests, Hooks hooks)
        : state_(state), psets_(psets), sets_(psets.table()), mode_(mode), departures_(departures),
          control_(control), requests_(requests), hooks_(std::move(hooks))
    {
    }

    /* Returns the reply to a call; nothing: the reply comes later. */
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const BecomeDynamic &call);
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const EnterJob &call);
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const AwaitAccept &call);
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const HasEntered &call);
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const GetChange &call);
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const AcceptChange &call);
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const DeclineChange &call);
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const QueryLeaving &call);
    std::optional<std::string> answer(Process &process, const SetCaller &caller,
                                      const AddHints &call);

    /* Whether a change waits for a process that queries. */
    bool is_on_offer() const;
    /* Notifies this process of the change, and accepts it for the process and the set `bound`.
     * Returns the name of the delta; "": the change does not concern this set. */
    std::string accept_for(const Process &process, const std::string &bound);

    /* The adaptation under way is a change through process sets. */
    void begin();
    void perform(AdaptAction action);
    void end();

    /* on_aborted: an error ends the process. process_over: it has ended. */
    void on_aborted(const Process &process);
    void process_over(const Process &process, bool by_itself, const std::string &cause);

    /* After every event. */
    void consider_orphan();
    void post_offer();

  private:
    static constexpr size_t LOOKUPS_MAX = 8;    /* sets in the reply to a joining process */

    void launch_joining();
    void announce_removal();
    SetMembers introducible() const;
    std::optional<SetMembers> choose_leaving(const SetMembers &bound) const;
    std::optional<SetMembers> all_processes() const;
    std::optional<SetMembers> choose_delta(const SetMembers &bound) const;
    bool notify_change(const Process &process, const SetMembers &delta);
    std::string answer_notified(const SetCaller &caller);
    NotifiedChange take_notified();
    std::optional<NotifiedChange> take_notified_of(uint32_t uid, uint32_t tag);
    void notify_stays(const SetCaller &caller);
    void change_accepted();

    void start_joining();
    SetMembers introduce_joining(std::vector<Sets::Reply> &replies);
    void send_may_exit();
    void participant_done(uint32_t uid);
    void offer_removal();
    void complete();
    void keep_addition();
    void member_over(const Process &process, bool by_itself, const std::string &cause);
    void leaving_over(const Process &process, const std::string &cause);

    StepState &state_;
    ProcessSets &psets_;
    Sets &sets_;
    PsetMode &mode_;
    PsetDepartures &departures_;
    AdaptationControl &control_;
    SizeRequestControl &requests_;
    Hooks hooks_;
    /* a process was notified that no change removes it */
    bool stay_notified_ = false;
    uint32_t offer_ = 0;        /* tag of the offer on the boards; 0: none */
    /* By uid: changes that ended before the notified process decided, if a later change was
     * announced. */
    std::map<uint32_t, NotifiedChange> late_;
    uint32_t last_tag_ = 0;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_CHANGES_H_INCLUDED */
