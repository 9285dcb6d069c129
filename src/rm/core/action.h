/*
 * An action is an order of the core.  The core repeats an action that has no answer for some time,
 * and after a restart the daemon performs all of Core::pending().  The component that performs
 * actions therefore performs each one at most once, by its key (job, step, request or epoch), and
 * answers each time with the present state.
 */

#ifndef ELASTIC_RM_CORE_ACTION_H_INCLUDED
#define ELASTIC_RM_CORE_ACTION_H_INCLUDED

#include "core/job.h"

namespace elastic::rm {

enum class AnswerCode {
    OK,
    FIELD,      /* a value is impossible */
    CAPACITY,   /* more than the machine has */
    LIMIT,      /* too many jobs */
    UNKNOWN,    /* no such job or node */
    STATE,      /* not in this state of the job or node */
    RIGID,      /* the job's size cannot change */
    BUSY        /* the job is adapting: try again later */
};
template <> struct NamesOf<AnswerCode> {
    static constexpr const char *names[] = {"ok",      "field", "capacity", "limit",
                                            "unknown", "state", "rigid",    "busy"};
};

/* Answer to the request of a person.  `job` 0: none. */
struct Answer {
    static constexpr const char *NAME = "answer";
    std::string request;
    AnswerCode code = AnswerCode::OK;   /* for programs */
    std::string message;        /* for people: what is wrong and what to do */
    JobId job = 0;
    ELASTIC_FIELDS(request, code, message, job)
};

/* Only with asynchronous_nodes.  The answer is NodesAcquired or NodesRefused.  `request` is 0
 * for the start of the job. */
struct AcquireNodes {
    static constexpr const char *NAME = "acquire_nodes";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    Blocks blocks;
    ELASTIC_FIELDS(job, step, request, blocks)
};

/* Only with asynchronous_nodes.  The answer is NodesReleased with the same `request` and `all`.
 * `request` is the request with which the processes left, or whose joining processes were not
 * used.  `all` means all nodes of the step, including an acquisition in progress. */
struct ReleaseNodes {
    static constexpr const char *NAME = "release_nodes";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    bool all = false;
    Blocks blocks;
    ELASTIC_FIELDS(job, step, request, all, blocks)
};

/* The answer is StepStarted or StepStartFailed (or StepEnded, StepLost after a short run). */
struct StartStep {
    static constexpr const char *NAME = "start_step";
    JobId job = 0;
    uint32_t step = 0;
    int size = 0;
    Blocks blocks;
    ELASTIC_FIELDS(job, step, size, blocks)
};

/* The answers are StepAccepted or StepRefused, then StepReady, StepCommitted, StepWithdrawn or
 * StepFailed.  `epoch` is the last committed one, for if_epoch of the step protocol.  `leave`
 * lists ranks.  `joining` lists the nodes of the joining ranks, in rank order, each once; `gpus`
 * their GPUs. */
struct ResizeStep {
    static constexpr const char *NAME = "resize_step";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    uint64_t epoch = 0;
    int size = 0;
    std::vector<int> leave;
    Blocks joining;
    std::string reason;
    ProcessGpus gpus = {};
    ELASTIC_FIELDS(job, step, request, epoch, size, leave, joining, reason, gpus)
};

/* Withdraws the ResizeStep `request` if the processes have not agreed.  The answer is the end of
 * the request, or StepRefused if the request never reached the step. */
struct CancelRequest {
    static constexpr const char *NAME = "cancel_request";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    uint64_t step_request = 0;
    ELASTIC_FIELDS(job, step, request, step_request)
};

/* The job can never have the requested size (or, for slots with a soft request, not now).  The
 * answer is StepSizeRequestEnded or StepSlots.  StepSizeRequest or StepSlots repeats the request
 * if this action did not arrive. */
struct RefuseSizeRequest {
    static constexpr const char *NAME = "refuse_wish";
    JobId job = 0;
    uint32_t step = 0;
    std::string mpiexec;
    uint64_t size_request = 0;
    std::string reason;
    ELASTIC_FIELDS(job, step, mpiexec, size_request, reason)
};

/* Slots beside the world, for one slot request.  The answer is StepSlots. */
struct GrantSlots {
    static constexpr const char *NAME = "grant_slots";
    JobId job = 0;
    uint32_t step = 0;
    std::string mpiexec;
    uint64_t size_request = 0;
    uint64_t grant = 0;         /* 1, 2, 3, ... of this mpiexec */
    Blocks blocks;
    ELASTIC_FIELDS(job, step, mpiexec, size_request, grant, blocks)
};

/* Sends SIGTERM (15) or SIGKILL (9) to the whole step, even while it starts.  The answer is
 * StepEnded, StepLost or StepStartFailed. */
struct SignalStep {
    static constexpr const char *NAME = "signal_step";
    JobId job = 0;
    uint32_t step = 0;
    int signal = 0;
    ELASTIC_FIELDS(job, step, signal)
};

/* Stops all processes of the step and its own watch of the time limit, or lets them continue.
 * There is no answer. */
struct SuspendStep {
    static constexpr const char *NAME = "suspend_step";
    JobId job = 0;
    uint32_t step = 0;
    bool suspended = false;
    ELASTIC_FIELDS(job, step, suspended)
};

/* Sets another time limit, counted from the start of the step, for the process that enforces it
 * without elasticd.  There is no answer. */
struct LimitStep {
    static constexpr const char *NAME = "limit_step";
    JobId job = 0;
    uint32_t step = 0;
    int64_t time_limit_ms = 0;  /* 0: none */
    ELASTIC_FIELDS(job, step, time_limit_ms)
};

/* Requests a report of the whole state of the step: its start, its mode, the results of
 * requests, free nodes, its end.  The core queries every step after a restart, and a single step
 * when an answer is overdue. */
struct QueryStep {
    static constexpr const char *NAME = "query_step";
    JobId job = 0;
    uint32_t step = 0;
    ELASTIC_FIELDS(job, step)
};

/* The one timer of the core; it replaces the former one.  The core expects a Timer event at that
 * time or soon after.  NEVER: no timer. */
struct SetTimer {
    static constexpr const char *NAME = "set_timer";
    int64_t at_ms = NEVER;
    ELASTIC_FIELDS(at_ms)
};

/* A row of the history: `number` is 1, 2, 3, ... without gaps.  The events and their data are
 * listed in record.h.  A repeated action gives the same row. */
struct Record {
    static constexpr const char *NAME = "record";
    uint64_t number = 0;
    int64_t time_ms = 0;
    std::string event;
    JobId job = 0;              /* 0: not about a job */
    std::string node;           /* empty: not about a node */
    Json data = Json::object();
    /* One more member of the data.  It can be long, and is stored as JSON that can be read
     * separately. */
    const char *list = nullptr; /* name of the list; null: no list */
    Blocks blocks = {};
    /* One more member: of a submitted job.  The tasks of an array share it. */
    std::shared_ptr<const JobSpec> spec = nullptr;

    Json whole_data() const;
    /* For a Record whose data were read as JSON: moves the list and the specification to their
     * members. */
    void find_members();
    template <class Self, class Visit> static void fields(Self &self, Visit &visit)
    {
        visit("number", self.number);
        visit("time_ms", self.time_ms);
        visit("event", self.event);
        visit("job", self.job);
        visit("node", self.node);
        if constexpr (std::is_const_v<Self>)
            visit("data", self.whole_data());
        else
            visit("data", self.data);
    }
};

/* The core has removed this finished job; the daemon's store may hold it longer. */
struct RemoveJob {
    static constexpr const char *NAME = "forget_job";
    JobId job = 0;
    ELASTIC_FIELDS(job)
};

using Action = std::variant<Answer, AcquireNodes, ReleaseNodes, StartStep, ResizeStep,
                            CancelRequest, RefuseSizeRequest, GrantSlots, SignalStep, SuspendStep,
                            LimitStep, QueryStep, SetTimer, Record, RemoveJob>;
using Actions = std::vector<Action>;

/* {"action": NAME, ...}, in both directions. */
Json to_json(const Action &action);
Result<Action> action_from_json(const Json &json);
const char *name_of(const Action &action);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_ACTION_H_INCLUDED */
