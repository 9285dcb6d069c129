/*
 * The daemon's end of the step protocol (doc/developer/step-protocol.md): the connection to one
 * mpiexec, and the events that it gives the core.
 *
 * A resize carries the core's request number as its `tag`.  Each connection reads the step's
 * events from the first on, so that accepted requests and their ends are known again after a
 * restart of the daemon: a request is sent only if no event has its tag.  The core ignores
 * repetitions.
 *
 * The step is untrusted (step_message.h, line_connection.h).  A violation of the protocol's form
 * ends the connection for good, and the core is notified (StepBroken).  A well-formed but
 * impossible message (an end of an unknown request, an epoch out of order) is dropped and
 * counted.  Data of a step is bounded.  A step is not read while an event of it waits to be
 * stored, and its events have a rate.
 *
 * After each report of changed slots the step is queried for all its slots: no single event of
 * them is needed.
 *
 * Epochs of the core count over all mpiexecs of a step (a script may run several): `epoch_offset`
 * is the number of epochs that earlier ones committed.
 *
 * Owner of the connection.  Runs on the daemon's loop.
 */

#ifndef ELASTIC_RM_STEP_LINK_H_INCLUDED
#define ELASTIC_RM_STEP_LINK_H_INCLUDED

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/loop.h"
#include "core/action.h"
#include "core/event.h"
#include "step/gpu_numbers.h"
#include "step/line_connection.h"
#include "step/performance_answer.h"
#include "step/step_message.h"

namespace elastic::rm {

class StepLink {
  public:
    /* True: it waits to be stored; pause() until then. */
    using Notify = std::function<bool(EventContent)>;
    using LastRequest = std::function<uint64_t()>;      /* of the job, as the core knows it */
    using MostSlots = std::function<int()>;     /* of the job */
    /* An answer to query_performance arrived.  True: the core receives it. */
    using Sampled = std::function<bool(const PerformanceAnswer &)>;

    /* Its socket, its step, and its callbacks. */
    struct Setup {
        JobId job = 0;
        uint32_t step = 0;
        std::string socket;
        Descriptor connected;           /* to it; not open: the link connects itself */
        uint32_t uid = 0;
        uint64_t epoch_offset = 0;
        int processes_max = 0;          /* of the job: what it sends may name each */
        FirstGpu first_gpu = {};
        LastRequest last_request;
        MostSlots most_slots;
        Notify notify;
        Sampled sampled;
    };
    StepLink(Loop &loop, Setup setup);
    ~StepLink();
    StepLink(const StepLink &) = delete;
    StepLink &operator=(const StepLink &) = delete;

    const std::string &socket() const { return setup_.socket; }
    bool is_open() const { return connection_ != nullptr; }
    uint64_t epoch() const { return setup_.epoch_offset + epoch_; }

    void resize(const ResizeStep &resize);
    /* False: the step has not received the request, and never will. */
    bool cancel(const CancelRequest &cancel);
    /* Without effect if the request is no longer open, or belongs to another mpiexec. */
    void refuse(const RefuseSizeRequest &refusal);
    /* Nothing happens if it is another mpiexec's; who has it already, has it once. */
    void grant(const GrantSlots &grant);
    /* Queries the use of time of the processes, and sets how often they write it (0: nothing is
     * measured).  False: a query is impossible now.  One query at a time: callers meanwhile get
     * the same answer. */
    bool query_performance(int64_t interval_ms);
    /* All that is known, again. */
    void report_all();
    /* All its events are stored. */
    void resume();

    struct Counts {
        uint64_t broken = 0;    /* connections that were cut off */
        uint64_t dropped = 0;   /* events that cannot be */
    };
    static const Counts &counts() { return counts_; }   /* of all */

  private:
    static constexpr const char *SLOTS_ID = "slots";        /* of that query */
    /* 0: no number. */
    static uint64_t parse_request(const std::string &tag);

    enum class Phase { WAITING, SENT, ACCEPTED, READY, ENDED };
    struct Request {
        Phase phase = Phase::WAITING;
        ResizeStep resize;
        uint64_t step_request = 0;
        std::vector<StepSetChange> set_changes;         /* reported, and answered, in order */
        bool cancelled = false;         /* as soon as its number is known */
        std::optional<EventContent> end;
    };

    void connect();
    void closed(const std::string &broken);
    void cut_off(const std::string &why);
    void line(const Json &object);
    void answer(const StepMessage &message, const Json &line);
    void performance(const StepMessage &message, const Json &line);
    void event(const StepMessage &message);
    bool take_event(const StepMessage &message);
    bool requested(const StepMessage &message);
    bool request_event(const StepMessage &message);
    bool ready(uint64_t number, Request &request);
    bool committed(Request *request, const StepMessage &message);
    bool freed(uint64_t epoch);
    bool left(const StepMessage &message);
    bool set_change(const StepMessage &message, SetStage stage);
    bool mode(StepMode mode);
    bool sizes(const std::string &rule);
    bool size_request(const StepMessage &message);
    bool size_request_ended(const StepMessage &message);
    void report_size_request();
    void query_slots();
    void slots(const StepMessage &message, const Json &line);
    void caught_up();
    Json hosts_of_joining(const ResizeStep &resize) const;
    void send_resize(Request &request);
    void send_cancel(uint64_t step_request);
    void refuse(uint64_t request, const std::string &reason);
    void end(Request &request, EventContent content);
    void notify(EventContent content);
    void remove_old_requests();

    Loop &loop_;
    Setup setup_;
    std::unique_ptr<LineConnection> connection_;
    std::string broken_;                /* the protocol, by the step */
    bool caught_up_ = false;            /* the events that had happened before have been read */
    TokenBucket rate_;                  /* of reports */
    int64_t not_before_ms_ = 0;
    Loop::TimerId timer_ = 0;
    uint64_t epoch_ = 0, last_event_ = 0, known_until_ = 0;
    std::optional<StepMode> mode_;
    std::string sizes_;                 /* empty: not reported */
    std::optional<StepSizeRequest> size_request_;      /* that is open */
    std::optional<StepSizeRequestEnded> size_request_ended_;   /* the last one, if it is not */
    std::optional<StepSlots> slots_;    /* last answer */
    enum class Asking { NO, YES, AGAIN };
    Asking slots_queried_ = Asking::NO;
    double target_ms_ = 0;              /* 0: of no request that is under way */
    std::map<uint64_t, Request> requests_;      /* by the core's number */
    std::pair<uint64_t, uint64_t> under_way_ = {};      /* the step's number and the core's */
    std::vector<StepLeft> left_;                /* the last ones, by epoch */
    std::set<uint64_t> freed_;                  /* the core's epochs */
    uint64_t questions_ = 0;                    /* of performance */
    bool answer_awaited_ = false;               /* to the last of them */
    static Counts counts_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEP_LINK_H_INCLUDED */
