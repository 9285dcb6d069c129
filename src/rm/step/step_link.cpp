/* See step_link.h. */

#include "step/step_link.h"

#include <algorithm>

#include "base/change.h"
#include "base/log.h"
#include "base/program_sizes.h"
#include "step/slots_answer.h"

namespace elastic::rm {

namespace {

constexpr const char *EVENTS_ID = "events";
constexpr const char *RESIZE_ID = "resize-";
constexpr const char *PERFORMANCE_ID = "performance-";
constexpr const char *SLOTS_ID = "slots";
constexpr size_t REASON_BYTES_MAX = 63;
constexpr size_t LEAVE_LIST_MAX = 1000;
constexpr size_t BYTES_OF_PROCESS = 64; /* in a line that names each process of the step */
constexpr size_t REQUESTS_KEPT = 64;    /* ended ones: the core queries the last */
constexpr size_t LEFT_KEPT = 64;        /* the core misses none but while elasticd is down */
constexpr size_t SET_CHANGES_KEPT = 1024;       /* of a request: tellers that have ended */
constexpr size_t FREED_KEPT = 1024;     /* as many events as a step keeps */
constexpr double TOLD_PER_S = 100, TOLD_AT_ONCE = 1000;
/* nothing but this rate bounds how often a program may change its mind */
constexpr double SIZES_COST = 50;
/* A change of a world on ten thousand nodes is some megabytes of events. */
constexpr LineLimits LIMITS = {
    size_t{1} << 20, size_t{1} << 20, JSON_DEPTH_MAX, 256 << 10, 16 << 20};

/* 0: no number. */
uint64_t parse_request(const std::string &tag)
{
    bool digits = !tag.empty() && tag.size() <= 15 &&
        tag.find_first_not_of("0123456789") == std::string::npos;
    return digits ? std::stoull(tag) : 0;
}

}  // namespace

StepLink::Counts StepLink::counts_;

StepLink::StepLink(Loop &loop, Setup setup)
    : loop_(loop), setup_(std::move(setup)), rate_(TOLD_PER_S, TOLD_AT_ONCE)
{
    connect();
}

StepLink::~StepLink()
{
    loop_.cancel(timer_);
}

void StepLink::connect()
{
    auto on_line = [this](const Json &object) { line(object); };
    auto on_close = [this](const std::string &broken) { closed(broken); };
    LineLimits limits = LIMITS;
    auto processes = static_cast<size_t>(std::max(setup_.processes_max, 0));
    limits.line_bytes = std::max(limits.line_bytes, processes * BYTES_OF_PROCESS);
    limits.output_bytes = limits.line_bytes;
    if (!setup_.connected.is_open())
        connection_ =
            LineConnection::connect(loop_, setup_.socket, setup_.uid, limits, on_line, on_close);
    else if (is_peer(setup_.connected.get(), setup_.uid))
        connection_ = std::make_unique<LineConnection>(
            loop_, std::move(setup_.connected), limits, on_line, on_close);
    if (!connection_) {
        log_line(LogLevel::WARNING, "cannot connect to the step",
                 {{"job", setup_.job}, {"socket", setup_.socket}, {"error", strerror(errno)}});
        return;
    }
    connection_->send({{"id", EVENTS_ID}, {"op", "events"}, {"since", 0}, {"follow", true}});
}

/* An mpiexec that has ended requests nothing any more; a script may start another one. */
void StepLink::closed(const std::string &broken)
{
    if (auto open = std::exchange(size_request_, {})) {
        size_request_ended_ = StepSizeRequestEnded{
            setup_.job,        setup_.step, open->size_request.mpiexec,
            open->size_request.number, "withdrawn", "mpiexec has closed its step socket"};
        report_size_request();
    }
    if (auto last = std::exchange(slots_, {}); last && broken.empty()) {
        last->over = true;
        notify(*last);
    }
    if (broken.empty())
        connection_.reset();
    else
        cut_off(broken);
}

/* Nothing of it is believed any more. */
void StepLink::cut_off(const std::string &why)
{
    connection_.reset();
    if (!broken_.empty())
        return;
    broken_ = why;
    counts_.broken++;
    log_line(LogLevel::WARNING, "a step breaks the step protocol and is cut off",
             {{"job", setup_.job}, {"step", setup_.step}, {"uid", setup_.uid}, {"problem", why}});
    notify(StepBroken{setup_.job, setup_.step, why});
}

void StepLink::line(const Json &object)
{
    auto message = read_step_message(object);
    if (!message)
        cut_off(message.error());
    else if (message.value().kind == StepMessageKind::ANSWER)
        answer(message.value(), object);
    else
        event(message.value());
}

/* ---- messages to the core ------------------------------------------------------------------- */

void StepLink::notify(EventContent content)
{
    if (!setup_.notify(std::move(content)))
        return;
    int64_t now_ms = monotonic_ms();
    not_before_ms_ = now_ms + rate_.take(1, now_ms);
    if (connection_)
        connection_->pause();
}

void StepLink::resume()
{
    int64_t wait_ms = not_before_ms_ - monotonic_ms();
    loop_.cancel(std::exchange(timer_, 0));
    if (wait_ms > 0) {
        timer_ = loop_.after(wait_ms, [this] {
            timer_ = 0;
            resume();
        });
        return;
    }
    if (connection_)
        connection_->resume();
}

/* ---- answers --------------------------------------------------------------------------------- */

void StepLink::answer(const StepMessage &message, const Json &line)
{
    if (message.id.starts_with(PERFORMANCE_ID))
        return performance(message, line);
    if (message.id == SLOTS_ID)
        return slots(message, line);
    if (message.id == EVENTS_ID && message.ok) {
        known_until_ = message.next;
        if (known_until_ <= std::max<uint64_t>(message.oldest, 1))
            caught_up();
        return;
    }
    uint64_t number = message.id.starts_with(RESIZE_ID)
        ? parse_request(message.id.substr(strlen(RESIZE_ID)))
        : 0;
    auto found = requests_.find(number);
    if (found == requests_.end() || found->second.phase == Phase::ENDED || message.ok)
        return;                 /* of an accepted one the events report the same, and more */
    refuse(number, message.error);
}

bool StepLink::query_performance(int64_t interval_ms)
{
    if (!connection_ || !caught_up_)
        return false;
    if (std::exchange(answer_awaited_, true))
        return true;
    connection_->send({{"id", PERFORMANCE_ID + std::to_string(++questions_)},
                       {"op", "performance"},
                       {"interval_ms", interval_ms}});
    return true;
}

/* An error (of an older mpiexec, or a busy one) is an answer as well. */
void StepLink::performance(const StepMessage &message, const Json &line)
{
    bool awaited = answer_awaited_ && message.id == PERFORMANCE_ID + std::to_string(questions_);
    if (!awaited) {
        counts_.dropped++;
        return;
    }
    answer_awaited_ = false;
    PerformanceAnswer answer;
    answer.reason = message.error;
    if (message.ok) {
        auto read = read_performance(line);
        if (!read)
            return cut_off(read.error());
        answer = std::move(read.value());
    }
    auto sample = sample_of(answer, setup_.epoch_offset);
    if (answer.available && !sample) {
        counts_.dropped++;
        return;
    }
    if (setup_.sampled(answer) && sample)
        notify(StepSampled{setup_.job, setup_.step, std::move(*sample)});
}

void StepLink::refuse(uint64_t request, const std::string &reason)
{
    end(requests_[request], StepRefused{{setup_.job, setup_.step, request, reason}});
}

void StepLink::end(Request &request, EventContent content)
{
    request.phase = Phase::ENDED;
    request.end = std::move(content);
    notify(*request.end);
}

void StepLink::remove_old_requests()
{
    while (requests_.size() > REQUESTS_KEPT && requests_.begin()->second.phase == Phase::ENDED)
        requests_.erase(requests_.begin());
}

/* ---- events ---------------------------------------------------------------------------------- */

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

/* False: it cannot be. */
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
    /* A rigid program may come to change through process sets, and never the other way. */
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

/* One is open at a time.  Of earlier ones only the last one matters. */
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
                "this elasticd does not know such wishes"});
    else if (caught_up_)
        report_size_request();
    return true;
}

bool StepLink::size_request_ended(const StepMessage &message)
{
    bool is_open = size_request_ && size_request_->size_request.number == message.size_request;
    if (!is_open)
        /* it may have been made before the first event that the step still has */
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

/* ---- slots beside the world ------------------------------------------------------------------ */

/* A change while the answer is in transit may be in it, or not: then once more. */
void StepLink::query_slots()
{
    if (!connection_ || !caught_up_)
        return;
    if (slots_queried_ != Asking::NO) {
        slots_queried_ = Asking::AGAIN;
        return;
    }
    slots_queried_ = Asking::YES;
    connection_->send({{"id", SLOTS_ID},
                       {"op", "slots"},
                       {"most", setup_.most_slots ? setup_.most_slots() : 0}});
}

/* An error: of an mpiexec without slots. */
void StepLink::slots(const StepMessage &message, const Json &line)
{
    if (slots_queried_ == Asking::NO) {
        counts_.dropped++;
        return;
    }
    bool again = std::exchange(slots_queried_, Asking::NO) == Asking::AGAIN;
    if (!message.ok)
        return;
    auto read = read_slots(line);
    if (!read)
        return cut_off(read.error());
    slots_ = std::move(read.value());
    slots_->job = setup_.job;
    slots_->step = setup_.step;
    notify(*slots_);
    if (again)
        query_slots();
}

void StepLink::grant(const GrantSlots &grant)
{
    if (!connection_ || !slots_ || slots_->mpiexec != grant.mpiexec)
        return;
    Json hosts = Json::array();
    for (const Block &block : grant.blocks)
        hosts.push_back(block.node + ":" + std::to_string(block.processes));
    connection_->send({{"id", "grant"},
                       {"op", "grant"},
                       {"wish", grant.size_request},
                       {"grant", grant.grant},
                       {"hosts", hosts}});
}

/* One at a time is under way; that of somebody else has no tag of ours. */
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

/* The first one that arrives may be a later one: a step has its last events only. */
bool StepLink::committed(Request *request, const StepMessage &message)
{
    bool follows = message.epoch == epoch_ + 1 || (!caught_up_ && message.epoch > epoch_);
    if (!follows)
        return false;
    epoch_ = message.epoch;
    /* of a change through process sets from the answer on: nobody waits for it before */
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

/* Processes that have ended by themselves: never while a request is under way. */
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

/* SM3.  Of a request of somebody else, or one that is long over, it is nobody's business. */
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

/* The past is known: what still waits has never been sent. */
void StepLink::caught_up()
{
    caught_up_ = true;
    report_size_request();
    query_slots();
    for (auto &[number, request] : requests_)
        if (request.phase == Phase::WAITING && request.cancelled)
            end(request,
                StepRefused{
                    {setup_.job, setup_.step, number, "withdrawn before the step heard of it"}});
        else if (request.phase == Phase::WAITING)
            send_resize(request);
}

/* ---- requests -------------------------------------------------------------------------------- */

void StepLink::send_resize(Request &request)
{
    const ResizeStep &resize = request.resize;
    Json hosts = Json::array();
    for (const Block &block : resize.joining)
        hosts.push_back(block.node + ":" + std::to_string(block.processes));
    /* Of a few the list, which every mpiexec understands. */
    bool is_long = resize.leave.size() > LEAVE_LIST_MAX;
    Json line = {{"id", RESIZE_ID + std::to_string(resize.request)},
                 {"op", "resize"},
                 {"size", resize.size},
                 {"leave", is_long ? Json(format_ranks(resize.leave)) : Json(resize.leave)},
                 {"if_epoch", resize.epoch - setup_.epoch_offset},
                 {"reason", resize.reason.substr(0, REASON_BYTES_MAX)},
                 {"tag", std::to_string(resize.request)}};
    if (!hosts.empty())
        line["hosts"] = hosts;
    request.phase = Phase::SENT;
    connection_->send(line);
}

void StepLink::resize(const ResizeStep &resize)
{
    remove_old_requests();
    auto [found, is_new] = requests_.try_emplace(resize.request);
    Request &request = found->second;
    if (!is_new) {              /* repeated: report the present state again */
        if (request.end)
            notify(*request.end);
        else if (request.phase >= Phase::ACCEPTED)
            notify(StepAccepted{setup_.job, setup_.step, resize.request, request.step_request});
        return;
    }
    request.resize = resize;
    if (!broken_.empty())
        refuse(resize.request, "step protocol broken: " + broken_);
    else if (!connection_)
        refuse(resize.request, "mpiexec has closed its step socket: it is ending");
    else if (resize.epoch < setup_.epoch_offset)
        refuse(resize.request, "decided for an earlier mpiexec of the script");
    else if (caught_up_)
        send_resize(request);
}

void StepLink::send_cancel(uint64_t step_request)
{
    if (connection_)
        connection_->send({{"id", "cancel"}, {"op", "cancel"}, {"request", step_request}});
}

bool StepLink::cancel(const CancelRequest &cancel)
{
    auto found = requests_.find(cancel.request);
    if (found == requests_.end())
        return !caught_up_ && connection_ ? (requests_[cancel.request].cancelled = true) : false;
    Request &request = found->second;
    if (request.end)
        notify(*request.end);
    else if (request.phase == Phase::WAITING)
        end(request,
            StepRefused{{setup_.job, setup_.step, cancel.request,
                         "withdrawn before the step heard of it"}});
    else if (request.step_request)
        send_cancel(request.step_request);
    else
        request.cancelled = true;
    return true;
}

void StepLink::report_all()
{
    if (!broken_.empty())
        notify(StepBroken{setup_.job, setup_.step, broken_});
    if (mode_ == StepMode::ADAPTIVE)
        notify(StepAdaptive{{setup_.job, setup_.step}});
    else if (mode_ == StepMode::RIGID)
        notify(StepRigid{{setup_.job, setup_.step}});
    if (!sizes_.empty())
        notify(StepSizes{setup_.job, setup_.step, sizes_});
    report_size_request();
    query_slots();
    auto left = left_.begin();
    auto report_left_before = [&](uint64_t epoch) {
        for (; left != left_.end() && left->epoch < epoch; ++left)
            notify(*left);
    };
    for (const auto &[number, request] : requests_) {
        if (request.phase >= Phase::ACCEPTED && request.step_request)
            notify(StepAccepted{setup_.job, setup_.step, number, request.step_request});
        if (request.phase == Phase::READY)
            notify(StepReady{setup_.job, setup_.step, number});
        for (const StepSetChange &change : request.set_changes)
            notify(change);
        if (request.end) {
            const auto *committed = std::get_if<StepCommitted>(&*request.end);
            report_left_before(committed ? committed->epoch : 0);
            notify(*request.end);
        }
    }
    report_left_before(UINT64_MAX);
    for (uint64_t epoch : freed_)
        notify(StepFreed{setup_.job, setup_.step, epoch});
}

}  // namespace elastic::rm
