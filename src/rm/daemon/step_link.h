/*
 * The daemon's end of the step protocol (doc/step-protocol.md): one mpiexec, followed event by
 * event, and what the core is told of it.
 *
 * A resize carries the core's request number as its `tag`.  On every connection the step's events
 * are read from the first on, so that what was accepted, and how it ended, is known again after a
 * restart of the daemon: a request is sent only if the events do not know its tag.  The core
 * ignores repetitions.
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
#include <string>

#include "core/action.h"
#include "core/event.h"
#include "daemon/line_connection.h"
#include "daemon/loop.h"

namespace elastic::rm {

class StepLink {
  public:
    using Tell = std::function<void(EventContent)>;

    StepLink(Loop &loop, JobId job, uint32_t step, std::string socket, uint32_t uid, uint64_t epoch_offset, Tell tell);

    const std::string &socket() const { return socket_; }
    uint64_t epoch() const { return epoch_offset_ + epoch_; }

    void resize(const ResizeStep &resize);
    /* False: the step never heard of the request, and will not. */
    bool cancel(const CancelRequest &cancel);
    /* All that is known, again. */
    void tell_all();

  private:
    enum class Phase { WAITING, SENT, ACCEPTED, READY, ENDED };
    struct Request {
        Phase phase = Phase::WAITING;
        ResizeStep resize;
        uint64_t step_request = 0;
        bool cancelled = false;         /* as soon as its number is known */
        std::optional<EventContent> end;
    };

    void connect();
    void line(const Json &object);
    void answer(const Json &object);
    void event(const Json &object);
    void request_event(const std::string &name, const Json &object, uint64_t request);
    void caught_up();
    void send_resize(Request &request);
    void send_cancel(uint64_t step_request);
    void refuse(uint64_t request, const std::string &reason);
    void end(Request &request, EventContent content);

    Loop &loop_;
    JobId job_;
    uint32_t step_;
    std::string socket_;
    uint32_t uid_;
    uint64_t epoch_offset_;
    Tell tell_;
    std::unique_ptr<LineConnection> connection_;
    bool caught_up_ = false;            /* the events that had happened before have been read */
    uint64_t epoch_ = 0, next_event_ = 1, known_until_ = 0;
    std::optional<StepMode> mode_;
    double target_ms_ = 0;
    std::map<uint64_t, Request> requests_;      /* by the core's number */
    std::map<uint64_t, uint64_t> core_request_; /* of the step's */
    std::map<uint64_t, bool> freed_;            /* the core's epochs */
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEP_LINK_H_INCLUDED */
