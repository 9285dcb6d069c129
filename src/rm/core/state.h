/*
 * The state of the core. Every component may read it (HTTP API, policies, tests); only the core
 * changes it.
 */

#ifndef ELASTIC_RM_CORE_STATE_H_INCLUDED
#define ELASTIC_RM_CORE_STATE_H_INCLUDED

#include <array>
#include <compare>
#include <deque>
#include <map>
#include <set>

#include "core/config.h"
#include "core/free_cores.h"
#include "core/jobs.h"
#include "core/learned.h"
#include "core/node.h"
#include "core/user_queues.h"

namespace elastic::rm {

/* n2 before n10: runs of digits compare by value. */
struct NaturalLess {
    bool operator()(const std::string &left, const std::string &right) const;
};

/* Past use of a user, for fair share: core-milliseconds that are halved in each half-life. */
struct Use {
    uint32_t uid = 0;
    int64_t core_ms = 0;
    int64_t delay_ms = 0;       /* delay of the user's jobs in the queue */
    ELASTIC_FIELDS(uid, core_ms, delay_ms)
};

/* Cores that a job has booked on one node.  Whole nodes are in the order of the nodes' names,
 * each once.  GPUs are with the first share of a node. */
struct Share {
    const Node *node;
    int cores;
    int gpus = 0;
    bool operator==(const Share &) const = default;
};
using Shares = std::vector<Share>;

/* All that a job has booked. */
struct Booking {
    Booking() = default;
    /* `of_whole`: all shares are known to be whole nodes. */
    explicit Booking(Shares all, bool of_whole = false);

    Shares shares;
    int64_t cores = 0;          /* the sum */
    /* no other job is on any of these nodes: all their cores are booked */
    bool whole = true;
    std::vector<NodeGpus> gpus; /* the GPUs */
};

/* The properties of a job that determine how many of its processes fit on the empty machine. */
struct Shape {
    int cores_per_process = 1, processes_per_node = 0;
    int nodes = 0;              /* exact number; 0: any */
    int gpus_per_process = 0, gpus_per_node = 0;
    NodeSet nodelist, exclude;
    NodeSet partition;          /* its nodes; empty: all nodes */
    auto operator<=>(const Shape &) const = default;
};
inline Shape shape_of(const JobSpec &spec)
{
    return {spec.cores_per_process, spec.processes_per_node, spec.nodes, spec.gpus_per_process,
            spec.gpus_per_node, spec.nodelist, spec.exclude, nodes_of_partition(spec)};
}

/* A job that has started or ended, for which other jobs may wait. */
struct Turn {
    JobId job = 0;
    JobState state = JobState::PENDING;
    bool array = false;         /* all tasks of the array with this number have */
    /* of the dependents; they are examined in the order of their numbers */
    JobId examined_until = 0;
    ELASTIC_FIELDS(job, state, array, examined_until)
};

/* The target of a dependency: a job, or all tasks of an array. */
struct Awaited {
    JobId job = 0;
    bool array = false;
    auto operator<=>(const Awaited &) const = default;
};

/* Waiting jobs of one shape. */
struct ShapeQueue {
    int capacity = 0;               /* of all nodes that are up */
    std::set<std::pair<int, JobId>> jobs;       /* by their smallest sizes */
    bool operator==(const ShapeQueue &) const = default;
};

/* Changes since the last decision, so that a decision which depends on none of them need not be
 * repeated. */
struct Changes {
    bool capacity = true;           /* bookings, nodes, or cores that will soon be free */
    bool sizes = true;          /* the cores that running jobs may release or get */
    QueueKey queue = QUEUE_BEGIN; /* the first waiting job that was added, removed or changed */
    int64_t limit_ms = NEVER;   /* the earliest time limit that has changed */
    bool slot_requests = false;        /* requests of running programs */
};
constexpr int64_t LIMITS_END = std::numeric_limits<int64_t>::max();

/* Numbers of jobs, and of the results of all their changes. */
struct JobCounts {
    std::array<int64_t, std::size(NamesOf<JobState>::names)> states = {};
    int64_t committed = 0, withdrawn = 0, failed = 0;

    int64_t of(JobState state) const { return states[static_cast<size_t>(state)]; }
    bool operator==(const JobCounts &) const = default;
};
struct NodeCounts {
    std::array<int, std::size(NamesOf<NodeState>::names)> states = {};
    int drained = 0;                    /* draining nodes without bookings */
    int64_t cores = 0, used_cores = 0;  /* of nodes in any state */
    int64_t gpus = 0, used_gpus = 0;
    int changing_gpus = 0;              /* nodes whose number of GPUs will change */

    int of(NodeState state) const { return states[static_cast<size_t>(state)]; }
    bool operator==(const NodeCounts &) const = default;
};

/* No job starts, because elasticd itself lacks a resource (StepStartFailed::own_fault). */
struct StartPause {
    int64_t until_ms = 0;
    int failures = 0;           /* pauses in a row, each longer than the one before */
    std::string reason;
    ELASTIC_FIELDS(until_ms, failures, reason)
};

class State {
  public:
    Config config;
    int64_t now_ms = 0;
    uint64_t seq = 0;           /* of the last event */
    Jobs jobs;                  /* waiting, running, and the last finished ones */
    std::map<std::string, Node, NaturalLess> nodes;
    JobId last_job = 0;
    uint64_t records = 0;       /* number of the last Record */
    uint64_t unexpected = 0;    /* events that did not fit */
    int64_t timer_ms = NEVER;   /* time of the last SetTimer */
    int64_t next_poll_ms = NEVER; /* when all steps are queried */
    int64_t policy_at_ms = NEVER;       /* time at which the policy must decide again */
    int wanted_nodes = 0;       /* requested by others, before the own jobs (NodesWanted) */
    std::string wanted_by;
    StartPause start_pause;
    bool starts_pause() const { return start_pause.until_ms > now_ms; }
    std::map<uint32_t, Use> uses;       /* by uid; only with Config::fair_share_ms */
    int64_t uses_at_ms = NEVER; /* time up to which they are counted */
    std::map<std::string, GroupTime> group_times;       /* of groups with a budget */
    std::set<uint32_t> full_users;      /* are at one of their limits: none of their jobs starts */
    std::set<std::string> full_groups;  /* the same, of a waiting job: members get nothing more */
    JobId to_enter = 0; /* from this job on, jobs must enter their partitions again; 0: none */
    int64_t reservations_at_ms = NEVER; /* when the next reservation begins or ends */
    LearnedPrograms learned;    /* results of earlier runs */
    std::deque<JobId> finished; /* oldest first */
    std::deque<Turn> turns;     /* jobs whose dependents are not examined yet */
    std::map<std::string, JobId> requests;    /* Job::request of the known jobs */
    std::map<JobId, JobArray> arrays;   /* arrays of which a task is known */

    /* Indices: derived data, maintained by index() and unindex(). */
    struct Indices {
        UserQueues queue;               /* is_queued, without the jobs of full users */
        UserQueues runnable;            /* of these, jobs that could run if they were alone */
        std::map<Shape, ShapeQueue> shapes;     /* all that are queued */
        std::map<std::string, int> partitions;  /* number of queued jobs in each, by queue_of */
        std::set<JobId> prioritised;    /* of these, jobs whose priority is not 0 */
        struct OfUser {
            int running = 0;            /* jobs on nodes */
            int64_t cores = 0;          /* cores booked by these */
            bool operator==(const OfUser &) const = default;
        };
        std::map<uint32_t, OfUser> users;
        std::map<std::string, GroupUse> groups;         /* of jobs that have not ended */
        /* awaited jobs, each with a job that waits for it */
        std::set<std::pair<Awaited, JobId>> dependents;
        /* of the tasks of an array that has a limit */
        struct OfArray {
            int allocated = 0;
            std::set<JobId> queued, waiting;    /* ready to run: is_queued, or ArrayTask::waits */
            bool operator==(const OfArray &) const = default;
        };
        std::map<JobId, OfArray> arrays;
        std::set<JobId> allocated;         /* STARTING to COMPLETING */
        std::set<JobId> slot_wishers;   /* running, whose programs request slots beside the world */
        std::set<JobId> modified;       /* RUNNING, whose programs wait for another size */
        std::set<JobId> freeing;       /* allocated, and about to free cores */
        std::set<JobId> elastic;        /* RUNNING, and another size may be offered */
        /* of these, whose programs want another size (size_wished) */
        std::set<JobId> wishers;
        /* RUNNING, whose programs wait only for resources that are available at once
         * (SizeRequest::waits) */
        std::set<JobId> impatient;
        /* of the elastic ones, jobs with idle cores in whole nodes of their own */
        std::set<JobId> roomy;
        std::set<JobId> borrowers;      /* of these, with core loans */
        /* Of the elastic ones: */
        /* above their minimum: by cores, negative */
        std::set<std::pair<int64_t, JobId>> donors;
        std::set<std::pair<int64_t, JobId>> pauses;     /* the same jobs, by Job::offer_after_ms */
        std::set<std::pair<int64_t, JobId>> growers;    /* below their maximum: by growth_from_ms */
        /* of these, jobs that may grow while others wait: below their preferred size, if they
         * have one, or their programs request another size */
        std::set<std::pair<int64_t, JobId>> needy;
        std::set<std::pair<int64_t, JobId>> deadlines;  /* Job::deadline_ms */
        std::set<std::pair<int64_t, JobId>> limits;     /* Job::limit_at_ms */
        JobCounts jobs;
        NodeCounts nodes;
        int64_t free_cores = 0;         /* sum of Node::free */
        int64_t up_cores = 0;           /* of nodes that are up and not draining */
        int removed_nodes = 0;          /* that are not removed yet */
        int64_t spare_cores = 0;        /* cores of elastic jobs above their minimum */
        std::map<int, int> up_nodes, known_nodes; /* number of nodes by their number of cores */
        bool operator==(const Indices &) const = default;
    };
    const Indices &indices() const { return indices_; }

    const Job *job(JobId id) const;
    /* Nullptr: there is no such array, or none of its tasks is known. */
    const JobArray *array(JobId id) const;
    /* State of the awaited job or array; nullopt: it is unknown. */
    std::optional<JobState> state_of(const Dependency &dependency) const;
    /* Arrays with a limit of which a task was added, removed or changed since the last query. */
    std::set<JobId> take_changed_arrays() { return std::exchange(changed_arrays_, {}); }
    const Node *node(const NodeName &name) const
    {
        return name.number() < by_number_.size() ? by_number_[name.number()] : nullptr;
    }
    const Node *node(const std::string &name) const;
    const Node *node(const char *name) const { return node(std::string(name)); }

    /* Call index after every change of a job, and book as well if its booking has changed. */
    void index(const Job &job);
    void unindex(const Job &job);
    void book(const Job &job);
    /* Every change of a node lies between unindex and index of it. */
    void index(Node &node);
    void unindex(const Node &node);

    /* The free cores.  Rebuilt after changes of nodes. */
    const FreeCores &free_cores() const;
    /* Number of processes that fit on the machine without jobs: on all nodes that are up, or on
     * all that are known. */
    int capacity_when_empty(const Shape &shape, bool up_only) const;
    int capacity_when_empty(const JobSpec &spec, bool up_only) const;
    /* Capacity of the nodes that are up; known without a search for the jobs of the queue. */
    int capacity_up(const JobSpec &spec) const;
    /* The first node of its list that is not up, or does not exist; empty: none. */
    std::string missing_node(const JobSpec &spec) const;
    /* Time from which the job may be grown although no job needs it. */
    int64_t growth_from_ms(const Job &job) const;

    /* Sets the partition of a job that starts now.  A new job that names none gets the default.
     * A job waits if the configuration does not have its partition (any more)
     * (PartitionState::GONE).  The partition lacks nodes that are reserved for others before the
     * end of the job. */
    void enter(JobSpec &spec) const { enter(spec, now_ms, NEVER); }
    /* The same for a known job, as of that time; false: nothing has changed. */
    bool enter(Job &job, int64_t at_ms) const;
    /* There are new nodes, so that partitions without reserved nodes must be computed again. */
    void clear_reduced() const { reduced_.clear(); }
    /* As if no node were reserved for others. */
    JobSpec unreserved(JobSpec spec) const;
    /* The reservation of that name; null: there is none. */
    const NodeReservation *reservation(const std::string &name) const;
    /* When the next reservation after that time begins or ends; NEVER: none does. */
    int64_t reservations_change_ms(int64_t after_ms) const;
    /* Whether the nodes that jobs may use differ between jobs. */
    bool is_divided() const
    {
        return !config.partitions.empty() || !config.reservations.empty();
    }
    /* Null: there is none. */
    const Partition *partition(const std::string &name) const;
    /* Call it after a change of the configuration; jobs have to enter their partitions again. */
    void set_partitions();
    /* The positions of these nodes in free_cores(), valid until nodes change. */
    const PositionSet &positions(const NodeSet &of) const;

    const Changes &changes() const { return changes_; }
    void clear_changes() { changes_ = {false, false, QUEUE_END, LIMITS_END, false}; }
    /* Marks a change that concerns neither a job nor a node. */
    void changed() { changes_.capacity = true; }
    /* Marks new measurements of a job. */
    void sampled() { changes_.sizes = true; }

    QueueKey queue_key(const Job &job) const;
    /* Changes the position in the queue of all jobs of a user; `change` may change only
     * full_users and uses. */
    template <class Change> void requeue(uint32_t uid, Change change)
    {
        changes_.queue = std::min(changes_.queue, indices_.queue.first_of(uid));
        change();
        indices_.queue.move(uid, turn_of(uid));
        indices_.runnable.move(uid, turn_of(uid));
        changes_.queue = std::min(changes_.queue, indices_.queue.first_of(uid));
    }
    int64_t delay_of(uint32_t uid) const;
    Indices::OfUser of_user(uint32_t uid) const;
    GroupUse of_group(const std::string &name) const;
    /* Whether its jobs have used its budget of the present period. */
    bool is_spent(const GroupLimit &limit) const
    {
        auto time = group_times.find(limit.name);
        return limit.budget_ms > 0 && time != group_times.end() &&
               time->second.core_ms >= limit.budget_ms;
    }
    /* The job whose processes have published this name among those of the user; or nullptr. */
    const Job *owner_of_name(uint32_t uid, const std::string &name) const;
    /* The booking of these processes of a job. */
    Shares shares(const JobSpec &spec, const Blocks &blocks) const;
    /* The booking of all present, joining and departing processes of a job. */
    Shares shares(const Job &job) const;
    /* The booking of the job. */
    const Booking &booking(JobId id) const;
    const Shares &booked(JobId id) const { return booking(id).shares; }
    /* The shares that its changes in progress free, and those that they add to its booking:
     * `freed` without `kept` are free afterwards. */
    struct Freed {
        Shares freed, kept;
    };
    const Freed &freed_soon(const Job &job) const;

  private:
    Shares whole_shares(const std::vector<const Blocks *> &lists) const;
    void add_gpus(const JobSpec &spec, const Blocks &blocks, Shares &shares) const;
    void book(const std::vector<NodeGpus> &gpus, bool in);
    int capacity_of(const Shape &shape, const Node &node) const;
    /* All data of a job that the indices hold. */
    struct Facts {
        uint32_t uid = 0;
        std::vector<Awaited> waits_for;
        JobId array = 0;        /* array of a task, if the array has a limit */
        bool ready = false, array_waits = false;
        std::optional<QueueKey> queued; /* without the delay of its user */
        std::vector<std::string> groups;        /* of a job that has not ended */
        std::string partition;
        Shape shape;
        int least = 0;
        bool prioritised = false;
        bool wants_slots = false, modified = false, impatient = false;
        bool allocated = false, freeing = false, elastic = false, roomy = false;
        bool borrows = false;
        int wished = 0;         /* size_wished, if another size may be offered */
        std::optional<int64_t> deadline_ms, limit_ms, donor, pause_ms, growth_ms,
            needy_ms;
        int64_t spare_cores = 0;
        std::optional<JobState> state;
        uint64_t committed = 0, withdrawn = 0, failed = 0;
        bool operator==(const Facts &) const = default;
    };
    Facts facts(const Job &job) const;
    QueueKey own_key(const Job &job) const;
    UserTurn turn_of(uint32_t uid) const { return {delay_of(uid), full_users.contains(uid)}; }
    void replace(JobId id, const Facts &old, const Facts &now);
    void note_changes(const Facts &old, const Facts &now);
    void enqueue(const Facts &facts);
    void dequeue(const Facts &facts);
    void move_in_queue(const Facts &old, const Facts &now);
    void move_in_array(JobId id, const Facts &facts, bool in);
    void find_runnable();
    void count(const Node &node, int sign);
    void count_booked(const Node &node, int sign);
    void count(const Facts &facts, int sign);
    void book(const Shares &shares, int sign);
    void book(Node &node, int cores);
    void count_use(uint32_t uid, int running, int64_t cores);
    void count_groups(const std::vector<std::string> &groups, const GroupUse &more);
    /* As of `at_ms`.  `ends_ms`: when the job ends by its limit; NEVER: by a start at that time. */
    void enter(JobSpec &spec, int64_t at_ms, int64_t ends_ms) const;
    std::shared_ptr<const Partition> without_reserved(const JobSpec &spec, int64_t at_ms,
                                                      int64_t ends_ms) const;
    void enter_partition(JobSpec &spec) const;

    Indices indices_;
    Changes changes_;
    std::set<JobId> changed_arrays_;
    JobMap<Facts> facts_;
    JobMap<Booking> booked_;
    std::map<std::string, std::shared_ptr<const Partition>> partitions_;
    std::vector<Node *> by_number_;     /* by NodeName::number; null: no node of this machine */
    mutable JobMap<Freed> freed_;    /* of jobs unchanged since */
    mutable FreeCores free_cores_;
    mutable std::map<NodeSet, PositionSet> positions_;
    /* Partitions of jobs without the nodes of these reservations; all these jobs share them. */
    mutable std::map<std::pair<std::string, std::vector<std::string>>,
                     std::shared_ptr<const Partition>> reduced_;
    mutable bool stale_ = true;         /* free_cores_ */
};

/* Removes the shares that both lists have: all of these from lists of whole nodes, else only
 * those of their common beginning. */
void leave_differences(Shares &left, Shares &right);

/* Why a PENDING job waits, for people: "held", "resources", ... */
std::string why_waiting(const State &state, const Job &job);
constexpr const char *WAITS_BEHIND = "priority";        /* waits only for its turn */
/* The job in front of the waiting job, or that job itself: the first one of its partition, if it
 * is not too far back; else the first of all.  Null: no job waits. */
const Job *first_in_queue(const State &state, const Job &waiting);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_STATE_H_INCLUDED */
