/*
 * What the core wants done.  An action may come again: the core sends one again when nothing is
 * heard of it for a while, and after a restart the daemon carries out all of Core::pending().
 * Whoever carries it out therefore does each at most once, by its key (job, step, request or
 * epoch), and answers every time with what is the case.
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
    BUSY        /* the job is adapting: again later */
};
template <> struct NamesOf<AnswerCode> {
    static constexpr const char *names[] = {"ok",      "field", "capacity", "limit",
                                            "unknown", "state", "rigid",    "busy"};
};

/* Answer to the request of a person; job 0: none. */
struct Answer {
    static constexpr const char *NAME = "answer";
    std::string request;
    AnswerCode code = AnswerCode::OK;   /* for programs */
    std::string message;        /* of an error, for people: what is wrong and what to do */
    JobId job = 0;
    ELASTIC_FIELDS(request, code, message, job)
};

/* Only with asynchronous_nodes.  Heard of by NodesAcquired or NodesRefused; `request` 0: for the
 * start. */
struct AcquireNodes {
    static constexpr const char *NAME = "acquire_nodes";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    Blocks blocks;
    ELASTIC_FIELDS(job, step, request, blocks)
};

/* Only with asynchronous_nodes.  Heard of by NodesReleased with the same request and all.
 * `request` is the one with which they left, or whose joining processes came to nothing; `all`:
 * everything that the step has, its acquisition under way included. */
struct ReleaseNodes {
    static constexpr const char *NAME = "release_nodes";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    bool all = false;
    Blocks blocks;
    ELASTIC_FIELDS(job, step, request, all, blocks)
};

/* Heard of by StepStarted or StepStartFailed (or StepEnded, StepLost, if it was quick). */
struct StartStep {
    static constexpr const char *NAME = "start_step";
    JobId job = 0;
    uint32_t step = 0;
    int size = 0;
    Blocks blocks;
    ELASTIC_FIELDS(job, step, size, blocks)
};

/* Heard of by StepAccepted or StepRefused, then StepReady, StepCommitted, StepWithdrawn or
 * StepFailed.  `epoch` is the last committed one, for the step protocol's if_epoch; `leave` are
 * ranks; `joining` says where the joining ranks go, in their order. */
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
    ELASTIC_FIELDS(job, step, request, epoch, size, leave, joining, reason)
};

/* Withdraw the ResizeStep `request` if the processes have not agreed.  Heard of by the request's
 * end, whichever.  If it never reached the step: StepRefused. */
struct CancelRequest {
    static constexpr const char *NAME = "cancel_request";
    JobId job = 0;
    uint32_t step = 0;
    uint64_t request = 0;
    uint64_t step_request = 0;
    ELASTIC_FIELDS(job, step, request, step_request)
};

/* The job can never have what its program wishes for (or, of places that do not wait, not now).
 * Heard of by StepWishEnded, or StepSlots; by StepWish or StepSlots again, if it did not arrive. */
struct RefuseWish {
    static constexpr const char *NAME = "refuse_wish";
    JobId job = 0;
    uint32_t step = 0;
    std::string mpiexec;
    uint64_t wish = 0;
    std::string reason;
    ELASTIC_FIELDS(job, step, mpiexec, wish, reason)
};

/* Places beside the world, for one of its wishes.  Heard of by StepSlots. */
struct GrantSlots {
    static constexpr const char *NAME = "grant_slots";
    JobId job = 0;
    uint32_t step = 0;
    std::string mpiexec;
    uint64_t wish = 0;
    uint64_t grant = 0;         /* 1, 2, 3, ... of this mpiexec */
    Blocks blocks;
    ELASTIC_FIELDS(job, step, mpiexec, wish, grant, blocks)
};

/* SIGTERM (15) or SIGKILL (9) for the whole step, also if it is only being started.  Heard of by
 * StepEnded, StepLost or StepStartFailed. */
struct SignalStep {
    static constexpr const char *NAME = "signal_step";
    JobId job = 0;
    uint32_t step = 0;
    int signal = 0;
    ELASTIC_FIELDS(job, step, signal)
};

/* The step's time limit is another now: so long after its start, for who watches it without us.
 * Nothing is heard of it. */
struct LimitStep {
    static constexpr const char *NAME = "limit_step";
    JobId job = 0;
    uint32_t step = 0;
    int64_t time_limit_ms = 0;  /* 0: none */
    ELASTIC_FIELDS(job, step, time_limit_ms)
};

/* Say (again) all that is the case: that the step was started, its mode, what became of its
 * requests, what is freed, its end.  After a restart every step is asked; otherwise now and then,
 * when something is overdue. */
struct QueryStep {
    static constexpr const char *NAME = "query_step";
    JobId job = 0;
    uint32_t step = 0;
    ELASTIC_FIELDS(job, step)
};

/* The one timer of the core: replaces the former one.  A Timer event is wanted at that time or
 * soon after; NEVER: none. */
struct SetTimer {
    static constexpr const char *NAME = "set_timer";
    int64_t at_ms = NEVER;
    ELASTIC_FIELDS(at_ms)
};

/* For the history: `number` is 1, 2, 3, ... without gaps.  The events and their data are listed
 * in record.h.  Carried out again, it is the same row. */
struct Record {
    static constexpr const char *NAME = "record";
    uint64_t number = 0;
    int64_t time_ms = 0;
    std::string event;
    JobId job = 0;              /* 0: not about a job */
    std::string node;           /* empty: not about a node */
    Json data = Json::object();
    /* One more member of the data: it can be long, and is written as JSON for whoever wants it
     * alone. */
    const char *list = nullptr; /* its name; null: there is none */
    Blocks blocks = {};

    Json whole_data() const;
    /* Of one whose data were read as JSON: puts the list where it belongs. */
    void find_list();
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

/* The core has forgotten this finished job; the daemon's store need not. */
struct ForgetJob {
    static constexpr const char *NAME = "forget_job";
    JobId job = 0;
    ELASTIC_FIELDS(job)
};

using Action = std::variant<Answer, AcquireNodes, ReleaseNodes, StartStep, ResizeStep,
                            CancelRequest, RefuseWish, GrantSlots, SignalStep, LimitStep, QueryStep,
                            SetTimer, Record, ForgetJob>;
using Actions = std::vector<Action>;

/* {"action": NAME, ...}; both directions. */
Json to_json(const Action &action);
Result<Action> action_from_json(const Json &json);
const char *name_of(const Action &action);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_ACTION_H_INCLUDED */
