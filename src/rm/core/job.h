/*
 * The knowledge of the core about a job, its specification (job_spec.h) included.  Plain data with
 * its JSON.  The core alone changes a Job; every component may read it (Core::state).
 */

#ifndef ELASTIC_RM_CORE_JOB_H_INCLUDED
#define ELASTIC_RM_CORE_JOB_H_INCLUDED

#include <optional>

#include "core/job_array.h"
#include "core/job_performance.h"
#include "core/job_spec.h"
#include "core/job_states.h"
#include "core/node.h"

namespace elastic::rm {

/* The mode that the running program has reported: UNKNOWN until all its processes have
 * initialised MPI. */
enum class StepMode { UNKNOWN, RIGID, ADAPTIVE };
template <> struct NamesOf<StepMode> {
    static constexpr const char *names[] = {"unknown", "rigid", "adaptive"};
};

/* `processes` consecutive ranks on one node.  A list of blocks is in rank order; a node may occur
 * in more than one, since joining ranks follow the staying ones. */
struct Block {
    NodeName node;
    int processes = 0;

    bool operator==(const Block &) const = default;
    ELASTIC_FIELDS(node, processes)
};
using Blocks = std::vector<Block>;

/* GPUs that a job has on one node. */
struct NodeGpus {
    NodeName node;
    GpuSet gpus = 0;

    bool operator==(const NodeGpus &) const = default;
    ELASTIC_FIELDS(node, gpus)
};

/* The GPUs of each process of some blocks, in their order; empty: the processes have none of
 * their own. */
using ProcessGpus = std::vector<GpuSet>;

int count_processes(const Blocks &blocks);

/* Blocks with the number of their processes, which is read very often.  The JSON is that of
 * Blocks. */
class World {
  public:
    using const_iterator = Blocks::const_iterator;
    using value_type = Block;

    World() = default;
    World &operator=(Blocks blocks)
    {
        blocks_ = std::move(blocks);
        processes_ = count_processes(blocks_);
        return *this;
    }
    int processes() const { return processes_; }
    operator const Blocks &() const { return blocks_; }
    auto begin() const { return blocks_.begin(); }
    auto end() const { return blocks_.end(); }
    auto rbegin() const { return blocks_.rbegin(); }
    auto rend() const { return blocks_.rend(); }
    bool empty() const { return blocks_.empty(); }
    size_t size() const { return blocks_.size(); }
    const Block &front() const { return blocks_.front(); }
    const Block &back() const { return blocks_.back(); }
    const Block &operator[](size_t number) const { return blocks_[number]; }
    bool operator==(const World &other) const { return blocks_ == other.blocks_; }
    bool operator==(const Blocks &blocks) const { return blocks_ == blocks; }

  private:
    Blocks blocks_;
    int processes_ = 0;
};
inline Json write(const World &world)
{
    return write(static_cast<const Blocks &>(world));
}
inline void read(const Json &json, World &world, const std::string &where)
{
    Blocks blocks;
    read(json, blocks, where);
    world = std::move(blocks);
}

/* Progress of a change of size. */
enum class AdaptPhase {
    ACQUIRING,  /* AcquireNodes is sent to a back end */
    SENT,      /* ResizeStep is sent and not answered */
    ACCEPTED,   /* by the step: joining processes start */
    READY       /* joining processes wait in begin; a probe notifies the program */
};
template <> struct NamesOf<AdaptPhase> {
    static constexpr const char *names[] = {"acquiring", "asked", "accepted", "ready"};
};

/* A change of size that has been decided and has not ended. */
struct Adaptation {
    uint64_t request = 0;       /* 1, 2, 3, ... over all steps of the job; has exactly one end */
    AdaptPhase phase = AdaptPhase::SENT;
    bool by_user = false;
    bool by_program = false;    /* the program waits for it (MPIX_Comm_modify) */
    std::string reason;
    int old_size = 0, size = 0;
    std::vector<int> leave;     /* ranks before the change, rising */
    Blocks joining;             /* booked for the joining ranks */
    ProcessGpus gpus;           /* of the joining ranks */
    int loaned = 0;               /* number of these that are core loans */
    std::vector<JobId> whom;    /* waiting jobs that need the change */
    uint64_t step_request = 0;  /* the step's own number of it, 0 until accepted */
    bool withdrawing = false;   /* CancelRequest has been sent */
    /* The program has agreed, but does not reach a probe, and the withdrawal had no effect.  The
     * cores of this change are not counted on until it has committed. */
    bool overdue = false;
    int64_t requested_ms = 0;

    ELASTIC_FIELDS(request, phase, by_user, by_program, reason, old_size, size, leave, joining,
                   loaned, whom, step_request, withdrawing, overdue, requested_ms, gpus)
};

/* The last change of size that was committed, of the present step. */
struct LastChange {
    uint64_t request = 0;
    int old_size = 0, size = 0;
    int64_t at_ms = NEVER, standstill_ms = 0;
    std::string reason;
    std::vector<JobId> whom;    /* waiting jobs that needed the change */

    ELASTIC_FIELDS(request, old_size, size, at_ms, standstill_ms, reason, whom)
};

/* How long a job had this number of processes.  The first TIMES_MAX sizes have an entry each;
 * all others share one of size 0, whose time is the sum over their processes.  It includes the
 * time of slots and of processes of MPI_Comm_spawn. */
struct TimeAtSize {
    int size = 0;
    int64_t ms = 0;
    bool operator==(const TimeAtSize &) const = default;
    ELASTIC_FIELDS(size, ms)
};
constexpr size_t TIMES_MAX = 64;

/* Stage of a change through process sets: one process is notified, and answers for all. */
enum class SetStage { NOTIFIED, ACCEPTED, DECLINED };
template <> struct NamesOf<SetStage> {
    static constexpr const char *names[] = {"told", "accepted", "declined"};
};

/* Number of these changes of the present step, and the stage of the last one. */
struct SetChanges {
    uint64_t reported = 0, accepted = 0, declined = 0;
    uint64_t request = 0, number = 0;
    SetStage stage = SetStage::NOTIFIED;
    uint64_t uid = 0;           /* of the process */
    int64_t notified_ms = NEVER, at_ms = NEVER;
    ELASTIC_FIELDS(reported, accepted, declined, request, number, stage, uid, notified_ms, at_ms)
};

/* Processes that left with a committed request, or joining ones of a failed request, whose cores
 * are not free yet. */
struct Departure {
    uint64_t request = 0;
    uint64_t epoch = 0;         /* 0: the request failed */
    Blocks blocks;
    bool releasing = false;     /* the processes have ended; a back end releases the nodes */
    ProcessGpus gpus = {};      /* of the blocks */

    ELASTIC_FIELDS(request, epoch, blocks, releasing, gpus)
};

/* Kind of resource that a running program requests. */
enum class RequestKind { PROCESSES, SLOTS };
template <> struct NamesOf<RequestKind> {
    static constexpr const char *names[] = {"processes", "slots"};
};

/* A size request of the running program (MPIX_Adapt_request): a preferred size, and the range of
 * sizes that the program accepts.  Or (MPIX_Comm_modify) the size for which all its processes
 * wait; this form also changes rigid programs. */
struct SizeRequest {
    std::string mpiexec;        /* whose step id; a script may run several in sequence */
    uint64_t number = 0;        /* among those of that mpiexec: 1, 2, 3, ... */
    RequestKind kind = RequestKind::PROCESSES;
    bool modify = false;        /* all processes wait for it */
    /* some processes wait, and only for resources that are available at once (operations on
     * process sets) */
    bool waits = false;
    int size = 0, minimum = 0, maximum = 0;
    std::string reason;         /* for people */
    int64_t since_ms = NEVER;   /* when the core received it */
    /* the nearest size that the job can have; it does not grow beyond it */
    int target = 0;

    ELASTIC_FIELDS(mpiexec, number, kind, modify, waits, size, minimum, maximum, reason, since_ms,
                   target)
};
constexpr size_t REQUEST_REASON_BYTES_MAX = 255, REQUEST_MPIEXEC_BYTES_MAX = 64;
constexpr int REQUEST_SIZE_MAX = 1 << 20;

/* Empty, or the error in the request. */
std::string check(const SizeRequest &size_request);

/* A request for slots beside the world, for processes that the program starts one by one
 * (MPIX_Iallocate): on one host, or anywhere. */
struct SlotRequest {
    uint64_t number = 0;        /* among the requests of its mpiexec */
    int count = 0;              /* that the step has not received yet */
    bool hard = false;  /* the program waits for them; else it takes only those available at once */
    std::string host;           /* empty: any host */
    int64_t since_ms = NEVER;   /* when the core received it */
    std::string refused;        /* the reason; the step has not reported the end yet */

    bool exclusive = false;     /* each on a node without another slot of the job */

    ELASTIC_FIELDS(number, count, hard, host, since_ms, refused, exclusive)
};
/* Granted, and not confirmed by the step. */
struct SlotGrant {
    uint64_t number = 0;        /* 1, 2, 3, ... of its mpiexec */
    uint64_t size_request = 0;
    Blocks blocks;
    bool exclusive = false;     /* as in its request */

    ELASTIC_FIELDS(number, size_request, blocks, exclusive)
};
/* Processes of MPI_Comm_spawn on one node; the name comes from the step and may be unknown here. */
struct NodeProcesses {
    std::string node;
    int processes = 0;
    bool operator==(const NodeProcesses &) const = default;
    ELASTIC_FIELDS(node, processes)
};

/* All slots of a job.  The step reports its slots as a whole, not as changes, so that a missing
 * message has no effect. */
struct Slots {
    std::string mpiexec;        /* a script may run several in sequence */
    uint64_t reported = 0;          /* number of the newest report of the step */
    uint64_t granted = 0;       /* number of the last grant */
    std::vector<SlotGrant> grants;
    Blocks held;                /* confirmed */
    std::vector<NodeName> exclusive;    /* of these nodes: those whose slot must be the only one */
    std::vector<SlotRequest> slot_requests;
    std::vector<NodeProcesses> spawned; /* that run now */
    Blocks spawned_booked;      /* of these, those with cores, which are slots as well */
    int64_t counted_ms = NEVER; /* up to this time they are in Job::times; NEVER: there were none */

    ELASTIC_FIELDS(mpiexec, reported, granted, grants, held, exclusive, slot_requests, spawned,
                   spawned_booked, counted_ms)
};
constexpr size_t SPAWNED_NODES_MAX = 65536;
constexpr size_t SLOTS_MAX = 4096;      /* maximum number of slots and of requests of a step */

/* A port under which processes of the job can be reached, by a name among those of its user
 * (MPI_Publish_name). */
struct PublishedName {
    std::string name, port;
    std::string holder = "";            /* the process that owns it (api/name_holder.h), or empty */

    ELASTIC_FIELDS(name, port, holder)
};
constexpr size_t NAME_BYTES_MAX = 640, PORT_BYTES_MAX = 512, HOLDER_BYTES_MAX = 64;
constexpr size_t JOB_NAMES_MAX = 256;

/* Empty, or the error in the name. */
std::string check(const PublishedName &published);

/* Values that policy `measured` has computed for a job and reads very often
 * (policy/measured_worth.h). */
struct SizeWorth {
    bool is_measured = false;       /* measured at its present size */
    bool doubtful = false;      /* no measurement shows that it needs its last processes */
    int64_t most = 0;           /* it must not grow beyond this */
    int64_t most_efficient = 0; /* nor beyond this into cores that others can use */
    int exchanged = 0;          /* nor beyond this by an exchange */
    int reduced = 0;            /* size to which it is to be reduced; 0: it is not */
    int own = 0;                /* more than this is a core loan */
    /* The next larger and smaller size that it could have.  With whole nodes: those that fill
     * one more node or free one.  0: none. */
    int more = 0, less = 0;
    /* For each core: by how much the logarithm of its speed grows with `more`, or falls with
     * `less` (gain.h). */
    double next = 0, last = 0;
    bool operator==(const SizeWorth &) const = default;
};

struct Job {
    JobId id = 0;
    std::string request;        /* of its Submit: a repeated request finds the job */
    JobSpec spec;
    /* time at which spec.in was set; NEVER: there were no reservations */
    int64_t entered_ms = NEVER;
    JobState state = JobState::PENDING;
    bool held = false;
    bool held_by_administrator = false;
    bool deferred = false;      /* PENDING: its begin time is in the future */
    /* PENDING: those of spec.dependencies that are not fulfilled */
    std::vector<Dependency> waits_for;
    std::optional<ArrayTask> task;      /* empty: not a task of an array */
    /* since when it waits only for its turn; NEVER: since its submission */
    int64_t eligible_ms = NEVER;
    /* STARTING: AcquireNodes is sent to a back end; there is no step yet */
    bool acquiring = false;
    /* why it waits, is suspended or has ended; for people */
    std::string reason;
    /* COMPLETING: its state afterwards; PENDING: it waits again */
    JobState verdict = JobState::DONE;
    bool releasing = false;     /* COMPLETING: the step has ended, its nodes are being released */
    uint32_t step = 0;          /* 1, 2, 3, ... each start has its own; 0: never started */
    std::string started_name;   /* its name when that step was started */
    std::string started_host;   /* and its first node */
    bool limit_changed = false; /* since that step was started */
    StepMode mode = StepMode::UNKNOWN;
    std::string broken;         /* not empty: how the step has broken the step protocol */
    uint64_t epoch = 0;         /* of the step, last committed; 0 at its launch */
    std::optional<Performance> performance;     /* of the step, once it has been sampled */
    World blocks;               /* the present world, in rank order; its processes are the size */
    ProcessGpus process_gpus;   /* of the world, for a job with GPUs for each process */
    /* All GPUs that it has booked, each node once.  With GPUs for each process they follow from
     * its present, joining and departing processes (collect_gpus). */
    std::vector<NodeGpus> gpus;
    std::optional<Adaptation> adaptation;
    std::vector<Departure> departures;
    std::optional<LastChange> last_change;
    std::optional<SetChanges> set_changes;      /* empty: it does not change through process sets */
    int64_t submitted_ms = NEVER;
    int64_t started_ms = NEVER; /* of the present or last step */
    int64_t suspended_at_ms = NEVER;    /* SUSPENDED: since when */
    int64_t suspended_ms = 0;   /* earlier suspensions of the step; its time limit excludes them */
    int64_t ended_ms = NEVER;
    std::optional<int> exit_code;       /* of the step that has ended; empty: unknown */
    /* history of the job */
    uint64_t requests = 0;      /* number of the last adaptation request */
    uint64_t committed = 0, withdrawn = 0, failed = 0;
    int64_t standstill_ms = 0;  /* sum over committed adaptations */
    int64_t last_adapted_ms = NEVER;
    /* Exponential means over committed adaptations (SPEC-performance K1); NEVER: there was none. */
    int64_t mean_standstill_ms = NEVER, mean_duration_ms = NEVER;
    int first_size = 0;         /* first size of the step */
    /* processes times time, of the step up to sized_ms, without suspended time */
    int64_t process_ms = 0;
    int64_t sized_ms = NEVER;   /* since when it has its present size */
    /* The resources that it has used, in all its steps; the present size is included up to
     * sized_ms. */
    std::vector<TimeAtSize> times;
    int64_t cpu_ms = NEVER;     /* NEVER: not measured */
    int64_t rss_bytes = NEVER;  /* of the largest of its processes */
    /* resending and patience; see core.cpp */
    int64_t deadline_ms = NEVER;        /* time of the next check of the job */
    /* end by the step's time limit (of a starting step: expected); NEVER also while it is
     * suspended */
    int64_t limit_at_ms = NEVER;
    int tries = 0;              /* of the action whose answer is awaited */
    int start_failures = 0;     /* in a row */
    /* by the back end, in a row and for the same reason: the pauses between starts grow */
    int start_refusals = 0;
    std::string start_refused;  /* that reason */
    int start_at_most = 0;      /* size of its next start: the back end refuses more; 0: any */
    int grow_at_most = 0;       /* likewise while it runs */
    bool starts_smaller = false;        /* without a pause, because a larger start was refused */
    int refusals = 0;           /* refused changes in a row: the pauses between offers grow */
    int64_t offer_after_ms = 0; /* no start and no change before this time */
    int64_t grow_after_ms = 0;  /* no growth before this time: its user is at a limit */
    /* Number of its processes that are core loans: they return when a waiting job needs them
     * (clause Q8 of the performance specification). */
    int loaned = 0;
    bool withheld_loan = false;     /* it did not return a loan on request: it gets no other loan */
    int wished_size = 0;        /* size set by a user: it does not grow beyond it; 0: none */
    std::optional<SizeRequest> size_request;    /* of the step, open */
    std::optional<SizeRequest> granted; /* the last one that was granted */
    std::string wishing;        /* the mpiexec of the last size request, whatever its result, */
    uint64_t last_size_request = 0;     /* and the number of that request */
    /* why the core refused the last one; empty: it was not refused */
    std::string size_request_refusal;
    std::optional<Slots> slots;         /* slots beside its world; empty: it never had any */
    int spawned_max = 0;        /* maximum number of processes of MPI_Comm_spawn that ran at once */
    std::vector<PublishedName> names;   /* of its processes, while it is allocated */
    /* The last computed value; it follows from the rest and the configuration and is not stored.
     * State::index and every new sample reset it. */
    mutable std::optional<SizeWorth> worth;

    int size() const { return blocks.processes(); }
    template <class Self, class Visit> static void fields(Self &self, Visit &visit)
    {
        ELASTIC_VISIT_FIELDS(id, request, spec, state, held, held_by_administrator, deferred,
                             waits_for, task, eligible_ms, acquiring, reason, verdict, releasing,
                             step, started_name, started_host, limit_changed, mode, broken, epoch,
                             performance, blocks, adaptation, departures, last_change,
                             set_changes, submitted_ms, started_ms, ended_ms, exit_code)
        ELASTIC_VISIT_FIELDS(requests, committed, withdrawn, failed, standstill_ms,
                             last_adapted_ms, mean_standstill_ms, mean_duration_ms, first_size,
                             process_ms, sized_ms, times, cpu_ms, rss_bytes, deadline_ms,
                             limit_at_ms, tries, start_failures, start_refusals, start_refused,
                             start_at_most, grow_at_most, starts_smaller, refusals,
                             offer_after_ms, grow_after_ms, loaned, withheld_loan, wished_size,
                             size_request, granted, wishing, last_size_request,
                             size_request_refusal, slots, spawned_max, names, gpus, process_gpus,
                             entered_ms, suspended_at_ms, suspended_ms)
    }
};

/* Adds time to the entry of that size. */
void add_time_at_size(std::vector<TimeAtSize> &times, int size, int64_t ms);
/* Adds the time of processes beside the world (TimeAtSize), up to now. */
void add_time_beside(std::vector<TimeAtSize> &times, const Job &job, int64_t now_ms);

/* The size beyond which no policy grows the job: the newest request of its user or its program,
 * else its maximum; minus its slots beside the world. */
int largest_wanted(const Job &job);
/* The size that its program requests, if it differs from the present size or leaves the slots
 * that the program waits for; 0: none. */
int size_wished(const Job &job);

/* The nodes of its slots beside the world, confirmed or not, and the number of these slots. */
Blocks slots_of(const Job &job);
int count_slots(const Job &job);
/* Number of processes of MPI_Comm_spawn that run now, and of those without cores. */
int count_spawned(const Job &job);
int count_unbooked(const Job &job);
/* Number of slots of the request that are not granted; 0 if it is refused. */
int open_slots(const Job &job, const SlotRequest &size_request);
/* Nodes on which a slot must be the only one of the job, including granted ones. */
std::vector<NodeName> exclusive_slots(const Job &job);
/* Its slots, and those for which its program waits. */
int claimed_slots(const Job &job);
/* Its program waits for another size, so that the job can have no other. */
inline bool is_modified(const Job &job)
{
    return job.size_request && job.size_request->modify;
}
/* The maximum number of slots that its program could ever have: beside its smallest world. */
int most_slots(const Job &job);

/* Nodes of its processes, including those that leave and its slots beside the world. */
Blocks present(const Job &job);

/* Whether a job in this state occupies nodes. */
bool is_allocated(JobState state);
/* By its newest sample: its program could not take part in an adaptation now, so that its size
 * is kept. */
bool is_in_rigid_phase(const Job &job);
/* A change of its size is agreed on, but its program does not reach a probe. */
inline bool is_overdue(const Job &job)
{
    return job.adaptation && job.adaptation->overdue;
}
/* Its step is or was suspended. */
inline bool was_suspended(const Job &job)
{
    return job.suspended_at_ms != NEVER || job.suspended_ms > 0;
}
/* Whether it waits only for its turn, or (a task) for the end of other tasks of its array. */
bool is_queued(const Job &job);
/* Limits the size of its next start; 0: not any more.  No program has reported sizes yet. */
void bound_start(Job &job, int size);
bool is_ready(const Job &job);

/* Whether the core accepts samples of its step. */
bool can_take(const Job &job, const Sample &sample);

/* Result of a dependency, by the state of the other job: fulfilled, open, or impossible. */
enum class DependencyState { MET, OPEN, NEVER_MET };
DependencyState dependency_state(DependencyKind kind, JobState state);
/* The state of an array, for dependencies on all its tasks. */
JobState state_of(const JobArray &array);
}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_JOB_H_INCLUDED */
