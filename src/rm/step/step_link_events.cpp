/* See step_link.h: events of the step. */

#include <algorithm>

#include "base/program_sizes.h"
#include "step/step_link.h"

namespace elastic::rm {

namespace {

constexpr size_t LEFT_KEPT = 64; /* the core misses events only while elasticd does not run */
constexpr size_t SET_CHANGES_KEPT = 1024; /* of a request: notified processes that have ended */
constexpr size_t FREED_KEPT = 1024;     /* the number of events that a step keeps */
/* only this rate limits how often a program may change its sizes */
constexpr double SIZES_COST = 50;

}  // namespace

void StepLink::event(const StepMessage &message)
{
    if (message.seq <= last_event_)
        return cut_off("event " + std::to_string(message.seq) + " follows event " +
                       std::to_string(last_event_));
    last_event_ = message.seq;
    if (!take_event(message))
        counts_.dropped++;
    if (!caught_up_ && last_event_ + 1 >= known_until_)
        caught_up();
}

/* False: the event is impossible. */
bool StepLink::take_event(const StepMessage &message)
{
    switch (message.kind) {
        case StepMessageKind::ADAPTIVE: return mode(StepMode::ADAPTIVE);
        case StepMessageKind::RIGID: return mode(StepMode::RIGID);
        case StepMessageKind::SIZES: return sizes(message.rule);
        case StepMessageKind::REQUESTED: return requested(message);
        case StepMessageKind::SIZE_REQUEST: return size_request(message);
        case StepMessageKind::REQUEST_ENDED: return size_request_ended(message);
        case StepMessageKind::SLOTS_CHANGED: query_slots(); return true;
        case StepMessageKind::HOST_LOST: lost_host_ = message.host; return true;
        case StepMessageKind::FREED: return freed(setup_.epoch_offset + message.epoch);
        case StepMessageKind::LEFT: return left(message);
        case StepMessageKind::NOTIFIED: return set_change(message, SetStage::NOTIFIED);
        case StepMessageKind::ACCEPTED: return set_change(message, SetStage::ACCEPTED);
        case StepMessageKind::DECLINED: return set_change(message, SetStage::DECLINED);
        case StepMessageKind::PLAN:
        case StepMessageKind::TARGET:
        case StepMessageKind::COMMITTED:
        case StepMessageKind::WITHDRAWN:
        case StepMessageKind::FAILED: return request_event(message);
        case StepMessageKind::ANSWER:
        case StepMessageKind::OTHER: break;
    }
    return true;
}

bool StepLink::mode(StepMode mode)
{
    /* A rigid program may later change through process sets, but never the reverse. */
    bool becomes_adaptive = mode_ == StepMode::RIGID && mode == StepMode::ADAPTIVE;
    if (mode_ && mode != *mode_ && !becomes_adaptive)
        return false;
    mode_ = mode;
    if (mode == StepMode::RIGID)
        notify(StepRigid{{setup_.job, setup_.step}});
    else
        notify(StepAdaptive{{setup_.job, setup_.step}});
    return true;
}

bool StepLink::sizes(const std::string &rule)
{
    if (!ProgramSizes::parse(rule))
        return false;
    rate_.take(SIZES_COST - 1, monotonic_ms());
    sizes_ = rule;
    notify(StepSizes{setup_.job, setup_.step, rule});
    return true;
}

/* Only one is open at a time.  Of earlier ones only the last one matters. */
bool StepLink::size_request(const StepMessage &message)
{
    bool ordered = message.size_min >= 1 && message.size_min <= message.size &&
        message.size <= message.size_max;
    if (size_request_ || !ordered || message.size_request == 0)
        return false;
    SizeRequest what;
    what.mpiexec = message.step;
    what.number = message.size_request;
    what.modify = message.modify;
    what.waits = message.waits;
    what.size = static_cast<int>(message.size);
    what.minimum = static_cast<int>(message.size_min);
    what.maximum = static_cast<int>(message.size_max);
    what.reason = message.reason;
    size_request_ = StepSizeRequest{setup_.job, setup_.step, what};
    size_request_ended_.reset();
    if (message.request_kind != to_string(RequestKind::PROCESSES))
        refuse({setup_.job, setup_.step, message.step, message.size_request,
                "this elasticd does not know such requests"});
    else if (caught_up_)
        report_size_request();
    return true;
}

bool StepLink::size_request_ended(const StepMessage &message)
{
    bool is_open = size_request_ && size_request_->size_request.number == message.size_request;
    if (!is_open)
        /* it may have been sent before the first event that the step still has */
        return !caught_up_;
    size_request_.reset();
    size_request_ended_ =
        StepSizeRequestEnded{setup_.job,           setup_.step,    message.step,
                             message.size_request, message.result, message.reason};
    if (caught_up_)
        report_size_request();
    return true;
}

void StepLink::report_size_request()
{
    if (size_request_)
        notify(*size_request_);
    else if (size_request_ended_)
        notify(*size_request_ended_);
}

void StepLink::refuse(const RefuseSizeRequest &refusal)
{
    bool is_open = (size_request_ && size_request_->size_request.number == refusal.size_request &&
                    size_request_->size_request.mpiexec == refusal.mpiexec) ||
                   (slots_ && slots_->mpiexec == refusal.mpiexec &&
                    std::ranges::find(slots_->slot_requests, refusal.size_request,
                                      &SlotRequest::number) != slots_->slot_requests.end());
    if (is_open && connection_)
        connection_->send({{"id", "refuse"},
                           {"op", "refuse"},
                           {"wish", refusal.size_request},
                           {"reason", refusal.reason.substr(0, REQUEST_REASON_BYTES_MAX)}});
}

/* Only one is in progress at a time; requests of others have no tag of elasticd. */
bool StepLink::requested(const StepMessage &message)
{
    under_way_ = {message.request, 0};
    target_ms_ = 0;
    uint64_t number = parse_request(message.tag);
    if (!number)
        return true;
    if (number > setup_.last_request())
        return false;
    remove_old_requests();
    Request &request = requests_[number];
    if (request.phase != Phase::WAITING && request.phase != Phase::SENT)
        return false;
    under_way_.second = number;
    request.step_request = message.request;
    request.phase = Phase::ACCEPTED;
    notify(StepAccepted{setup_.job, setup_.step, number, message.request});
    if (request.cancelled)
        send_cancel(message.request);
    return true;
}

bool StepLink::request_event(const StepMessage &message)
{
    if (!under_way_.first || message.request != under_way_.first)
        /* it may have begun before the first event that the step still has */
        return !caught_up_;
    uint64_t number = under_way_.second;
    auto found = requests_.find(number);
    bool is_ours = number && found != requests_.end() && found->second.phase != Phase::ENDED;
    switch (message.kind) {
        case StepMessageKind::TARGET: target_ms_ = message.time_ms; return true;
        case StepMessageKind::PLAN: return !is_ours || ready(number, found->second);
        case StepMessageKind::COMMITTED:
            return committed(is_ours ? &found->second : nullptr, message);
        default: break;
    }
    under_way_ = {};
    if (!is_ours)
        return true;
    RequestEnded ended{setup_.job, setup_.step, number, message.reason};
    if (message.kind == StepMessageKind::WITHDRAWN)
        end(found->second, StepWithdrawn{ended});
    else
        end(found->second, StepFailed{ended});
    return true;
}

bool StepLink::ready(uint64_t number, Request &request)
{
    if (request.phase != Phase::ACCEPTED)
        return false;
    request.phase = Phase::READY;
    notify(StepReady{setup_.job, setup_.step, number});
    return true;
}

/* The first one that arrives may be a later one: a step keeps only its last events. */
bool StepLink::committed(Request *request, const StepMessage &message)
{
    bool follows = message.epoch == epoch_ + 1 || (!caught_up_ && message.epoch > epoch_);
    if (!follows)
        return false;
    epoch_ = message.epoch;
    /* for a change through process sets, from the reply on: no process waits for it before */
    double still_ms = target_ms_ > 0 ? std::max(0.0, message.time_ms - target_ms_) : 0;
    auto standstill_ms = static_cast<int64_t>(still_ms + 0.5);
    uint64_t number = std::exchange(under_way_, {}).second;
    if (request)
        end(*request, StepCommitted{setup_.job, setup_.step, number, epoch(), standstill_ms});
    return true;
}

bool StepLink::freed(uint64_t epoch)
{
    if (epoch > this->epoch() || !freed_.insert(epoch).second)
        return false;
    if (freed_.size() > FREED_KEPT)
        freed_.erase(freed_.begin());
    notify(StepFreed{setup_.job, setup_.step, epoch});
    return true;
}

/* Processes that have ended without a request: never while a request is in progress. */
bool StepLink::left(const StepMessage &message)
{
    bool follows = message.epoch == epoch_ + 1 || (!caught_up_ && message.epoch > epoch_);
    if (under_way_.first || !follows || message.leaving.empty())
        return false;
    epoch_ = message.epoch;
    left_.push_back({setup_.job, setup_.step, epoch(), message.leaving});
    if (left_.size() > LEFT_KEPT)
        left_.erase(left_.begin());
    notify(left_.back());
    return true;
}

/* SM3.  Ignored for a request of others, or one that ended long ago. */
bool StepLink::set_change(const StepMessage &message, SetStage stage)
{
    auto found = std::ranges::find_if(requests_, [&](const auto &each) {
        return each.second.step_request == message.request && message.request > 0;
    });
    if (stage == SetStage::ACCEPTED && message.request == under_way_.first)
        target_ms_ = message.time_ms;
    if (found == requests_.end())
        return true;
    auto &changes = found->second.set_changes;
    if (changes.size() >= SET_CHANGES_KEPT)
        return false;
    changes.push_back(
        {setup_.job, setup_.step, found->first, changes.size() + 1, stage, message.uid});
    notify(changes.back());
    return true;
}

}  // namespace elastic::rm
