/* See step_link.h. step_link_events.cpp reads events, step_link_slots.cpp handles slots. */

#include "step/step_link.h"

#include <algorithm>

#include "base/change.h"
#include "base/log.h"

namespace elastic::rm {

namespace {

constexpr const char *EVENTS_ID = "events";
constexpr const char *RESIZE_ID = "resize-";
constexpr const char *PERFORMANCE_ID = "performance-";
constexpr size_t REASON_BYTES_MAX = 63;
constexpr size_t LEAVE_LIST_MAX = 1000;
constexpr size_t BYTES_OF_PROCESS = 64; /* in a line that names each process of the step */
constexpr size_t BYTES_OF_HOST = 512;   /* in a line with host and GPUs of each process */
constexpr size_t REQUESTS_KEPT = 64;    /* ended ones: the core queries the last one */
constexpr double TOLD_PER_S = 100, TOLD_AT_ONCE = 1000;
/* A change of a world on ten thousand nodes produces some megabytes of events. */
constexpr LineLimits LIMITS = {
    size_t{1} << 20, size_t{1} << 20, JSON_DEPTH_MAX, 256 << 10, 16 << 20};

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
    limits.output_bytes = std::max(limits.output_bytes, processes * BYTES_OF_HOST);
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

/* An mpiexec that has ended has no requests any more; a script may start another one. */
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

/* None of its reports is accepted any more. */
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

uint64_t StepLink::parse_request(const std::string &tag)
{
    bool digits = !tag.empty() && tag.size() <= 15 &&
        tag.find_first_not_of("0123456789") == std::string::npos;
    return digits ? std::stoull(tag) : 0;
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
        return;                 /* for an accepted one the events report the same, with more data */
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

/* An error (from an older mpiexec, or a busy one) also counts as an answer. */
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

/* All earlier events are known: requests that still wait have never been sent. */
void StepLink::caught_up()
{
    caught_up_ = true;
    report_size_request();
    query_slots();
    for (auto &[number, request] : requests_)
        if (request.phase == Phase::WAITING && request.cancelled)
            end(request,
                StepRefused{
                    {setup_.job, setup_.step, number, "withdrawn before the step received it"}});
        else if (request.phase == Phase::WAITING)
            send_resize(request);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* NAME:COUNT, or NAME:COUNT=GPUS; with GPUs each node occurs once. */
Json StepLink::hosts_of_joining(const ResizeStep &resize) const
{
    Json hosts = Json::array();
    for (const Block &block : resize.joining)
        hosts.push_back(block.node + ":" + std::to_string(block.processes));
    size_t next = 0;
    for (const auto &[node, gpus] : gpus_by_node(resize.joining, resize.gpus)) {
        std::string &host = hosts[next++].get_ref<std::string &>();
        if (!gpus.empty())
            host += "=" + gpu_numbers(node, gpus, setup_.first_gpu);
    }
    return hosts;
}

void StepLink::send_resize(Request &request)
{
    const ResizeStep &resize = request.resize;
    Json hosts = hosts_of_joining(resize);
    /* For a small number, the list, which every mpiexec supports. */
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
                         "withdrawn before the step received it"}});
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
