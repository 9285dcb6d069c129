/*
 * For tests: simulates a whole job around the step manager from one seed: proxies with their
 * boards, processes that compute, probe, enter windows and end, messages with delays, users that
 * request sizes, and failures.  All events are processed in the order of a queue, so that a seed
 * always gives the same history.
 *
 * Probe and board follow pmi_adapt.h.  Storing the count and reading the gate are two events, and
 * so are shutting the limit and reading the counts.  Other events may happen between them.
 *
 * Broken invariants are gtest failures that name the seed.  The invariants:
 *   P3   all pre-existing processes get TRUE at the same probe number, with the same work left
 *   P7   no process is notified of an adaptation that is not agreed on
 *   W2   the members' view of the world (from the plans) is the step manager's
 *   each accepted request has one end, adaptations do not nest, epochs are 1, 2, 3, ...
 *   each size request has one end, also for each process that made it, and only allowed sizes are
 *   granted
 *   nothing is sent to a disconnected proxy
 *   joining processes of an adaptation that was not committed are removed
 *   freed nodes are reported once, after the leaving processes have ended
 *   without a failure every process ends by itself with exit code 0, and nothing is unexpected
 */

#ifndef ELASTIC_SIMULATED_JOB_H_INCLUDED
#define ELASTIC_SIMULATED_JOB_H_INCLUDED

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "stepmgr/common/step_events.h"
#include "stepmgr/common/world.h"
#include "stepmgr/proto/payload.h"
#include "stepmgr/stepmgr.h"

namespace elastic {

/* Counts of the events of a job.  A test checks by them that its seeds reach all cases. */
struct JobOutcome {
    int launches = 0, committed = 0, withdrawn = 0, failed = 0, aborts = 0, accidents = 0;
    int refused = 0, freed = 0, stragglers = 0, notified = 0;
    int requests_granted = 0, requests_refused = 0, requests_withdrawn = 0;
    int modified = 0, not_modified = 0; /* calls of MPIX_Comm_modify, by process */
};

class SimulatedJob {
  public:
    SimulatedJob(uint64_t seed, bool trace);
    ~SimulatedJob();
    SimulatedJob(const SimulatedJob &) = delete;
    SimulatedJob &operator=(const SimulatedJob &) = delete;

    JobOutcome run();

  private:
    static constexpr int64_t TIME_MAX_US = int64_t{3600} * 1000000;
    static constexpr uint64_t EVENTS_MAX = 2000000;

    struct Plan {               /* read back from the blob */
        uint64_t request = 0;   /* the number of an epoch may be used again after a failure */
        uint32_t epoch = 0, pre = 0, joining = 0;
        std::vector<uint32_t> uids, flags;
        bool modify = false;
    };
    struct Actor;               /* an MPI process */
    struct Proxy;
    struct Window {             /* of one request, in the view of its participants */
        std::set<uint32_t> arrived;
        uint64_t notified_at = 0;
        int work_left = -1;
    };
    struct Event {
        int64_t time_us;
        uint64_t number;
        std::function<void()> action;
        bool operator>(const Event &other) const
        {
            return std::pair(time_us, number) > std::pair(other.time_us, other.number);
        }
    };

    /* random choices */
    int64_t between(int64_t low, int64_t high);
    bool chance(double probability);
    int64_t delay_us();

    /* queue */
    void at(int64_t time_us, std::function<void()> action);
    void after(int64_t us, std::function<void()> action) { at(now_us_ + us, std::move(action)); }
    int64_t now_ms() const { return now_us_ / 1000; }
    void note(const std::string &text);
    void broken(const std::string &what);

    /* setting up */
    void choose_options();
    void plan_clients();
    void plan_accident();
    void start_group(int group, uint32_t epoch, uint32_t first_uid, int count,
                     const std::vector<std::string> &hosts);

    /* proxies (simulated_job.cpp, second part) */
    Proxy &proxy(const ProxyId &proxy_id) { return *proxies_.at(proxy_id); }
    void to_core(const ProxyId &proxy_id, std::function<void()> deliver);
    void report(const ProxyId &proxy_id, step_report kind, uint32_t epoch,
                const std::string &payload);
    void send_to(const ProxyId &proxy_id, step_command command, uint32_t epoch,
                 const std::string &payload);
    void receive(Proxy &proxy, step_command command, uint32_t epoch, uint64_t request,
                 const std::string &payload);
    void store_plan(Proxy &proxy, uint64_t request, const std::string &payload);
    void prepare(Proxy &proxy, Actor &actor);
    void freeze(Proxy &proxy, uint32_t epoch, uint64_t margin);
    void count(Proxy &proxy, uint32_t epoch);
    void wake(Proxy &proxy);
    void check_proxy_over(Proxy &proxy);
    void lose_proxy(Proxy &proxy);
    void size_request_ended(Proxy &proxy, const std::string &payload);

    /* processes */
    void initialise(Actor &actor);
    void compute(Actor &actor);
    void probe(Actor &actor);
    void lookup(Actor &actor);
    void check_closer(Actor &actor);
    void lookahead(Actor &actor);
    void notified(Actor &actor);
    void enter_window(Actor &actor);
    void arrive_at_commit(Actor &actor, const Plan &plan);
    void commit(Actor &actor, const Plan &plan);
    void finalise(Actor &actor);
    void leave(Actor &actor);
    void plan_size_requests();
    void make_size_request(Actor &actor);
    void withdraw_size_request(Actor &actor);
    void call_modify(Actor &actor);
    void request_modify(Actor &actor);
    void await_modify(Actor &actor);
    void end(Actor &actor, uint32_t wait_status);
    void kill_everybody();
    void check_world();

    /* clients */
    void send_request(int client, const Json &request);
    void random_request(int client);

    /* effects */
    static SimulatedJob &self(void *context) { return *static_cast<SimulatedJob *>(context); }
    static int launch(void *context, uint32_t epoch, int count, int program, int pre,
                      uint32_t first_uid, int modify, const char *const *hosts, int n_hosts,
                      int *group, char *error, size_t error_bytes);
    static void kill_group(void *context, int group);
    static void abort_step(void *context, const char *reason);
    static void send(void *context, const step_proxy *to, int n, step_command command,
                     uint32_t epoch, const void *payload, size_t bytes);
    static void reply(void *context, int client, const char *line);
    static void log(void *context, const char *line);
    static void notify_user(void *context, const char *text);
    static void wake_at(void *context, int64_t time_ms);

    void check_event(const Json &event);
    void check_size_request(const std::string &name, const Json &event);
    void check_end();

    uint64_t seed_;
    bool trace_;
    std::mt19937_64 random_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
    int64_t now_us_ = 0;
    uint64_t next_event_ = 0;
    uint64_t wake_number_ = 0;  /* only the last requested wake-up is valid */

    /* options of this job */
    int launch_size_ = 1, work_ = 0;
    std::string schedule_, policy_;
    uint64_t margin_ = 1;
    int64_t delay_max_us_ = 1000;
    bool rigid_ = false, launch_may_fail_ = false, size_requests_ = false;
    /* remaining work at which the program calls MPIX_Comm_modify, once; -1: never */
    int modify_at_ = -1;
    struct {
        std::set<uint32_t> arrived;     /* uids */
        bool again = false,
             over = false; /* another adaptation is agreed on, as on a board; the call has failed */
        uint32_t uid = 0, number = 0;   /* the requesting process and its size request */
    } modify_;
    std::set<int> modify_groups_;
    std::vector<std::string> host_names_;

    stepmgr *core_ = nullptr;
    std::map<ProxyId, std::unique_ptr<Proxy>> proxies_;
    std::map<uint32_t, std::unique_ptr<Actor>> actors_; /* by uid */
    std::map<uint64_t, Window> windows_;        /* by request */
    std::map<uint32_t, std::set<uint32_t>> finalised_;  /* by epoch, uids */
    /* by epoch: uids in the view of the members */
    std::map<uint32_t, std::vector<uint32_t>> worlds_;
    std::set<ProxyId> disconnected_;      /* as reported to the step manager */
    std::set<int> groups_killed_;
    std::map<int, uint32_t> group_request_;     /* by expansion */
    int next_group_ = 1;
    bool killing_ = false;

    /* events of the journal so far */
    std::map<uint64_t, std::string> requests_;  /* by number: the end; "": under way */
    uint64_t open_request_ = 0;
    uint32_t committed_epoch_ = 0, target_epoch_ = 0;
    std::map<uint32_t, size_t> departing_;      /* by epoch: number of leaving processes */
    std::map<uint64_t, Json> open_size_requests_;       /* by number: their events */
    uint64_t last_size_request_ = 0;
    std::map<uint32_t, std::set<uint32_t>>
        own_size_requests_;     /* by uid: numbers of size requests that have no end yet */
    std::set<uint64_t> answers_pending_;        /* requests whose client waits for the end */
    JobOutcome outcome_;
};

}  // namespace elastic

#endif /* ELASTIC_SIMULATED_JOB_H_INCLUDED */
