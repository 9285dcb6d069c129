/*
 * One job step's adaptations, from the wish to the freed node: events and time in, effects out.
 * Owns the world, the adaptation under way, the offers and the journal; called from one loop.
 * The C interface and its contract are in stepmgr.h.  SPEC six steps, P3, P4, P7, P8, C7, E3, E4.
 *
 *   step.cpp           groups, daemons, processes and time
 *   step_adapt.cpp     what the rows of adaptation_table.h do
 *   step_stragglers.cpp    P8, and who is in the window when the program ends
 *   step_window.cpp    who hangs in the window; what came to nothing because the program was over
 *   step_client.cpp    the step protocol
 *   step_performance.cpp   what the processes do with their time
 *   step_size_request.cpp      what the program wishes for
 *   step_modify.cpp    MPIX_Comm_modify: what it cannot do without
 *   step_relays.cpp  node daemons on hosts without a process of the world
 *   step_tasks.cpp     places, and processes that the program starts one by one
 *   step_psets.cpp      process sets: who asks, and who is told
 *   pset_change.cpp     changes through process sets: what the rows of pset_change_table.cpp do
 *   pset_request.cpp    and those that the program asks for
 *   pset_hints.cpp      and which sizes it would like
 *   step_states.cpp    who is where, for people
 *   step_sizes.cpp     which sizes the program can use; messages that it did not receive
 *
 * Invariants: at most one adaptation at a time (there is no queue: a request that arrives meanwhile
 * is refused); every accepted request gets exactly one of the events committed, withdrawn, failed;
 * at most one wish for another size is open, and each wish has exactly one end;
 * epochs of committed adaptations are 1, 2, 3, ...; nothing is sent to an agent that has departed.
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

#include "stepmgr/adapt/adaptation.h"
#include "stepmgr/common/journal.h"
#include "stepmgr/adapt/offers.h"
#include "stepmgr/monitor/performance_sample.h"
#include "stepmgr/adapt/plan.h"
#include "stepmgr/proto/protocol.h"
#include "stepmgr/common/program_sizes.h"
#include "stepmgr/tasks/slots.h"
#include "stepmgr/psets/pset_invalidation.h"
#include "stepmgr/psets/pset_sync.h"
#include "stepmgr/psets/psets.h"
#include "stepmgr/monitor/state_log.h"
#include "stepmgr/adapt/size_request.h"
#include "stepmgr/common/world.h"

namespace elastic {

class Step {
  public:
    static Result<std::unique_ptr<Step>> create(const step_config &config,
                                                const step_effects &effects);

    void id(const std::string &step_id);
    void group(int64_t now_ms, int group, std::span<const step_process> processes);
    void report(int64_t now_ms, const Agent &agent, step_report report, uint32_t epoch,
                Bytes payload);
    void daemon_up(int64_t now_ms, int group);
    void proxy_departed(int64_t now_ms, const Agent &agent);
    void time(int64_t now_ms);
    void told_to_end(int64_t now_ms, int signum);
    void strangers(int64_t now_ms, unsigned count);
    void client_line(int64_t now_ms, int client, std::string_view line);
    void client_departed(int client);

    /* A set of the launch.  False: its name is in use, or there is no room. */
    bool add_set(const std::string &name, const SetMembers &members);

    bool has_sets() const { return sets_.serial() > 0; }

    int local_pre(const std::string &host) const { return world_.members_on(host); }
    bool owns_failure(int group) const;
    int world_rank(int group, int rank) const;
    std::string summary() const;

  private:
    /* A process has ended while an adaptation is agreed on: how often to look whether the program
     * is over, and how long an answer may take. */
    static constexpr int64_t ENDING_ASK_MS = 100;
    static constexpr int64_t ENDING_WAIT_MS = 5000;
    static constexpr int64_t BEHIND_WAIT_MAX_MS = 600 * 1000;
    static constexpr int64_t LEFT_MS = 500;     /* for more processes that end by themselves */
    static constexpr int64_t SAMPLE_WAIT_MS = 2000;     /* for a daemon's answer */
    static constexpr size_t SAMPLE_WAITING_MAX = 64;
    static constexpr int64_t SAMPLE_APART_MS = 1000;    /* between those that a recent rate is made of */
    static constexpr size_t BEHIND_TEXT_RANKS_MAX = 8;
    static constexpr size_t BEHIND_EVENT_RANKS_MAX = 64;
    static constexpr size_t WINDOW_NAMES_MAX = 4;
    static constexpr size_t WINDOW_RANKS_TEXT_MAX = 100;
    static constexpr size_t SUMMARY_SIZES_MAX = 16;
    static constexpr size_t UNRECEIVED_TEXT_MAX = 4;
    static constexpr size_t PSETS_MAX = 1000;   /* of an answer */
    static constexpr size_t PSET_RUNS_MAX = 64; /* of a set in it */
    static constexpr size_t UNRECEIVED_EVENTS_MAX = 64;

    /* Processes that left and have not ended yet, by epoch (C7). */
    struct Departure {
        uint64_t request = 0;
        int remaining = 0;
        std::vector<uint32_t> uids;
        std::map<std::string, int> hosts;
    };
    struct Statistics {
        uint64_t committed = 0, withdrawn = 0, failed = 0, unexpected = 0;
        int64_t launch_ms = 0, agree_ms = 0, window_ms = 0;     /* sums over committed ones */
        std::vector<int> sizes; /* the first few */
    };
    struct LastEnd {
        uint64_t request = 0;
        AdaptState state = AdaptState::ACCEPTED;
        std::string reason;
    };

    /* What the processes do with their time, while daemons are to answer. */
    struct Sample {
        uint32_t number = 0, epoch = 0;
        int64_t until_ms = 0;
        std::set<Agent> owed;
        std::vector<ProcessSample> processes;
        uint32_t stale = 0;
        LoopSet loops;
        std::vector<Waiter> waiting;
    };

    Step(const step_config &config, const step_effects &effects, Offers offers);

    /* step.cpp */
    void launch_placed(std::span<const step_process> processes);
    void joiners_placed(int group, std::span<const step_process> processes);
    void on_init(Process &process, const InitReport &report);
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
    void joiner_over(const Process &process, bool by_itself, const std::string &cause);
    void member_over(const Process &process, bool by_itself, const std::string &cause);
    void leaver_over(const Process &process);
    void job_over();
    void tell_never_offered();
    void become_rigid(const Process &process);
    void become_adaptive();
    void refuse_windows(const Process &process);
    void settle();
    void update_wake();
    void unexpected(const std::string &what);
    std::string describe(const Process &process) const;
    bool is_joiner(const Process &process) const;
    bool is_leaving(const Process &process) const;

    /* step_adapt.cpp */
    Adaptation &accept(Source source, const std::string &origin, const ChangeRequest &asked,
                       const Change &change);
    void offer(const Offer &offer);
    void begin();
    void launch();
    void raise(AdaptEvent event, const std::string &why = "");
    void perform(AdaptAction action);
    void send_plan();
    void send_plan_to_world();
    void send_freeze();
    void freeze_in(int64_t ms);
    void send_target();
    void release();
    void thaw();
    void remove_joiners();
    void abort_step();
    void finish();
    void depart(const std::vector<Process *> &left);
    void send(const std::set<Agent> &agents, step_command command, std::string_view payload);
    void post(const std::set<Agent> &agents, step_command command, uint32_t epoch, std::string_view payload);
    void log(const char *event, Json fields);

    /* step_stragglers.cpp */
    void plan_behind();
    void behind();
    void joiners_behind();
    void ask_counts(const std::set<Agent> &agents);
    void on_counts(const Agent &agent, uint32_t epoch, const std::vector<CountReport> &reports);
    void counts_complete();
    void start_ending();
    void look_at_ending();
    void ending_time();
    void members_behind();
    void daemons_behind();
    std::string hosts_of(const std::set<Agent> &agents) const;
    void tell_behind(const std::string &what, const std::vector<RankCount> &late);
    void log_behind(const std::vector<RankCount> &late);
    void tell_waiting(const std::string &what);
    void set_change_behind();
    int64_t waited_ms() const;

    /* step_window.cpp */
    const char *kind_of(const Process &process) const;
    std::string name_processes(const std::vector<RankCount> &processes) const;
    void window_behind(std::vector<RankCount> inside);
    std::string ignored() const;
    void tell_unfinished();

    /* step_sizes.cpp */
    void on_sizes(const SizesReport &report);
    Result<Change> resolve(const ChangeRequest &request) const;
    void tell_policy_stops();
    void on_unreceived(const Process &process, uint32_t epoch, const UnreceivedReport &report);
    void tell_unreceived();

    /* step_size_request.cpp */
    void tell_wish_end(const std::vector<WishHolder> &holders, WishEnd end, const std::string &reason,
                       pmi_adapt_wish_cause cause = PMI_ADAPT_WISH_NO_CAUSE);
    Json describe_wish() const;
    void end_wish(WishEnd end, const std::string &reason);
    void on_wish(const Process &process, const WishReport &report);
    bool is_about_to_be_granted() const;
    bool join_wish(std::optional<Wish> &open, const Wish &wish);
    void replace_wish(const Wish &wish);
    void tell_wish();
    void drop_holder(Wish &wish, uint32_t uid, const std::string &reason);
    void on_wish_withdrawn(const Process &process, uint32_t number);
    void withdraw_wish(const std::string &why);
    void wish_without(const Process &process, const std::string &why);
    void take_next_wish();
    bool is_for_wish() const;
    void consider_wish();
    void grant_wish(int size);
    void wish_after(const Adaptation &adaptation);
    std::optional<int64_t> wish_void_ms() const;
    void wish_time();
    std::string answer_refuse(const Json &id, const RefuseRequest &refuse);

    /* step_modify.cpp */
    bool is_modify() const { return wish_ && wish_->kind == WishKind::MODIFY; }
    void on_modifies(Process &process, const InitReport &report);
    void on_modify(const Process &process, const WishReport &report);
    void begin_modify(const Wish &wish);
    void consider_modify();
    bool all_take_part() const;
    std::optional<ProtocolError> check_modify(const Json &id, int size) const;

    /* step_psets.cpp */
    void add_world(uint32_t epoch, const std::vector<uint32_t> &uids);
    void add_coming_world();
    void use_sets();
    void on_set_call(Process &process, SetReport &report);
    bool on_set_shared(const Agent &agent, const SharedReport &report);
    void answer_as_of_starts(Process &process, const SetReport &report);
    void carry_out_set_call(Process &process, const SetReport &report);
    void go_on(const SetSync::Calls &calls, void (Step::*with)(Process &, const SetReport &));
    void sync_sets();
    void on_synced(const Agent &agent, uint64_t number);
    void count_starts();
    void has_begun(uint32_t uid);
    void ask_for_starts();
    bool on_started(const Agent &agent, const StartedReport &report);
    bool on_comes(const Agent &agent, const ComesReport &report);
    void comes_without(const Agent &agent);
    void on_bcast(const Agent &agent, const bcast_frozen &count);
    void log_sets();
    void log_untold_sets();
    void sets_without(const Process &process);
    std::string answer_psets(const Json &id, const PsetsRequest &request) const;
    void tell_sets(const std::vector<Sets::Reply> &replies);
    void outdate_sets();
    void on_forgotten(const Agent &agent, uint64_t number);
    void send_set_answers();

    /* step_tasks.cpp */
    struct TaskListener {
        std::optional<SetCaller> caller;        /* whose question is not answered yet */
        std::deque<Places::Event> events;       /* that it has not been told */
    };
    struct TaskWorld {
        uint32_t uid = 0;       /* of who has started it */
        std::vector<uint32_t> numbers;  /* of its requests, by rank, until it is placed */
    };
    void size_up_places();
    std::string why_no_room(int new_size) const;
    std::string why_refused(int new_size) const;

    /* step_relays.cpp */
    struct Outpost {
        int group = 0;
        bool is_up = false;
        int64_t idle_since_ms = -1;     /* nobody needs it */
    };
    void add_outposts(std::vector<Places::Host> &hosts) const;
    void tend_outposts();
    bool is_needed(const std::string &host, const Outpost &post, const Places::HostCounts &used) const;
    bool has_member_on(const std::string &host) const;
    void open_outpost(const std::string &host);
    void outpost_lost(const Agent &agent);
    bool is_outpost(int group) const;
    bool is_apart(int group) const;
    void send_order(const Places::Order &order);
    int64_t outposts_next_ms() const;

    /* step_tasks.cpp */
    void on_task_call(const SetCaller &caller, const TaskCall &call);
    std::string answer_task(const SetCaller &caller, const AllocatePlaces &call);
    std::string answer_task(const SetCaller &caller, const StartTask &call);
    std::string answer_task(const SetCaller &caller, const CancelPlace &call);
    std::string answer_task(const SetCaller &caller, const ReleasePlace &call);
    std::string answer_task(const SetCaller &caller, const SignalTask &call);
    std::string answer_task(const SetCaller &caller, const AwaitTaskEvents &call);
    std::string answer_task(const SetCaller &caller, const StartWorld &call);
    void task_world_placed(int group, std::span<const step_process> processes);
    bool on_task(const Agent &agent, const TaskReport &report);
    void tasks_without(uint32_t uid);
    void tasks_without(const Agent &agent);
    void consider_places();
    void carry_out_tasks();
    void log_places(const Places::Notice &notice);
    std::string answer_grant(const Json &id, const GrantRequest &grant);
    std::string answer_slots(const Json &id, const SlotsRequest &slots);
    std::string answer_tasks(const Json &id) const;
    static std::string write_task_events(std::deque<Places::Event> &events);

    /* step_states.cpp */
    void open_state_log(const step_config &config);
    PlaceState state_of(const Process &process, bool accepted) const;
    void write_states(int64_t time_us, const char *event, const Json &fields);

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
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const AskLeaves &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const AddHints &call);
    std::optional<std::string> answer_change(Process &process, const SetCaller &caller, const AskComes &call);
    std::string cannot_be_dynamic() const;
    void become_dynamic();
    void say_by_sets();
    bool adapts() const { return mode_ == InitMode::ADAPTIVE || mode_ == InitMode::SETS; }
    void begin_set_change();
    void announce_removal();
    std::optional<SetMembers> choose_leaving(const SetMembers &bound) const;
    std::optional<SetMembers> all_processes() const;
    std::optional<SetMembers> choose_delta(const SetMembers &bound) const;
    void tell_offer();
    bool tell_change(const Process &process, const SetMembers &delta);
    std::string answer_told(const SetCaller &caller);
    ToldChange take_told();
    std::optional<ToldChange> take_told_of(uint32_t uid, uint32_t tag);
    void tell_stays(const SetCaller &caller);
    void taken();
    SetMembers who_can_be_introduced() const;
    SetMembers introduce_joiners(std::vector<Sets::Reply> &replies);
    void start_joiners();
    void let_go();
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
    bool is_for_set_request() const { return set_request_ && wish_ && set_request_->wish == wish_->number; }
    void end_set_request(const Sets::OpenOp &op, const std::string &why_not = "");
    void give_up_set_request(const std::string &why);
    std::string why_not_removed(const RequestOp &call);
    std::string why_out_of_range(const std::vector<int> &sizes);
    void drop_set_request(const SetRequest &request, const char *why);
    void consider_set_request();
    void begin_set_request();
    void start_set_request();
    void wish_for_set_request();
    void take_for_set_request();
    std::vector<std::string> replaced(uint32_t uid, const SetRequest &request, const std::string &removed);
    const Process *find_member(uint32_t uid) const;

    /* pset_hints.cpp */
    void wish_for_hints(const Range &sizes, int preferred, const std::string &reason);
    void set_request_without(const Process &process);

    /* step_performance.cpp */
    const char *cannot_sample() const;
    std::string answer_performance(int client, const Json &id, const PerformanceRequest &request);
    void ask_samples();
    void on_performance(const Agent &agent, uint32_t number, SampleReport &report);
    void on_loops(uint32_t number, LoopsReport &report);
    const Process *sampled(uint32_t group, uint32_t rank);
    void sample_complete();
    Json describe_sample(Sample &sample);

    /* step_client.cpp */
    std::string answer(int client, const ClientRequest &request);
    std::string answer_status(const Json &id) const;
    std::string answer_resize(int client, const Json &id, const ResizeRequest &resize);
    std::string answer_cancel(const Json &id, const CancelRequest &cancel);
    std::string answer_events(int client, const Json &id, const EventsRequest &events);
    std::optional<ProtocolError> check_resize(const Json &id, const ResizeRequest &resize) const;
    std::string status_name() const;
    Json hosts_status() const;

    uint64_t unix_now_ms() const { return static_cast<uint64_t>(unix_ms_at_zero_ + now_ms_); }

    std::string step_id_, program_, user_;
    uint64_t margin_ = 1;
    int64_t prepare_ms_ = 0, behind_ms_ = 0, unix_ms_at_zero_ = 0;
    int programs_ = 0;          /* launched together; 0: not known */
    bool managed_ = false;
    int range_min_ = 0, range_max_ = 0; /* 0: not given */
    step_effects effects_;
    Offers offers_;
    Journal journal_;

    int64_t now_ms_ = 0, wake_ms_ = -1;
    World world_;
    InitMode mode_ = InitMode::UNKNOWN;
    size_t launch_unreported_ = 0;      /* processes of the launch that have not said adapt_init */
    bool ending_ = false;       /* a member has ended: nothing is offered any more */
    bool over_ = false;         /* all members have ended */
    bool broken_ = false;       /* the job ends, but not by itself */
    std::string rigid_because_; /* told at the end: until then the job may become one that changes through sets */
    std::string told_to_end_;   /* by which signal, for a reason */
    uint32_t next_uid_ = 0;
    uint32_t epoch_ = 0;        /* last committed */
    int64_t epoch_began_ms_ = 0;        /* when that was, or all processes had initialised */
    uint32_t planned_epoch_ = 0;        /* whose plan the world got last */
    uint64_t next_request_ = 1;
    std::optional<Adaptation> adaptation_;
    std::optional<Sample> sample_;
    uint32_t samples_ = 0;      /* how many have been begun */
    std::optional<uint32_t> interval_ms_;       /* how often processes write their loops, if somebody has said it */
    std::optional<ProbeCount> probes_;  /* of an earlier sample */
    std::optional<ProgramSizes> sizes_;     /* nothing said: any */
    std::optional<Wish> wish_;  /* the one that is open */
    std::optional<Wish> next_wish_;     /* once that is granted, which it is about to be */
    uint64_t wishes_ = 0;       /* how many there were, for places included */
    WishRate wish_rate_;
    Sets sets_;
    bool sets_used_ = false;
    WishRate set_event_rate_;
    uint64_t set_events_untold_ = 0;
    WishRate unexpected_rate_;
    SetForgets set_forgets_;
    SetSync set_sync_;          /* of sets that processes make by themselves */
    SetSync set_starts_;        /* of who has begun to use MPI */
    std::optional<std::set<uint32_t>> unbegun_; /* uids of the launch that are not known to have begun; nothing: nobody
                                                 * has needed to know */
    bool stay_told_ = false;    /* to somebody that no change removes it */
    uint32_t offer_ = 0;        /* what boards say of it */
    std::map<uint32_t, Agent> set_callers_;     /* by uid, of those that have called and not ended */
    struct AskedComes {
        SetCaller caller;
        Agent agent;            /* that is asked */
    };
    std::map<uint64_t, AskedComes> asked_comes_;        /* by number */
    uint64_t last_asked_comes_ = 0;
    Places places_;
    std::map<std::string, Outpost> outposts_;   /* by host */
    std::set<std::string> unreachable_; /* hosts on which there could be none */
    std::vector<std::string> launch_hosts_;
    std::map<uint32_t, TaskListener> task_listeners_;   /* by uid */
    std::map<int, TaskWorld> task_worlds_;      /* by group, also those that have ended */
    std::optional<SetRequest> set_request_;     /* that waits for its answer */
    std::optional<StateLog> state_log_;
    int64_t left_at_ms_ = -1;   /* when who has ended is to be out of the world; -1: nobody has */
    std::optional<ToldChange> told_;    /* the last one that was told, until it is accepted or declined */
    bool range_missed_ = false; /* the user knows that --adapt-range is missing */
    std::map<uint32_t, ToldChange> late_;       /* by uid: what was over before its answer, if another was told since */
    uint32_t last_tag_ = 0;     /* of a change through process sets */
    LastEnd last_end_;
    std::set<int> killed_groups_;
    std::map<Agent, int> freezes_unanswered_;   /* a daemon answers each, withdrawn or not */
    std::map<uint32_t, Departure> departures_;
    Statistics statistics_;
    uint64_t looks_ = 0;        /* that processes have asked for: a daemon does so for all of its own */
    unsigned strangers_ = 0;
};

}  // namespace elastic

#endif /* ELASTIC_STEP_H_INCLUDED */
