/*
 * The manager of one job step: events and time in, effects out.  stepmgr.h has the C interface and its contract; one
 * loop calls it.  SPEC six steps, P3, P4, P7, P8, C7, E3, E4.
 *
 * Step passes events to components, which share the state of the step (state/step_state.h) and do not know each other:
 *   requests/size_requests.h        sizes that the program, a schedule or policy request (resize_requests.h: clients)
 *   psets/process_sets.h            calls on process sets
 *   monitor/performance_sampler.h   time of the processes in computation and in MPI
 *   monitor/straggler_reporter.h    processes and proxies that an adaptation waits for (P8)
 *   monitor/unreceived_messages.h   messages that were not received in an adaptation window
 *   monitor/state_output.h          --sets-log
 *   tasks/task_manager.h            slots, and processes that the program starts one by one
 *
 * Methods of Step itself, by file:
 *   step.cpp                groups, proxies, processes and time
 *   step_adapt.cpp          actions of the rows of adaptation_table.h
 *   pset_change.cpp         changes through process sets: actions of the rows of pset_change_table.cpp
 *   pset_request.cpp        changes that the program requests
 *   step_client.cpp         the step protocol
 *
 * Invariants: at most one adaptation is under way (there is no queue: a request that arrives meanwhile is refused);
 * each accepted request gets exactly one of the events committed, withdrawn, failed; at most one size request is open,
 * and each has exactly one end; epochs of committed adaptations are 1, 2, 3, ...; nothing is sent to a disconnected
 * proxy.
 */

#ifndef ELASTIC_STEP_H_INCLUDED
#define ELASTIC_STEP_H_INCLUDED

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "stepmgr/adapt/plan.h"
#include "stepmgr/monitor/performance_sampler.h"
#include "stepmgr/monitor/state_output.h"
#include "stepmgr/monitor/straggler_reporter.h"
#include "stepmgr/monitor/unreceived_messages.h"
#include "stepmgr/proto/protocol.h"
#include "stepmgr/psets/process_sets.h"
#include "stepmgr/requests/resize_requests.h"
#include "stepmgr/requests/size_requests.h"
#include "stepmgr/state/adaptation_control.h"
#include "stepmgr/state/step_state.h"
#include "stepmgr/tasks/task_manager.h"

namespace elastic {

class Step final : private AdaptationControl {
  public:
    static Result<std::unique_ptr<Step>> create(const step_config &config,
                                                const step_effects &effects);

    void id(const std::string &step_id);
    void group(int64_t now_ms, int group, std::span<const step_process> processes);
    void report(int64_t now_ms, const Agent &agent, step_report report, uint32_t epoch,
                Bytes payload);
    void proxy_up(int64_t now_ms, int group);
    void proxy_disconnected(int64_t now_ms, const Agent &agent);
    void time(int64_t now_ms);
    void terminate(int64_t now_ms, int signum);
    void unauthenticated(int64_t now_ms, unsigned count);
    void client_line(int64_t now_ms, int client, std::string_view line);
    void client_disconnected(int client);

    /* A set of the launch.  False: its name is in use, or there is no capacity. */
    bool add_set(const std::string &name, const SetMembers &members) { return sets_.add(name, members); }

    bool has_sets() const { return sets_.serial() > 0; }

    int local_pre(const std::string &host) const { return state_.world.members_on(host); }
    bool owns_failure(int group) const;
    int world_rank(int group, int rank) const;
    std::string summary() const { return state_.statistics.summary(state_.world.size()); }

  private:
    static constexpr int64_t LEFT_MS = 500;     /* for more processes that end by themselves */

    /* Processes that left and have not ended yet, by epoch (C7). */
    struct Departure {
        uint64_t request = 0;
        int remaining = 0;
        std::vector<uint32_t> uids;
        std::map<std::string, int> hosts;
    };

    Step(const step_config &config, const step_effects &effects, SizeSource offers);

    /* step.cpp */
    void launch_started(std::span<const step_process> processes);
    void joining_started(int group, std::span<const step_process> processes);
    void on_init(Process &process, const InitReport &report);
    void on_modifies(Process &process, const InitReport &report);
    void on_first_init(Process &process, const InitReport &report);
    void on_ready(Process &process, uint32_t epoch, const ReadyReport &report);
    void on_unable(const Process &process, uint32_t epoch, const std::string &why);
    bool is_freezing(uint32_t epoch) const;
    void on_prepared(const Agent &agent, uint32_t epoch);
    void on_greeted(const Agent &agent, uint32_t epoch);
    void prepared_further(const Agent &agent);
    bool may_come_late(const Agent &agent, uint32_t epoch) const;
    void on_frozen(const Agent &agent, uint32_t epoch, uint64_t ceiling);
    void on_committed(const Agent &agent, uint32_t epoch);
    void on_exited(Process &process, uint32_t wait_status);
    void process_over(Process &process, bool by_itself, const std::string &cause);
    void joining_process_over(const Process &process, bool by_itself, const std::string &cause);
    void member_over(const Process &process, bool by_itself, const std::string &cause);
    void left_process_over(const Process &process);
    void job_over();
    void become_rigid(const Process &process);
    void become_adaptive();
    void refuse_windows(const Process &process);
    void after_event();
    void update_wake();

    /* step_adapt.cpp */
    Adaptation &accept(Source source, const std::string &origin, const ChangeRequest &requested,
                       const Change &change) override;
    void begin() override;
    void launch();
    void raise(AdaptEvent event, const std::string &why = "") override;
    void perform(AdaptAction action);
    void send_plan();
    void send_plan_to_world();
    void send_freeze();
    void freeze_in(int64_t ms);
    void send_target();
    void release();
    void thaw();
    void remove_joining();
    void abort_step();
    void finish();
    void depart(const std::vector<Process *> &left);
    void send(const std::set<Agent> &agents, step_command command, std::string_view payload);

    /* pset_change.cpp */
    void on_change_call(Process &process, const SetCaller &caller, const ChangeCall &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const BecomeDynamic &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const EnterJob &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const AwaitAccept &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const HasEntered &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const GetChange &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const AcceptChange &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const DeclineChange &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const RequestOp &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const QueryOp &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const CloseOp &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const QueryLeaving &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const AddHints &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const QueryArrival &call);
    std::string cannot_be_dynamic() const;
    void become_dynamic();
    void post_by_sets();
    void begin_set_change();
    void announce_removal();
    std::optional<SetMembers> choose_leaving(const SetMembers &bound) const;
    std::optional<SetMembers> all_processes() const;
    std::optional<SetMembers> choose_delta(const SetMembers &bound) const;
    void post_offer();
    bool notify_change(const Process &process, const SetMembers &delta);
    std::string answer_notified(const SetCaller &caller);
    NotifiedChange take_notified();
    std::optional<NotifiedChange> take_notified_of(uint32_t uid, uint32_t tag);
    void notify_stays(const SetCaller &caller);
    void taken();
    SetMembers who_can_be_introduced() const;
    SetMembers introduce_joining(std::vector<Sets::Reply> &replies);
    void release_joining();
    void may_exit();
    void on_broke(const Process &process);
    void is_there(uint32_t uid);
    void offer_removal();
    void complete_set_change();
    void end_set_change();
    void keep_addition();
    void drop_ended();
    void set_process_over(const Process &process, bool by_itself, const std::string &cause);
    void set_member_over(const Process &process, bool by_itself, const std::string &cause);
    void leaving_over(const Process &process, const std::string &cause);
    void consider_orphan();

    /* pset_request.cpp */
    std::string open_op(const Process &asker, const std::string &bound);
    bool is_on_offer() const;
    std::string take_offer(const Process &process, const std::string &bound);
    std::string result_of(uint32_t uid, pmi_set_op op, const std::string &bound, const std::string &delta);
    void end_pset_request(const Sets::OpenOp &op, const std::string &why_not = "");
    void give_up_pset_request(const std::string &why);
    std::string why_not_removed(const RequestOp &call);
    std::string why_out_of_range(const std::vector<int> &sizes);
    void size_request_ended(SizeRequestEnd end, const std::string &reason);
    void drop_pset_request(const PsetRequest &request, const char *why);
    void consider_pset_request();
    void begin_pset_request();
    void start_pset_request();
    void request_size_for_pset();
    void take_for_pset_request();
    std::vector<std::string> replaced(uint32_t uid, const PsetRequest &request, const std::string &removed);

    void pset_request_without(const Process &process);

    /* step_client.cpp */
    std::string answer(int client, const ClientRequest &request);
    std::string answer_status(const Json &id) const;
    std::string answer_events(int client, const Json &id, const EventsRequest &events);
    std::string status_name() const;
    Json hosts_status() const;

    StepState state_;
    std::string program_, user_;
    uint64_t margin_ = 1;
    int64_t prepare_ms_ = 0;

    int64_t wake_ms_ = -1;
    size_t launch_unreported_ = 0;      /* processes of the launch that have not said adapt_init */
    std::string rigid_because_; /* reported at the end: until then the job may become one that changes through sets */
    std::string termination_;   /* by which signal, for a reason */
    uint32_t planned_epoch_ = 0;        /* whose plan the world got last */
    uint64_t next_request_ = 1;
    ProcessSets psets_;
    Sets &sets_;                /* its table */
    bool stay_notified_ = false;        /* to somebody that no change removes it */
    uint32_t offer_ = 0;        /* what boards say of it */
    std::optional<PsetRequest> pset_request_;   /* that waits for its answer */
    SizeRequests requests_;
    ResizeRequests resizes_;
    UnreceivedMessages unreceived_;
    StateOutput state_output_;
    PerformanceSampler sampler_;
    StragglerReporter stragglers_;
    TaskManager tasks_;
    int64_t left_at_ms_ = -1;   /* when who has ended is to be out of the world; -1: nobody has */
    bool range_missed_ = false; /* the user knows that --adapt-range is missing */
    /* By uid: over before its answer, if another change was announced since. */
    std::map<uint32_t, NotifiedChange> late_;
    uint32_t last_tag_ = 0;     /* of a change through process sets */
    std::map<Agent, int> freezes_unanswered_;   /* a proxy answers each, withdrawn or not */
    std::map<uint32_t, Departure> departures_;
    unsigned unauthenticated_ = 0;
};

}  // namespace elastic

#endif /* ELASTIC_STEP_H_INCLUDED */
