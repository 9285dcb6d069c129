/*
 * The daemon's end of the step protocol (doc/developer/step-protocol.md): the connection to one
 * mpiexec, and the events that it gives the core.
 *
 * A resize carries the core's request number as its `tag`.  Each connection reads the step's events
 * from the first on, so that accepted requests and their ends are known again after a restart of
 * the daemon: a request is sent only if no event has its tag.  The core ignores repetitions.
 *
 * The step is untrusted (step_message.h, line_connection.h).  A violation of the protocol's form
 * ends the connection permanently, and the core is notified (StepBroken).  A well-formed but
 * impossible message (an end of an unknown request, an epoch out of order) is dropped and counted.
 * Data of a step is bounded.  A step is not read while an event of it waits to be stored, and the
 * rate of its events is limited.
 *
 * After each report of changed slots the step is queried for all its slots: no single event of them
 * is needed.
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
    /* True: the event waits to be stored; pause() until then. */
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
        Descriptor connected;           /* connected to it; not open: the link connects itself */
        uint32_t uid = 0;
        uint64_t epoch_offset = 0;
        int processes_max = 0;          /* of the job: bound for the ranks in its messages */
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
    /* No effect if the request is no longer open, or belongs to another mpiexec. */
    void refuse(const RefuseSizeRequest &refusal);
    /* No effect if the request belongs to another mpiexec.  A repeated grant counts once. */
    void grant(const GrantSlots &grant);
    /* Queries the use of time of the processes, and sets the interval at which they write it (0:
     * nothing is measured).  False: a query is impossible now.  One query at a time: later
     * callers get the same answer. */
    bool query_performance(int64_t interval_ms);
    /* The host whose loss ends the job, as mpiexec reported; empty: none. */
    const std::string &lost_host() const { return lost_host_; }
    /* Reports all known data again. */
    void report_all();
    /* All its events are stored. */
    void resume();

    struct Counts {
        uint64_t broken = 0;    /* closed after a violation */
        uint64_t dropped = 0;   /* impossible events */
    };
    static const Counts &counts() { return counts_; }   /* of all links */

  private:
    static constexpr const char *SLOTS_ID = "slots";        /* id of that query */
    /* 0: no number. */
    static uint64_t parse_request(const std::string &tag);

    enum class Phase { WAITING, SENT, ACCEPTED, READY, ENDED };
    struct Request {
        Phase phase = Phase::WAITING;
        ResizeStep resize;
        uint64_t step_request = 0;
        std::vector<StepSetChange> set_changes;         /* reported, and replied, in order */
        bool cancelled = false;         /* sent as soon as its number is known */
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
    std::string broken_;                /* violation of the protocol by the step */
    bool caught_up_ = false;            /* all earlier events have been read */
    TokenBucket rate_;                  /* of reports */
    int64_t not_before_ms_ = 0;
    Loop::TimerId timer_ = 0;
    uint64_t epoch_ = 0, last_event_ = 0, known_until_ = 0;
    std::optional<StepMode> mode_;
    std::string sizes_;                 /* empty: not reported */
    std::string lost_host_;
    std::optional<StepSizeRequest> size_request_;      /* the open one */
    std::optional<StepSizeRequestEnded> size_request_ended_;   /* the last one that is not open */
    std::optional<StepSlots> slots_;    /* last answer */
    enum class Asking { NO, YES, AGAIN };
    Asking slots_queried_ = Asking::NO;
    double target_ms_ = 0;              /* 0: no request in progress */
    std::map<uint64_t, Request> requests_;      /* by the core's number */
    std::pair<uint64_t, uint64_t> under_way_ = {};      /* the step's number and the core's */
    std::vector<StepLeft> left_;                /* the last ones, by epoch */
    std::set<uint64_t> freed_;                  /* the core's epochs */
    uint64_t questions_ = 0;                    /* number of performance queries */
    bool answer_awaited_ = false;               /* the last query has no answer yet */
    static Counts counts_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEP_LINK_H_INCLUDED */
