/*
 * elasticd: all its components, on one event loop.
 *
 *   requests of people (api.h) ─┐                               ┌─ answers, when they are durable
 *   steps (steps.h) ────────────┼─ events ─ store ─ core ─ actions ┼─ orders to steps
 *   the back end (backend.h) ───┘                               └─ records, for the history
 *
 * A turn of the loop collects events; at its end they become durable (journal.h), then the core
 * handles each of them, and its actions are performed.
 *
 * Restart: the core is recovered (recovery.h), then its pending actions are performed
 * (Core::pending).
 *
 * Owner of the core, the journal, the steps, the back end and the servers.  One thread.
 */

#ifndef ELASTIC_RM_DAEMON_H_INCLUDED
#define ELASTIC_RM_DAEMON_H_INCLUDED

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "backend/backend.h"
#include "backend/gpu_counts.h"
#include "base/loop.h"
#include "base/user_directory.h"
#include "core/core.h"
#include "daemon/history_reader.h"
#include "daemon/journal.h"
#include "daemon/lifetime.h"
#include "daemon/mailer.h"
#include "daemon/node_programs.h"
#include "daemon/group_limits.h"
#include "daemon/partitions.h"
#include "daemon/recovery.h"
#include "daemon/request_queue.h"
#include "daemon/reservations.h"
#include "daemon/sliced_work.h"
#include "daemon/user_slots.h"
#include "daemon/waiting_requests.h"
#include "http/access.h"
#include "http/http.h"
#include "monitor/prometheus_metrics.h"
#include "monitor/report.h"
#include "monitor/timeline.h"
#include "settings/settings.h"
#include "step/confinement.h"
#include "step/launch_quota.h"
#include "step/sampler.h"
#include "step/steps.h"

namespace elastic::rm {

class Daemon {
  public:
    using Done = Journal::Done;
    using Waiter = WaitingRequests::Waiter;

    using MakeInterface = std::function<std::unique_ptr<RequestHandler>(Daemon &)>;
    static Result<std::unique_ptr<Daemon>> start(const Settings &settings,
                                                 const MakeInterface &make_interface);
    ~Daemon();
    /* Until SIGTERM or SIGINT.  Running steps continue. */
    void run();

    /* ---- for the interface */
    void request(EventContent content, std::optional<LaunchRow> launch, Done done);
    void wait(int64_t for_ms, Waiter waiter) { waiting_.add(for_ms, std::move(waiter)); }
    std::string next_request_id();
    const State &state() const { return core_.state(); }
    const Core &core() const { return core_; }
    const Settings &settings() const { return settings_; }
    const Timeline &timeline() const { return timeline_; }
    const EndedJobs &ended_jobs() const { return ended_jobs_; }
    Steps &steps() { return *steps_; }
    Sampler &sampler() { return sampler_; }
    Backend &backend() { return *backend_; }
    bool has_node_programs() const { return node_programs_ && node_programs_->any(); }
    Access &access() { return access_; }
    UserDirectory &users() { return users_; }
    const Partitions &partitions() const { return partitions_; }
    const GroupLimits &group_limits() const { return group_limits_; }
    Reservations &reservations() { return reservations_; }
    /* Whether groups of users are needed. */
    bool needs_groups() const
    {
        return !partitions_.all().empty() || !group_limits_.all().empty() ||
               !reservations_.configured().empty() || !state().config.reservations.empty();
    }
    Metrics &metrics() { return metrics_; }
    /* Rows of the last events may not be written yet. */
    Store &store() { return journal_.store(); }
    Result<std::optional<Json>> ended(JobId job) { return journal_.ended(job); }
    /* Runs the task on the reader's thread; its data include all events so far. */
    void read_history(uint32_t uid, HistoryReader::Task task);
    RequestQueue &requests() { return requests_; }
    SlicedWork &sliced_work() { return sliced_work_; }
    UserSlots &user_slots() { return user_slots_; }
    Loop &loop() { return loop_; }
    /* Without its environment; null: unknown. */
    std::shared_ptr<const Launch> launch(JobId job);
    /* Caches the fields that queries need, to avoid another read. */
    void remember(JobId job, std::shared_ptr<const Launch> launch);
    const LaunchQuota &quota() const { return quota_; }
    int64_t started_ms() const { return started_ms_; }
    /* The time of the core (core/steady_clock.h), and that time as shown to people. */
    int64_t now_ms() { return clock_.now_ms(monotonic_ms(), unix_ms()); }
    int64_t shown_ms(int64_t core_ms) const
    {
        return core_ms == NEVER ? NEVER : core_ms + clock_.offset_ms();
    }
    int64_t core_ms(int64_t shown_ms) const { return shown_ms - clock_.offset_ms(); }
    bool storage_works() const { return journal_.error().empty() && journal_.has_space(); }
    bool has_space() const { return journal_.has_space(); }
    size_t connections() const;

  private:
    Daemon(const Settings &settings, Store store, Recovered recovered);
    std::string start_parts();
    std::string listen();
    std::vector<NodeReservation> made_reservations();
    std::string read_lists();
    std::string open_node_programs();
    std::string open_confinement(const std::string &groups);
    void confine(JobId job);
    void configure();
    void on_signal(int number);
    void read_tokens_again();
    void remove_old();
    void remove_beyond();
    void load_ended_jobs(JobId after);
    void loaded_ended_jobs(std::vector<JobFacts> jobs, std::optional<JobId> last,
                           const std::string &error);
    void cancel_all();
    size_t unfinished_jobs() const { return state().jobs.size() - state().finished.size(); }

    bool report_step(EventContent content);
    bool sampled(JobId job, uint32_t step, const PerformanceAnswer &answer);
    void end_of_turn();
    void turned(double processor_seconds);
    bool handle(const Event &event, Journal::Entry &entry, double until_s);
    void answer(const Answer &answer, Journal::Entry &entry, JobId last_job);

    /* Called before the core handles it. */
    template <class Content> void before(const Content &) {}
    void before(const StepFailed &failed) { suspect_joining(failed.job); }
    void before(const StepWithdrawn &withdrawn) { suspect_joining(withdrawn.job); }
    void before(const StepEnded &ended);
    void before(const StepLost &lost) { suspect_world(lost.job); }
    void suspect_joining(JobId job);
    void suspect_world(JobId job);
    void suspect(const Blocks &blocks);

    /* Called after all actions of the core for it. */
    template <class Content> void after(const Content &) {}
    void after(const StepEnded &ended) { steps_->discard(ended.job, ended.step); }
    void after(const StepLost &lost) { steps_->discard(lost.job, lost.step); }
    void after(const StepStartFailed &failed) { steps_->discard(failed.job, failed.step); }
    void after(const StepCommitted &committed);
    void after(const NodeUp &node)
    {
        update_capacity();
        set_gpus(node.node);
    }
    void after(const NodeDown &) { update_capacity(); }
    void after(const NodesAcquired &event) { nodes_answered(event); }
    void after(const NodesRefused &event) { nodes_answered(event); }
    void nodes_answered(const auto &event)
    {
        if (node_programs_)
            node_programs_->acquired(event.job, event.step, event.request);
    }
    void after(const NodesReleased &event)
    {
        if (node_programs_)
            node_programs_->released(event.job, event.step, event.request, event.all);
    }
    void update_capacity();
    void set_gpus(const std::string &node);
    void number_gpus();
    int first_gpu(const NodeName &node) const
    {
        auto first = first_gpus_.find(node);
        return first == first_gpus_.end() ? 0 : first->second;
    }

    void perform(const Answer &) {}         /* the request no longer waits */
    void perform(const Record &record);
    void mail(const Record &record);
    void perform(const StartStep &start);
    void perform(const ResizeStep &resize) { steps_->resize(resize); }
    void perform(const CancelRequest &cancel) { steps_->cancel(cancel); }
    void perform(const RefuseSizeRequest &refusal) { steps_->refuse(refusal); }
    void perform(const GrantSlots &grant) { steps_->grant(grant); }
    void perform(const SignalStep &signal);
    void perform(const SuspendStep &order)
    {
        steps_->suspend(order.job, order.step, order.suspended);
    }
    void perform(const LimitStep &limit)
    {
        steps_->limit(limit.job, limit.step, limit.time_limit_ms);
    }
    void perform(const QueryStep &query)
    {
        if (!starting_.contains({query.job, query.step}))
            steps_->query(query.job, query.step);
    }
    void perform(const AcquireNodes &acquire)
    {
        node_programs_ ? node_programs_->acquire(acquire) : backend_->acquire(acquire);
    }
    void perform(const ReleaseNodes &release)
    {
        node_programs_ ? node_programs_->release(release) : backend_->release(release);
    }
    void perform(const SetTimer &timer);
    void perform(const RemoveJob &discard) { launches_.erase(discard.job); }
    Result<Steps::Program> make_program(const StartStep &start, const std::optional<LaunchRow> &row,
                                        const std::string &folder, const User &user);
    void start_step(const StartStep &start, const User &user);
    void cannot_start_now(const StartStep &start, const std::string &cause);

    Settings settings_;
    Loop loop_;
    Core core_;
    SteadyClock clock_;
    Access access_;
    Metrics metrics_;
    Timeline timeline_;
    EndedJobs ended_jobs_;
    LaunchQuota quota_;
    /* The event that is handled, if that takes several turns of the loop. */
    struct InHand {
        Actions actions;
        size_t next = 0;        /* the first action that is not performed */
        JobId last_job = 0;     /* before the event */
    };
    std::optional<InHand> in_hand_;
    Journal journal_;
    Lifetime lifetime_;
    WaitingRequests waiting_;
    std::unique_ptr<Backend> backend_;
    GpuCounts gpu_counts_;
    Partitions partitions_;
    GroupLimits group_limits_;
    Reservations reservations_;
    std::map<std::string, int> first_gpus_;     /* of nodes that are parts of this machine */
    std::unique_ptr<NodePrograms> node_programs_;       /* null: the back end provides the nodes */
    std::unique_ptr<Steps> steps_;
    Sampler sampler_;
    std::unique_ptr<Mailer> mailer_;            /* null: no mail is sent */
    std::unique_ptr<Confinement> confinement_;  /* null: steps are not confined */
    std::string control_groups_;                /* parent of the steps' groups; empty: none */
    std::unique_ptr<RequestHandler> interface_;
    std::vector<std::unique_ptr<HttpServer>> servers_;
    UserSlots user_slots_;
    RequestQueue requests_;
    SlicedWork sliced_work_;
    UserDirectory users_;
    HistoryReader reader_;
    std::thread tokens_thread_;         /* reads the tokens; ends by itself */

    std::map<JobId, std::shared_ptr<const Launch>> launches_;
    /* steps that wait for the lookup of their user */
    std::set<std::pair<JobId, uint32_t>> starting_;
    Loop::TimerId core_timer_ = 0;
    uint64_t woken_seq_ = 0;
    int64_t started_ms_ = 0;
    uint64_t next_request_ = 1;
    std::string request_prefix_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_H_INCLUDED */
