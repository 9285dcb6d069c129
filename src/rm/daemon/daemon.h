/*
 * elasticd: everything together, on one event loop.
 *
 *   requests of people (api.h) ─┐                               ┌─ answers, when they are durable
 *   steps (steps.h) ────────────┼─ events ─ store ─ core ─ actions ┼─ orders to steps
 *   the back end (backend.h) ───┘                               └─ records, for the history
 *
 * A turn of the loop collects events.  At its end they are numbered and written with one commit; then each
 * goes through the core and its actions are carried out.  If they cannot be written, people are told so and
 * nothing has happened; what came from steps and the back end is kept and tried again.
 *
 * Restart: the last snapshot, the events after it through the core (their derived rows are written again, their
 * actions are not carried out), then all that the core still waits for (Core::pending).
 *
 * Owner of the core, the store, the steps, the back end and the servers.  One thread.
 */

#ifndef ELASTIC_RM_DAEMON_H_INCLUDED
#define ELASTIC_RM_DAEMON_H_INCLUDED

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "api/access.h"
#include "api/http.h"
#include "api/metrics.h"
#include "api/timeline.h"
#include "backend/backend.h"
#include "backend/nested/allocation_watch.h"
#include "base/loop.h"
#include "core/core.h"
#include "daemon/config.h"
#include "step/launch_quota.h"
#include "step/confinement.h"
#include "step/steps.h"
#include "store/store.h"

namespace elastic::rm {

class Api;

class Daemon {
  public:
    /* Null answer: it could not be stored.  `is_new`: a Submit has made a job. */
    using Done = std::function<void(const Answer *answer, bool is_new)>;
    /* A request that waits: true when it has answered; `late`: it must. */
    using Waiter = std::function<bool(bool late)>;

    static Result<std::unique_ptr<Daemon>> start(const Settings &settings);
    ~Daemon();
    /* Until SIGTERM or SIGINT.  Running steps go on. */
    void run();

    /* ---- for the interface */
    void request(EventContent content, std::optional<LaunchRow> launch, Done done);
    void wait(int64_t for_ms, Waiter waiter);
    std::string next_request_id();
    const State &state() const { return core_.state(); }
    const Settings &settings() const { return settings_; }
    const Timeline &timeline() const { return timeline_; }
    Steps &steps() { return *steps_; }
    Backend &backend() { return *backend_; }
    Access &access() { return access_; }
    Metrics &metrics() { return metrics_; }
    /* With all that has happened in it. */
    Store &store();
    /* Without its environment; null: unknown. */
    std::shared_ptr<const Launch> launch(JobId job);
    const LaunchQuota &quota() const { return quota_; }
    int64_t started_ms() const { return started_ms_; }
    /* The time of the core (core/steady_clock.h), and that time as people see it. */
    int64_t now_ms() { return clock_.now_ms(monotonic_ms(), unix_ms()); }
    int64_t shown_ms(int64_t core_ms) const { return core_ms == NEVER ? NEVER : core_ms + clock_.offset_ms(); }
    int64_t core_ms(int64_t shown_ms) const { return shown_ms - clock_.offset_ms(); }
    bool storage_works() const { return storage_error_.empty(); }
    size_t connections() const;

  private:
    struct Pending {
        EventContent content;
        std::optional<LaunchRow> launch;
        Done done;              /* of people */
    };
    struct WaitingRequest {
        Waiter waiter;
        Loop::TimerId timer;
    };

    Daemon(const Settings &settings, Store store);
    std::string recover();
    std::string read_timeline(uint64_t last);
    std::string read_quota();
    std::string recover_from(const std::optional<Store::Snapshot> &snapshot, uint64_t last_record);
    std::string replay(const Event &event);
    std::string start_parts();
    std::string listen();
    std::string open_confinement(const std::string &groups);
    void confine(JobId job);
    void configure();
    void tell(EventContent content);
    bool tell_of_step(EventContent content);
    void step_event_handled(const EventContent &content);
    void look_for_cause(const EventContent &content);
    void end_of_turn();
    bool commit();
    void storage_failed(const std::string &error);
    void handle(const Event &event, Pending &pending);
    void derive(const Action &action);
    void bind_launch(const Event &event, const Answer &answer, JobId last_job);
    void perform(const Action &action);
    void start_step(const StartStep &start);
    void after_event(const EventContent &content);
    void set_timer(int64_t at_ms);
    void write_derived();
    void snapshot();
    void forget_old();
    void wake_waiters();
    void on_signal(int number);
    size_t unfinished_jobs() const { return state().jobs.size() - state().finished.size(); }
    void watch_idleness();
    void allocation_is_over(const std::string &reason);
    void remove_nested_folder();

    Settings settings_;
    Loop loop_;
    Store store_;
    Core core_;
    SteadyClock clock_;
    Access access_;
    Metrics metrics_;
    Timeline timeline_;
    std::unique_ptr<Backend> backend_;
    std::unique_ptr<Steps> steps_;
    std::unique_ptr<Confinement> confinement_;  /* null: steps are not confined */
    std::string control_groups_;                /* above those of the steps; empty: none */
    std::unique_ptr<AllocationWatch> allocation_;       /* of --nested under Slurm */
    std::unique_ptr<Api> api_;
    std::vector<std::unique_ptr<HttpServer>> servers_;

    std::deque<Pending> inbox_;
    size_t requests_waiting_ = 0;       /* in the inbox, of people */
    Batch derived_;             /* rows of handled events, for the next commit */
    std::list<WaitingRequest> waiters_;
    std::map<JobId, std::shared_ptr<const Launch>> launches_;
    LaunchQuota quota_;
    Loop::TimerId core_timer_ = 0, flush_timer_ = 0, retry_timer_ = 0;
    uint64_t snapshot_seq_ = 0, woken_seq_ = 0;
    std::string storage_error_;
    int64_t started_ms_ = 0;
    int64_t idle_since_ms_ = 0;         /* monotonic */
    std::optional<int64_t> over_at_ms_; /* monotonic: the allocation is over, and we end by then */
    uint64_t next_request_ = 1;
    std::string request_prefix_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_H_INCLUDED */
