/*
 * A machine, its programs and its users in virtual time, around one core: for tests with faults
 * from a seed, and to show how a mix of jobs would run under a policy.  The core is the real one;
 * the daemon (it stores events before it performs actions, and may be killed at any moment), steps
 * and nodes are simulated here.
 *
 * All results depend only on the options and the seed.  Errors (a broken invariant, processes of
 * two jobs on one core, a replay with other decisions, a job without an end) are collected in
 * `broken()`.
 *
 *   virtual_time.h trace.h  mix.h       clock and random numbers, output, submissions
 *   simulated_cluster.cpp               the daemon: log, crashes, timer
 *   simulated_step.cpp                  steps, and requested nodes
 *   simulated_resize.cpp                changes of size
 *   simulated_size_requests.cpp         sizes that programs request
 *   simulated_slots.cpp                 slots and spawned processes
 *   step_reports.cpp                    reports of steps, and their cores
 *   faults.cpp                          actions of users, and accidents
 */

#ifndef ELASTIC_RM_SIM_SIMULATED_CLUSTER_H_INCLUDED
#define ELASTIC_RM_SIM_SIMULATED_CLUSTER_H_INCLUDED

#include "core/core.h"
#include "core/invariants.h"
#include "core/metrics.h"
#include "core/steady_clock.h"
#include "sim/mix.h"
#include "sim/trace.h"
#include "sim/virtual_time.h"

namespace elastic::rm {

/* Probabilities; all 0: nothing fails. */
struct Faults {
    double dropped = 0;            /* an action or a report is lost */
    double repeated = 0;
    double crash = 0;           /* the daemon crashes, at an event */
    double start_fails = 0;
    double refuses = 0;         /* a step refuses a change */
    double change_fails = 0;    /* a joining process fails */
    double dies = 0;            /* a program fails */
    double rigid = 0;           /* a malleable job's program is not adaptive */
    double stubborn = 0;        /* a program never probes for adaptations, or too late */
    int node_failures = 0;      /* number of them, during the time of submissions */
    int people = 0;             /* requests of people: cancel, hold, resize, drain, ... */
    /* a step loses its nodes to their owner (with asynchronous_nodes) */
    double nodes_taken = 0;
    int others = 0;             /* number of times that others request nodes */
    double breaks = 0;          /* a step violates the step protocol, in a change */
    int clock_jumps = 0;        /* of the wall clock, during the time of submissions */
    int reservations = 0;       /* made by an administrator, during that time */
};

struct ClusterOptions {
    uint64_t seed = 1;
    Config config;
    int nodes = 4, cores = 4;
    std::vector<int> other_cores;       /* of the first nodes, if they differ from the others */
    int gpus = 0;               /* of each node; temporarily it has another number */
    std::vector<MixJob> jobs;
    Faults faults;
    int64_t delay_max_ms = 0;   /* of every message */
    bool check = true;          /* check invariants after each event; keeps the log */
    /* maximum time between two samples of an adaptive step; 0: no samples */
    int64_t sample_ms = 0;
    /* maximum time between two size requests of an adaptive step; 0: none */
    int64_t request_ms = 0;
    /* maximum time between two sizes that a program sets itself; 0: none */
    int64_t modify_ms = 0;
    /* maximum time between two changes of slot requests; 0: none */
    int64_t slots_ms = 0;
    bool drop_redundant = false;        /* as the daemon does; else the core must tolerate them */
    bool trace = false;
};

class SimulatedCluster {
  public:
    explicit SimulatedCluster(const ClusterOptions &options);
    ~SimulatedCluster();

    void run();
    const std::vector<std::string> &broken() const { return broken_; }
    RunMetrics metrics() const { return metrics_.result(); }
    const Core &core() const { return core_; }
    const std::vector<Event> &log() const { return log_; }

    struct Counts {
        int crashes = 0, dropped = 0, node_failures = 0, died = 0, nodes_taken = 0, gave_way = 0,
            broke = 0, redundant = 0;
        int jumps = 0, limits = 0, samples = 0, snapshots = 0;
        /* overdue changes, and those of them that were made in the end */
        int overdue = 0, late = 0;
        int slot_requests = 0, granted = 0, refused = 0, withdrawn = 0;
        int modified = 0, not_modified = 0;
        int slots_wished = 0, slots_granted = 0, slots_refused = 0, spawned = 0;
    };
    Counts counts;

  private:
    static constexpr int64_t TIME_MAX_MS = int64_t{100} * 86400 * 1000;
    static constexpr int64_t LATE_MAX_MS = 120 * 1000;
    static constexpr size_t EVENTS_MAX = 2000000;
    static constexpr size_t BROKEN_MAX = 20;

    struct Step;

    /* chance and time */
    int64_t now_ms() const { return time_.now_ms(); }
    bool chance(double probability) { return time_.chance(probability); }
    int64_t between(int64_t low, int64_t high) { return time_.between(low, high); }
    int64_t delay();
    void after(int64_t ms, std::function<void()> action) { time_.after(ms, std::move(action)); }
    void wrong(const std::string &what);

    /* the daemon */
    void notify(EventContent content);
    void crash();
    void take_snapshot();
    void carry_out(const Action &action);
    void set_timer(int64_t at_ms);
    void perform(const SetTimer &) {}
    void perform(const Answer &) {}
    void perform(const Record &) {}
    void perform(const RemoveJob &) {}
    void perform(const StartStep &action);
    void perform(const ResizeStep &action);
    void perform(const CancelRequest &action);
    void perform(const SignalStep &action);
    void perform(const RefuseSizeRequest &action);
    void perform(const GrantSlots &action);
    void perform(const LimitStep &) {}  /* simulated steps do not watch their limits themselves */
    void perform(const SuspendStep &) {}        /* nor are they stopped */
    void perform(const QueryStep &action);
    void perform(const AcquireNodes &action);
    void perform(const ReleaseNodes &action);

    /* steps; each report may be dropped or repeated */
    void send_report(EventContent content);
    void report(const EventContent &content);
    void check_redundant(const EventContent &content);
    Step *find(JobId job, uint32_t step);
    void report_all(Step &step);
    void work(Step &step);
    void go_on(Step &step);
    void window(Step &step);
    void sample(Step &step);
    void size_request(Step &step);
    void modify(Step &step);
    void make_request(Step &step, int size, bool modify);
    void end_size_request(Step &step, const std::string &result, const std::string &reason);
    void want_slots(Step &step);
    void change_slots(Step &step);
    void change_spawned(Step &step);
    bool drop_slots(Step &step, const std::string &node);
    void report_slots(Step &step);
    void end_request(Step &step, EventContent outcome);
    void end(Step &step, int exit_code);
    void occupy(const Step &step, const Blocks &blocks, int sign);

    /* people and accidents */
    void plan();
    void configure_gpus(const std::string &node);
    int cores_of(const std::string &node) const;
    void configure_partitions();
    void somebody();
    void node_fails();
    void nodes_are_taken(Step &step);
    void others_want();
    void reserves();
    void clock_jumps();
    int64_t read_clock() { return clock_.now_ms(now_ms(), now_ms() + wall_offset_ms_); }
    void check_limit(const Record &record);
    bool all_over() const;

    ClusterOptions options_;
    VirtualTime time_;
    VirtualTime samples_, size_requests_, slots_;      /* separate random numbers, not times */
    Trace trace_;
    uint64_t timer_ = 0, requests_ = 0;
    Core core_;
    Monitor monitor_;
    MetricsCollector metrics_;
    std::vector<Event> log_;
    struct StoredSnapshot {
        Json head;              /* null: no snapshot */
        std::vector<Json> parts;
    };
    StoredSnapshot snapshot_;   /* the last complete one */
    StoredSnapshot taken_;      /* in parts, while the core continues */
    Json whole_;                /* its expected content */
    std::map<std::pair<JobId, uint32_t>, std::unique_ptr<Step>> steps_;
    std::map<std::string, MixJob> programs_;    /* by the Submit's request */
    std::map<JobId, MixJob> arrays_;            /* by the number of the array */
    std::map<std::string, int> occupied_;       /* cores of running processes */
    std::set<std::tuple<JobId, uint32_t, uint64_t>> acquired_, released_;
    std::set<std::string> failed_nodes_;
    size_t to_submit_ = 0;
    int64_t people_until_ms_ = 0;
    SteadyClock clock_;         /* clock of the daemon; virtual time is the exact one */
    SteadyClock::Mark mark_;    /* stored with the last event */
    int64_t wall_offset_ms_ = 0;
    std::map<JobId, int64_t> started_ms_;       /* exact times */
    std::vector<std::string> broken_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_SIMULATED_CLUSTER_H_INCLUDED */
