/*
 * The daemon's end of the step protocol (doc/developer/step-protocol.md): one mpiexec, followed
 * event by event, and what the core is told of it.
 *
 * A resize carries the core's request number as its `tag`.  On every connection the step's events
 * are read from the first on, so that what was accepted, and how it ended, is known again after a
 * restart of the daemon: a request is sent only if the events do not know its tag.  The core
 * ignores repetitions.
 *
 * The step is a stranger (step_message.h, line_connection.h).  What breaks the protocol's form ends
 * the connection for good, and the core is told (StepBroken).  What is well formed and cannot be
 * (an end of a request that was never made, an epoch out of order) is dropped and counted.  What is
 * kept of a step is bounded.  A step that talks is not read while something of it waits to be
 * stored, and its events have a rate.
 *
 * Of places beside the world the step is asked for all that it has whenever it tells that something
 * of them has changed: no event of them need be seen, and none need be put together here.
 *
 * Epochs of the core count over all mpiexecs of a step (a script may run several): `epoch_offset`
 * is what earlier ones committed.
 *
 * Owner of the connection.  On the daemon's loop.
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
#include "step/line_connection.h"
#include "step/performance_answer.h"
#include "step/step_message.h"

namespace elastic::rm {

class StepLink {
  public:
    /* True: it waits to be stored; pause() until then. */
    using Tell = std::function<bool(EventContent)>;
    using LastRequest = std::function<uint64_t()>;      /* of the job, as the core knows it */
    using MostSlots = std::function<int()>;     /* of the job */
    /* An answer to ask_performance has come.  True: the core is to hear of it. */
    using Sampled = std::function<bool(const PerformanceAnswer &)>;

    /* What it is connected to, and what it calls. */
    struct Place {
        JobId job = 0;
        uint32_t step = 0;
        std::string socket;
        Descriptor connected;           /* to it; not open: the link connects itself */
        uint32_t uid = 0;
        uint64_t epoch_offset = 0;
        int processes_max = 0;          /* of the job: what it sends may name each */
        LastRequest last_request;
        MostSlots most_slots;
        Tell tell;
        Sampled sampled;
    };
    StepLink(Loop &loop, Place place);
    ~StepLink();
    StepLink(const StepLink &) = delete;
    StepLink &operator=(const StepLink &) = delete;

    const std::string &socket() const { return place_.socket; }
    bool is_open() const { return connection_ != nullptr; }
    uint64_t epoch() const { return place_.epoch_offset + epoch_; }

    void resize(const ResizeStep &resize);
    /* False: the step never heard of the request, and will not. */
    bool cancel(const CancelRequest &cancel);
    /* Nothing happens if the wish is open no more, or another mpiexec's. */
    void refuse(const RefuseWish &refusal);
    /* Nothing happens if it is another mpiexec's; who has it already, has it once. */
    void grant(const GrantSlots &grant);
    /* What the processes do with their time, and how often they are to write it down (0: nothing is
     * measured).  False: it cannot be asked now.  One question at a time: who asks meanwhile gets
     * the same answer. */
    bool ask_performance(int64_t interval_ms);
    /* All that is known, again. */
    void tell_all();
    /* All that it has told is stored. */
    void resume();

    struct Counts {
        uint64_t broken = 0;    /* connections that were cut off */
        uint64_t dropped = 0;   /* events that cannot be */
    };
    static const Counts &counts() { return counts_; }   /* of all */

  private:
    enum class Phase { WAITING, SENT, ACCEPTED, READY, ENDED };
    struct Request {
        Phase phase = Phase::WAITING;
        ResizeStep resize;
        uint64_t step_request = 0;
        std::vector<StepSetChange> set_changes;         /* told, and answered, in order */
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
    bool wish(const StepMessage &message);
    bool wish_ended(const StepMessage &message);
    void tell_wish();
    void ask_slots();
    void slots(const StepMessage &message, const Json &line);
    void caught_up();
    void send_resize(Request &request);
    void send_cancel(uint64_t step_request);
    void refuse(uint64_t request, const std::string &reason);
    void end(Request &request, EventContent content);
    void tell(EventContent content);
    void forget_old_requests();

    Loop &loop_;
    Place place_;
    std::unique_ptr<LineConnection> connection_;
    std::string broken_;                /* the protocol, by the step */
    bool caught_up_ = false;            /* the events that had happened before have been read */
    TokenBucket rate_;                  /* of what is told */
    int64_t not_before_ms_ = 0;
    Loop::TimerId timer_ = 0;
    uint64_t epoch_ = 0, last_event_ = 0, known_until_ = 0;
    std::optional<StepMode> mode_;
    std::string sizes_;                 /* empty: nothing said */
    std::optional<StepWish> wish_;      /* that is open */
    std::optional<StepWishEnded> wish_ended_;   /* the last one, if it is not */
    std::optional<StepSlots> slots_;    /* last answer */
    enum class Asking { NO, YES, AGAIN };
    Asking slots_asked_ = Asking::NO;
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
