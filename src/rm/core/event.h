/*
 * Input of the core.  The ordered log of events defines the state: the same events give the same
 * state and the same actions.  The sender numbers the events (seq 1, 2, 3, ...) and adds the time,
 * which never decreases.
 *
 * Requests of people carry `request`, a text of at most 64 bytes chosen by the daemon (or by the
 * client, so that it may safely repeat a Submit).  Exactly one Answer answers each of them.  The
 * daemon checks first whether the user may make the request.
 *
 * Step events carry the job and the number of its step.  An event of an older step, of a request
 * that has ended, or a repetition is counted and has no other effect: steps may repeat events.
 */

#ifndef ELASTIC_RM_CORE_EVENT_H_INCLUDED
#define ELASTIC_RM_CORE_EVENT_H_INCLUDED

#include "core/config.h"
#include "core/job.h"

namespace elastic::rm {

/* The first event of a log; repeated whenever the configuration has changed. */
struct Configure {
    static constexpr const char *NAME = "configure";
    Config config;
    ELASTIC_FIELDS(config)
};

/* ---- requests of people ------------------------------------------------------------ */

/* The daemon stores the program, its environment and its files under the id of the job, which
 * the Answer contains.  A repeated request returns the same job while that job is known. */
/* With an array (JobSpec::array): as many jobs as it has tasks; the Answer gives the first. */
struct Submit {
    static constexpr const char *NAME = "submit";
    std::string request;
    JobSpec spec;
    ELASTIC_FIELDS(request, spec)
};

/* Concerns one job, or tasks of the array with this number: indices such as 3-9, or ALL_TASKS. */
struct JobRequest {
    std::string request;
    JobId job = 0;
    std::string tasks = "";     /* empty: of that job alone */
    ELASTIC_FIELDS(request, job, tasks)
};
constexpr const char *ALL_TASKS = "*";
/* `by` and `reason` are for people, and become part of the job's reason. */
struct Cancel : JobRequest {
    static constexpr const char *NAME = "cancel";
    std::string by = "", reason = "";
    ELASTIC_FIELDS(request, job, tasks, by, reason)
};
/* A job that starts or runs is ended, and waits again.  `by` is for people. */
struct Requeue : JobRequest {
    static constexpr const char *NAME = "requeue";
    std::string by = "";
    ELASTIC_FIELDS(request, job, tasks, by)
};
/* Only for a running job: all processes of its step stop, and its time limit with them; its
 * nodes stay booked.  `by` is for people. */
struct SuspendJob : JobRequest {
    static constexpr const char *NAME = "suspend_job";
    std::string by = "";
    ELASTIC_FIELDS(request, job, tasks, by)
};
struct ResumeJob : JobRequest { /* ends SuspendJob */
    static constexpr const char *NAME = "resume_job";
    std::string by = "";
    ELASTIC_FIELDS(request, job, tasks, by)
};
/* Only for a waiting job.  A hold of an administrator is released by an administrator alone. */
struct Hold : JobRequest {
    static constexpr const char *NAME = "hold";
    bool administrator = false;
    ELASTIC_FIELDS(request, job, tasks, administrator)
};
struct Release : JobRequest {
    static constexpr const char *NAME = "release";
    bool administrator = false;
    ELASTIC_FIELDS(request, job, tasks, administrator)
};

/* Accepted or refused by the Answer; an accepted one ends in one Record committed, withdrawn or
 * failed.  `by` and `reason` are for people; the program receives the reason, too. */
struct Resize {
    static constexpr const char *NAME = "resize";
    std::string request;
    JobId job = 0;
    int size = 0;
    std::string by = "", reason = "";
    ELASTIC_FIELDS(request, job, size, by, reason)
};

/* Changes the specification of a waiting or running job; empty members change nothing.  The size
 * range of a running job changes only if the job is malleable and its present size lies in the
 * range.  A time limit grows only with `may_extend`, which goes beyond limits of partitions, too.
 * A running job stays in its partition. */
struct Update {
    static constexpr const char *NAME = "update";
    std::string request;
    JobId job = 0;
    std::optional<std::string> name, partition;
    std::optional<int64_t> time_limit_ms;
    std::optional<int> priority, minimum, maximum, preferred;
    bool may_extend = false;    /* the requester is an administrator */
    ELASTIC_FIELDS(request, job, name, time_limit_ms, priority, minimum, maximum, preferred,
                   may_extend, partition)
};

/* A name of a job's processes, unique among the jobs of its user.  Only a running job can have
 * one.  A new port replaces the job's former one of the same name.  The name is withdrawn when
 * the job ends. */
struct PublishName {
    static constexpr const char *NAME = "publish_name";
    std::string request;
    JobId job = 0;
    std::string name, port;
    std::string holder = "";            /* PublishedName */
    ELASTIC_FIELDS(request, job, name, port, holder)
};
struct WithdrawName {
    static constexpr const char *NAME = "withdraw_name";
    std::string request;
    JobId job = 0;
    std::string name;
    std::string holder = "";            /* only if this process holds it; empty: any holder */
    ELASTIC_FIELDS(request, job, name, holder)
};

struct Drain {                  /* no new processes are allocated on the node */
    static constexpr const char *NAME = "drain";
    std::string request;
    std::string node;
    std::string reason;
    ELASTIC_FIELDS(request, node, reason)
};

struct Resume {                 /* ends Drain; a node that is down stays down until NodeUp */
    static constexpr const char *NAME = "resume";
    std::string request;
    std::string node;
    ELASTIC_FIELDS(request, node)
};

/* ---- the back end ------------------------------------------------------------ */

/* A new node, or a known one that works again; a drained one stays drained. */
struct NodeUp {
    static constexpr const char *NAME = "node_up";
    std::string node;
    int cores = 0;
    ELASTIC_FIELDS(node, cores)
};

/* Number of GPUs of a known node.  If jobs use others, it drains until these have ended. */
struct NodeGpusSet {
    static constexpr const char *NAME = "node_gpus";
    std::string node;
    int gpus = 0;
    ELASTIC_FIELDS(node, gpus)
};

/* No new processes are allocated on the node, and malleable jobs leave it, until NodeUp or
 * NodeDown. */
struct NodeSuspect {
    static constexpr const char *NAME = "node_suspect";
    std::string node;
    std::string reason;
    ELASTIC_FIELDS(node, reason)
};

/* The processes of the node have ended, and the steps on it end.  For a node that is down
 * already, only the reason changes.  A new node becomes known, with `cores` if that number is
 * known (0: it counts as one). */
struct NodeDown {
    static constexpr const char *NAME = "node_down";
    std::string node;
    std::string reason;
    int cores = 0;
    ELASTIC_FIELDS(node, reason, cores)
};

/* The node accepts no more bookings; the core removes it when its last booking ends. */
struct NodeRemoved {
    static constexpr const char *NAME = "node_removed";
    std::string node;
    ELASTIC_FIELDS(node)
};

/* Answers to AcquireNodes (only with asynchronous_nodes).  `request` 0 is the start of the job.
 * The blocks are those of the request, or others for the same number of processes: the back end
 * may choose (NodeUp announces new nodes first). */
struct NodesAcquired {
    static constexpr const char *NAME = "nodes_acquired";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    Blocks blocks;
    ELASTIC_FIELDS(job, step, request, blocks)
};

struct NodesRefused {
    static constexpr const char *NAME = "nodes_refused";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    std::string reason;
    /* of a start: */
    bool never = false;         /* the back end will never provide the nodes */
    bool busy = false;          /* the nodes are in use: it may be possible soon */
    int nodes_max = 0;          /* it may be possible with this number of nodes; 0: it is not */
    bool per_job = false;       /* nodes_max is for one job, also while it runs */
    ELASTIC_FIELDS(job, step, request, reason, never, busy, nodes_max, per_job)
};

/* Answer to ReleaseNodes: the nodes that left with `request` are free; `all`: all nodes of the
 * step. */
struct NodesReleased {
    static constexpr const char *NAME = "nodes_released";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    bool all = false;
    ELASTIC_FIELDS(job, step, request, all)
};

/* The owner of the nodes has withdrawn nodes from the step (only with asynchronous_nodes): the
 * processes on them are ended.  If the step has ended already, this is the reason. */
struct NodesLost {
    static constexpr const char *NAME = "nodes_lost";
    JobId job = 0;
    uint32_t step = 0;
    std::string reason;
    ELASTIC_FIELDS(job, step, reason)
};

/* Jobs of others wait for this number of whole nodes, before all jobs of this queue; 0: none
 * waits.  Each event replaces the one before. */
struct NodesWanted {
    static constexpr const char *NAME = "nodes_wanted";
    int nodes = 0;
    std::string by;             /* for people */
    ELASTIC_FIELDS(nodes, by)
};

/* ---- steps ------------------------------------------------------------ */

struct StepEvent {
    JobId job = 0;
    uint32_t step = 0;
    ELASTIC_FIELDS(job, step)
};
struct StepStarted : StepEvent {        /* mpiexec runs */
    static constexpr const char *NAME = "step_started";
};
struct StepAdaptive : StepEvent {       /* the program takes adaptations */
    static constexpr const char *NAME = "step_adaptive";
};
struct StepRigid : StepEvent {          /* it called plain MPI_Init (SPEC I3) */
    static constexpr const char *NAME = "step_rigid";
};

struct StepSizes {                      /* the sizes that the program can use, as it reported */
    static constexpr const char *NAME = "step_sizes";
    JobId job = 0;
    uint32_t step = 0;
    std::string rule;                   /* of program_sizes.h */
    ELASTIC_FIELDS(job, step, rule)
};

/* A size request of the program (MPIX_Adapt_request).  At most one is open.  The step repeats it
 * when the core queries the step. */
struct StepSizeRequest {
    static constexpr const char *NAME = "step_wish";
    JobId job = 0;
    uint32_t step = 0;
    SizeRequest size_request;
    ELASTIC_FIELDS(job, step, size_request)
};

/* The request is granted (the step has a size that it allows), refused or withdrawn. */
struct StepSizeRequestEnded {
    static constexpr const char *NAME = "step_wish_ended";
    JobId job = 0;
    uint32_t step = 0;
    std::string mpiexec;
    uint64_t size_request = 0;
    std::string result;                 /* "granted", "refused" or "withdrawn" */
    std::string reason;                 /* of a refused or withdrawn one */
    ELASTIC_FIELDS(job, step, mpiexec, size_request, result, reason)
};

/* All slots that the step has beside its world, and all that it requests.  `reported` rises with
 * each change.  `granted` is the last GrantSlots that is included. */
struct StepSlots {
    static constexpr const char *NAME = "step_slots";
    struct Held {
        std::string node;
        int extra_slots = 0;
        bool exclusive = false;         /* it must be the only slot of the job on its node */
        ELASTIC_FIELDS(node, extra_slots, exclusive)
    };
    JobId job = 0;
    uint32_t step = 0;
    std::string mpiexec;
    uint64_t reported = 0, granted = 0;
    std::vector<Held> held;
    std::vector<SlotRequest> slot_requests;       /* as the step knows them; numbers rising */
    std::vector<NodeProcesses> spawned;
    bool over = false;                  /* the mpiexec has ended: it has no slots any more */
    ELASTIC_FIELDS(job, step, mpiexec, reported, granted, held, slot_requests, spawned, over)
};

/* Whether the report changes what the core knows (`known`). */
bool changes_slots(const Slots &known, const StepSlots &event);

struct StepStartFailed {                /* nothing runs and nothing is left of the attempt */
    static constexpr const char *NAME = "step_start_failed";
    JobId job = 0;
    uint32_t step = 0;
    std::string reason;
    bool node_fault = false; /* its node caused the failure, independent of the program */
    /* elasticd lacks a resource, such as descriptors or disk space: other starts would fail, too */
    bool own_fault = false;
    ELASTIC_FIELDS(job, step, reason, node_fault, own_fault)
};

/* ResizeStep `request` was accepted, as the step's own `step_request`. */
struct StepAccepted {
    static constexpr const char *NAME = "step_accepted";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    uint64_t step_request = 0;
    ELASTIC_FIELDS(job, step, request, step_request)
};

struct StepReady {                      /* all joining processes wait in begin */
    static constexpr const char *NAME = "step_ready";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    ELASTIC_FIELDS(job, step, request)
};

/* The new world.  `epoch` is the last committed one plus 1.  `standstill_ms`: how long the
 * program stood still for it (from agreement to commit; 0: unknown). */
struct StepCommitted {
    static constexpr const char *NAME = "step_committed";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    uint64_t epoch = 0;
    int64_t standstill_ms = 0;
    ELASTIC_FIELDS(job, step, request, epoch, standstill_ms)
};

/* The other ends of a ResizeStep: refused by the step (error answer), withdrawn, failed.  The
 * world is as it was, and joining processes have ended or are being removed by the step. */
struct RequestEnded {
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    std::string reason;
    ELASTIC_FIELDS(job, step, request, reason)
};
struct StepRefused : RequestEnded {
    static constexpr const char *NAME = "step_refused";
};
struct StepWithdrawn : RequestEnded {
    static constexpr const char *NAME = "step_withdrawn";
};
struct StepFailed : RequestEnded {
    static constexpr const char *NAME = "step_failed";
};

/* Progress of the step and the times of its loops since its last commit: only values that the
 * step has measured itself.  A sample of another epoch, or an older one, has no effect. */
struct StepSampled {
    static constexpr const char *NAME = "step_sampled";
    JobId job = 0;
    uint32_t step = 0;
    Sample sample;
    ELASTIC_FIELDS(job, step, sample)
};

struct StepFreed {                      /* the processes that left with `epoch` have ended */
    static constexpr const char *NAME = "step_freed";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t epoch = 0;
    ELASTIC_FIELDS(job, step, epoch)
};

/* Processes have ended without a request (a program that changes through process sets).  `epoch`
 * is the last one plus 1. */
struct StepLeft {
    static constexpr const char *NAME = "step_left";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t epoch = 0;
    std::vector<int> leave;             /* ranks before, rising */
    ELASTIC_FIELDS(job, step, epoch, leave)
};

/* A change through process sets: a process of the program has been notified, or has answered.
 * For display; the events above report the result.  `number` is 1, 2, ... within the request,
 * since notifications may be repeated. */
struct StepSetChange {
    static constexpr const char *NAME = "step_set_change";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    uint64_t number = 0;
    SetStage stage = SetStage::NOTIFIED;
    uint64_t uid = 0;
    ELASTIC_FIELDS(job, step, request, number, stage, uid)
};

/* The step has broken the step protocol, and its reports are not accepted any more.  It
 * continues with its size and with all resources that it may have until it ends. */
struct StepBroken {
    static constexpr const char *NAME = "step_broken";
    JobId job = 0;
    uint32_t step = 0;
    std::string reason;
    ELASTIC_FIELDS(job, step, reason)
};

struct StepEnded {                      /* mpiexec and all its processes have ended */
    static constexpr const char *NAME = "step_ended";
    JobId job = 0;
    uint32_t step = 0;
    int exit_code = 0;                  /* 128 + signal if a signal ended it */
    std::string reason;                 /* may be empty */
    bool signalled = false; /* it had been sent a signal, which may have caused its end */
    /* For its processes on the host of mpiexec: processor time, and the largest resident set. */
    int64_t cpu_ms = NEVER, rss_bytes = NEVER;
    ELASTIC_FIELDS(job, step, exit_code, reason, signalled, cpu_ms, rss_bytes)
};

/* It is certain that nothing of the step runs, but it is not known how it ended. */
struct StepLost {
    static constexpr const char *NAME = "step_lost";
    JobId job = 0;
    uint32_t step = 0;
    std::string reason;
    ELASTIC_FIELDS(job, step, reason)
};

struct Timer {                          /* the time of SetTimer has come */
    static constexpr const char *NAME = "timer";
    template <class Self, class Visit> static void fields(Self &, Visit &) {}
};

/* A new reservation of nodes, or new data of one that a command has made.  `from_ms` 0: now. */
struct SetReservation {
    static constexpr const char *NAME = "set_reservation";
    std::string request;
    bool is_new = true;
    std::string by;                     /* an administrator */
    NodeReservation reservation;
    ELASTIC_FIELDS(request, is_new, by, reservation)
};

struct DeleteReservation {              /* one that a command has made */
    static constexpr const char *NAME = "delete_reservation";
    std::string request;
    std::string name, by;
    ELASTIC_FIELDS(request, name, by)
};

using EventContent =
    std::variant<Configure, Submit, Cancel, Requeue, SuspendJob, ResumeJob, Hold, Release, Resize,
                 Update, PublishName, WithdrawName, Drain, Resume, NodeUp, NodeGpusSet,
                 NodeSuspect, NodeDown, NodeRemoved, NodesAcquired, NodesRefused, NodesReleased,
                 NodesLost, NodesWanted, StepStarted, StepAdaptive, StepRigid, StepSizes,
                 StepSizeRequest, StepSizeRequestEnded, StepSlots, StepStartFailed, StepAccepted,
                 StepReady, StepCommitted, StepRefused, StepWithdrawn, StepFailed, StepFreed,
                 StepLeft, StepSetChange, StepSampled, StepBroken, StepEnded, StepLost, Timer,
                 SetReservation, DeleteReservation>;

struct Event {
    uint64_t seq = 0;
    int64_t time_ms = 0;
    EventContent content;
};

/* {"event": NAME, "seq": 7, "time_ms": 1700000000000, ...}, in both directions. */
Json to_json(const Event &event);
Result<Event> event_from_json(const Json &json);
const char *name_of(const EventContent &content);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_EVENT_H_INCLUDED */
