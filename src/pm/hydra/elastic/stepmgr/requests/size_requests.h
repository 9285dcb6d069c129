/*
 * Requests for another size of the world, from all origins: the schedule or policy (size_source.h),
 * the program (MPIX_Adapt_request, hints, operations on process sets), MPIX_Comm_modify, and
 * clients (resize_requests.h).  Each is a SizeRequest.  Only deliver() turns one into an adaptation
 * (AdaptationControl).
 *
 * Requests of the program enter by submit() and may wait (size_request_queue.h).  Without a
 * resource manager the open request becomes an adaptation as soon as no other adaptation is under
 * way.  Otherwise the resource manager receives the event "wish", and resizes the step or refuses.
 * In both cases the commit of a size that the request allows grants it.  Its end is an event, and
 * is written to the boards of all processes that made the request.
 *
 *   size_requests.cpp   size requests of the program, and their outcomes
 *   comm_modify.cpp     MPIX_Comm_modify
 *   size_hints.cpp      sizes that the program prefers
 *   size_delivery.cpp   from a request to the adaptation; the schedule or policy; sizes that the
 *                       program can use
 *
 * Invariants: each size request has exactly one end; a schedule or policy is considered when no
 * adaptation is under way, after the open size request.
 */

#ifndef ELASTIC_SIZE_REQUESTS_H_INCLUDED
#define ELASTIC_SIZE_REQUESTS_H_INCLUDED

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/program_sizes.h"
#include "stepmgr/common/size_request.h"
#include "stepmgr/proto/payload.h"
#include "stepmgr/proto/protocol.h"
#include "stepmgr/requests/size_request_queue.h"
#include "stepmgr/requests/size_source.h"
#include "stepmgr/state/adaptation_control.h"
#include "stepmgr/state/size_request_control.h"
#include "stepmgr/state/step_state.h"

namespace elastic {

/* The reason why a size is impossible now. */
struct SizeRefusal {
    enum class Cause { CHANGE, PROGRAM_SIZES, RANGE, CAPACITY } cause;
    std::string why;            /* and the remedy */
};

/* A request that has become an adaptation. */
struct DeliveredRequest {
    uint64_t request = 0;
    uint32_t epoch = 0;
    int old_size = 0;
};

class SizeRequests final : public SizeRequestControl {
  public:
    struct Hooks {
        /* "": there are slots for a world of this size; else the reason why not. */
        std::function<std::string(int size)> why_no_capacity;
        std::function<size_t()> slots_held;
        /* Removes processes that have ended from a world that changes through process sets. */
        std::function<void()> drop_ended;
        /* Whether an operation on process sets waits for a change; its size request has ended. */
        std::function<bool()> operation_waits;
        std::function<void(SizeRequestEnd end, const std::string &reason)> operation_ended;
    };

    SizeRequests(StepState &state, SizeSource source, AdaptationControl &control, Hooks hooks)
        : state_(state), source_(std::move(source)), control_(control), hooks_(std::move(hooks))
    {
    }

    /* Reports of processes. */
    void on_size_request(const Process &process, const SizeRequestReport &report);
    void on_withdrawn(const Process &process, uint32_t number);
    void on_sizes(const SizesReport &report);
    /* A process has left or ended. */
    void process_left(const Process &process, const std::string &why);
    /* Returns the reply to hints of the process with this uid. */
    std::string add_hints(uint32_t uid, const SetData &hints) override;

    /* Events of the job: the launch has started, the job can adapt, an adaptation of any origin has
     * ended, the job is over. */
    void launched() { source_.launched(state_.now_ms); }
    void adaptive() override { source_.adaptive(state_.now_ms); }
    void adaptation_ended(const Adaptation &adaptation);
    void job_over(const std::string &rigid_because);

    /* After every event: first the program's size request, then the schedule or policy. */
    void consider();
    void consider_source();
    void check_time();
    /* Time at which the open size request becomes void. */
    std::optional<int64_t> void_ms() const;
    /* Time of the next size of the schedule or policy. */
    std::optional<int64_t> source_due_ms() const { return source_.due(); }

    /* For the status, and for clients. */
    Json describe() const { return queue_.open() ? describe_open() : Json(); }
    Json rule() const { return rule_ ? Json(rule_->text()) : Json(); }
    std::string answer_refuse(const Json &id, const RefuseRequest &refuse);
    /* is_modify: processes wait in MPIX_Comm_modify. check_modify: the reason why a client cannot
     * get this size then. */
    bool is_modify() const { return queue_.open() && queue_.open()->origin == Origin::MODIFY; }
    std::optional<ProtocolError> check_modify(const Json &id, int size) const;

    /* The change that the request leads to now, or the reason why it is impossible. */
    std::variant<Change, SizeRefusal> check(const SizeRequest &request) const;
    /* Starts the adaptation for a checked request, when no other one is under way; it begins later
     * if processes have not initialised yet.  While processes wait in MPIX_Comm_modify, they take
     * part in the adaptation of a client.  The adaptation may have ended on return. */
    DeliveredRequest deliver(SizeRequest request, const Change &change);

    /* For operations on process sets. */
    std::optional<uint64_t> deliver_for_operation(int size) override;
    std::string why_no_capacity(int size) const override { return hooks_.why_no_capacity(size); }
    const std::optional<Range> &range() const override { return source_.range(); }
    /* Whether the rate of the program's requests is low enough for one more. */
    bool rate_allows() override { return rate_.allows(state_.now_ms); }
    /* Replaces the open one.  Returns its number. */
    uint64_t request_for_operation(SizeRequest size_request) override;
    /* The open request, if it has this number. */
    const SizeRequest *find(uint64_t number) const override { return queue_.find(number); }
    /* release: the operation no longer waits, but the size request may still be granted. withdraw:
     * no process wants it any more. */
    void release(uint64_t number) override;
    void withdraw(const std::string &why) override;

  private:
    void send_end(const std::vector<SizeRequestHolder> &holders, SizeRequestEnd end,
                  const std::string &reason,
                  pmi_adapt_request_cause cause = PMI_ADAPT_REQUEST_NO_CAUSE);
    Json describe_open() const;
    void log_open();
    void end(SizeRequestEnd end, const std::string &reason);
    bool is_about_to_be_granted() const;
    void submit(const SizeRequest &request);
    void end_replaced();
    void announce_open();
    void drop_holder(SizeRequest &size_request, uint32_t uid, const std::string &reason);
    bool has_adaptation() const;
    void consider_open();
    void open_after(const Adaptation &adaptation);
    void consider_in_range();
    void grant(int size);

    void on_modify(const Process &process, const SizeRequestReport &report);
    void consider_modify();
    bool all_take_part() const;

    void request_for_hints(const Range &sizes, int preferred, const std::string &reason);

    void deliver_from_source(const SizeRequest &request);
    void report_policy_stops();
    void report_never_offered();

    StepState &state_;
    SizeSource source_;
    AdaptationControl &control_;
    Hooks hooks_;
    std::optional<ProgramSizes> rule_;  /* of the program; none: the program can use any size */
    SizeRequestQueue queue_;
    RequestRate rate_;
};

}  // namespace elastic

#endif /* ELASTIC_SIZE_REQUESTS_H_INCLUDED */
