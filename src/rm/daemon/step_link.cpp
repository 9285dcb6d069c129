/* See step_link.h. */

#include "daemon/step_link.h"

#include <algorithm>

#include "daemon/log.h"

namespace elastic::rm {

namespace {

constexpr const char *EVENTS_ID = "events";
constexpr const char *RESIZE_ID = "resize-";
constexpr size_t REASON_BYTES_MAX = 63;

std::string text(const Json &object, const char *name)
{
    auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

uint64_t number(const Json &object, const char *name)
{
    auto found = object.find(name);
    return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

double milliseconds(const Json &object)
{
    auto found = object.find("time_ms");
    return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

/* 0: no number. */
uint64_t parse_request(const std::string &tag)
{
    bool digits = !tag.empty() && tag.size() <= 15 && tag.find_first_not_of("0123456789") == std::string::npos;
    return digits ? std::stoull(tag) : 0;
}

}  // namespace

StepLink::StepLink(Loop &loop, JobId job, uint32_t step, std::string socket, uint32_t uid,
                   uint64_t epoch_offset, Tell tell)
    : loop_(loop), job_(job), step_(step), socket_(std::move(socket)), uid_(uid), epoch_offset_(epoch_offset),
      tell_(std::move(tell))
{
    connect();
}

void StepLink::connect()
{
    connection_ = LineConnection::connect(
        loop_, socket_, uid_, [this](const Json &object) { line(object); }, [this] { connection_.reset(); });
    if (!connection_) {
        log_line(LogLevel::WARNING, "cannot connect to the step",
                 {{"job", job_}, {"socket", socket_}, {"error", strerror(errno)}});
        return;
    }
    connection_->send({{"id", EVENTS_ID}, {"op", "events"}, {"since", 0}, {"follow", true}});
}

void StepLink::line(const Json &object)
{
    if (object.contains("event"))
        event(object);
    else
        answer(object);
}

/* ---- answers ------------------------------------------------------------------------------------------ */

void StepLink::answer(const Json &object)
{
    std::string id = text(object, "id");
    if (id == EVENTS_ID) {
        known_until_ = number(object, "next");
        if (known_until_ <= std::max<uint64_t>(number(object, "oldest"), 1))
            caught_up();
        return;
    }
    auto found = requests_.find(id.starts_with(RESIZE_ID) ? parse_request(id.substr(strlen(RESIZE_ID))) : 0);
    if (found == requests_.end() || found->second.phase == Phase::ENDED)
        return;
    if (object.value("ok", false))
        return;                 /* its events tell the same, and more */
    Json error = object.value("error", Json::object());
    refuse(found->first, text(error, "message"));
}

void StepLink::refuse(uint64_t request, const std::string &reason)
{
    Request &entry = requests_[request];
    end(entry, StepRefused{{job_, step_, request, reason}});
}

void StepLink::end(Request &request, EventContent content)
{
    request.phase = Phase::ENDED;
    request.end = std::move(content);
    tell_(*request.end);
}

/* ---- events ------------------------------------------------------------------------------------------- */

void StepLink::event(const Json &object)
{
    std::string name = text(object, "event");
    next_event_ = number(object, "seq") + 1;
    auto tagged = core_request_.find(number(object, "request"));
    if (name == "adaptive" || name == "rigid") {
        mode_ = name == "rigid" ? StepMode::RIGID : StepMode::ADAPTIVE;
        if (name == "rigid")
            tell_(StepRigid{{job_, step_}});
        else
            tell_(StepAdaptive{{job_, step_}});
    } else if (name == "requested") {
        if (uint64_t request = parse_request(text(object, "tag"))) {
            core_request_[number(object, "request")] = request;
            request_event(name, object, request);
        }
    } else if (name == "freed") {
        uint64_t epoch = epoch_offset_ + number(object, "epoch");
        freed_[epoch] = true;
        tell_(StepFreed{job_, step_, epoch});
    } else if (tagged != core_request_.end()) {
        request_event(name, object, tagged->second);
    }
    if (!caught_up_ && next_event_ >= known_until_)
        caught_up();
}

void StepLink::request_event(const std::string &name, const Json &object, uint64_t number_of_core)
{
    Request &request = requests_[number_of_core];
    if (request.phase == Phase::ENDED)
        return;
    if (name == "requested") {
        request.step_request = number(object, "request");
        request.phase = Phase::ACCEPTED;
        tell_(StepAccepted{job_, step_, number_of_core, request.step_request});
        if (request.cancelled)
            send_cancel(request.step_request);
    } else if (name == "plan") {
        request.phase = Phase::READY;
        tell_(StepReady{job_, step_, number_of_core});
    } else if (name == "target") {
        target_ms_ = milliseconds(object);
    } else if (name == "committed") {
        epoch_ = number(object, "epoch");
        int64_t standstill_ms = static_cast<int64_t>(std::max(0.0, milliseconds(object) - target_ms_) + 0.5);
        end(request, StepCommitted{job_, step_, number_of_core, epoch_offset_ + epoch_, standstill_ms});
    } else if (name == "withdrawn") {
        end(request, StepWithdrawn{{job_, step_, number_of_core, text(object, "reason")}});
    } else if (name == "failed") {
        end(request, StepFailed{{job_, step_, number_of_core, text(object, "reason")}});
    }
}

/* The past is known: what still waits has never been sent. */
void StepLink::caught_up()
{
    caught_up_ = true;
    for (auto &[number, request] : requests_)
        if (request.phase == Phase::WAITING && request.cancelled)
            end(request, StepRefused{{job_, step_, number, "withdrawn before the step heard of it"}});
        else if (request.phase == Phase::WAITING)
            send_resize(request);
}

/* ---- requests ----------------------------------------------------------------------------------------- */

void StepLink::send_resize(Request &request)
{
    const ResizeStep &resize = request.resize;
    Json hosts = Json::array();
    for (const Block &block : resize.joining)
        hosts.push_back(block.node + ":" + std::to_string(block.processes));
    Json line = {{"id", RESIZE_ID + std::to_string(resize.request)},
                 {"op", "resize"},
                 {"size", resize.size},
                 {"leave", resize.leave},
                 {"if_epoch", resize.epoch - epoch_offset_},
                 {"reason", resize.reason.substr(0, REASON_BYTES_MAX)},
                 {"tag", std::to_string(resize.request)}};
    if (!hosts.empty())
        line["hosts"] = hosts;
    request.phase = Phase::SENT;
    connection_->send(line);
}

void StepLink::resize(const ResizeStep &resize)
{
    auto [found, is_new] = requests_.try_emplace(resize.request);
    Request &request = found->second;
    if (!is_new) {              /* asked again: say again what is the case */
        if (request.end)
            tell_(*request.end);
        else if (request.phase >= Phase::ACCEPTED)
            tell_(StepAccepted{job_, step_, resize.request, request.step_request});
        return;
    }
    request.resize = resize;
    if (!connection_)
        refuse(resize.request, "mpiexec has closed its step socket: it is ending");
    else if (resize.epoch < epoch_offset_)
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
        tell_(*request.end);
    else if (request.phase == Phase::WAITING)
        end(request, StepRefused{{job_, step_, cancel.request, "withdrawn before the step heard of it"}});
    else if (request.step_request)
        send_cancel(request.step_request);
    else
        request.cancelled = true;
    return true;
}

void StepLink::tell_all()
{
    if (mode_ == StepMode::ADAPTIVE)
        tell_(StepAdaptive{{job_, step_}});
    else if (mode_ == StepMode::RIGID)
        tell_(StepRigid{{job_, step_}});
    for (const auto &[number, request] : requests_) {
        if (request.phase >= Phase::ACCEPTED && request.step_request)
            tell_(StepAccepted{job_, step_, number, request.step_request});
        if (request.phase == Phase::READY)
            tell_(StepReady{job_, step_, number});
        if (request.end)
            tell_(*request.end);
    }
    for (const auto &[epoch, freed] : freed_)
        tell_(StepFreed{job_, step_, epoch});
}

}  // namespace elastic::rm
