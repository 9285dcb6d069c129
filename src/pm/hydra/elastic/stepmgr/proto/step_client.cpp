/* See step.h: the step protocol.  doc/developer/step-protocol.md specifies what is answered here. */

#include "stepmgr/step.h"

namespace elastic {

void Step::client_line(int64_t now_ms, int client, std::string_view line)
{
    now_ms_ = now_ms;
    drop_ended();
    auto parsed = parse_request(line);
    std::string reply = std::holds_alternative<ProtocolError>(parsed)
                            ? write_error(std::get<ProtocolError>(parsed))
                            : answer(client, std::get<ClientRequest>(parsed));
    if (!reply.empty())
        effects_.reply(effects_.context, client, reply.c_str());
    settle();
}

void Step::client_departed(int client)
{
    journal_.stop(client);
    if (adaptation_ && adaptation_->waiter && adaptation_->waiter->client == client)
        adaptation_->waiter.reset();    /* the request itself goes on */
    if (sample_)
        std::erase_if(sample_->waiting, [client](const Waiter &waiter) { return waiter.client == client; });
}

/* The line to send; empty if it has been sent already. */
std::string Step::answer(int client, const ClientRequest &request)
{
    const Json &id = request.id;
    if (std::holds_alternative<HelloRequest>(request.what))
        return write_answer(id, {{"versions", {PROTOCOL_VERSION}},
                                 {"step", step_id_},
                                 {"program", program_},
                                 {"user", user_}});
    if (std::holds_alternative<StatusRequest>(request.what))
        return answer_status(id);
    if (const auto *resize = std::get_if<ResizeRequest>(&request.what))
        return answer_resize(client, id, *resize);
    if (const auto *events = std::get_if<EventsRequest>(&request.what))
        return answer_events(client, id, *events);
    if (const auto *performance = std::get_if<PerformanceRequest>(&request.what))
        return answer_performance(client, id, *performance);
    if (const auto *refuse = std::get_if<RefuseRequest>(&request.what))
        return answer_refuse(id, *refuse);
    if (const auto *grant = std::get_if<GrantRequest>(&request.what))
        return answer_grant(id, *grant);
    if (const auto *slots = std::get_if<SlotsRequest>(&request.what))
        return answer_slots(id, *slots);
    if (const auto *psets = std::get_if<PsetsRequest>(&request.what))
        return answer_psets(id, *psets);
    if (std::holds_alternative<TasksRequest>(request.what))
        return answer_tasks(id);
    return answer_cancel(id, std::get<CancelRequest>(request.what));
}

std::string Step::status_name() const
{
    if (over_ || ending_)
        return "ending";
    if (mode_ == InitMode::UNKNOWN)
        return "starting";
    return adaptation_ ? "adapting" : "running";
}

Json Step::hosts_status() const
{
    std::map<std::string, std::vector<int>> ranks;
    for (const Process *process : world_.members())
        ranks[process->host].push_back(process->world_rank);
    Json hosts = Json::array();
    for (const auto &[name, on_host] : ranks)
        hosts.push_back(
            {{"name", name}, {"processes", on_host.size()}, {"ranks", format_ranks(on_host)}});
    return hosts;
}

std::string Step::answer_status(const Json &id) const
{
    static const char *const MODES[] = {"unknown", "rigid", "adaptive", "sets"};
    Json status = {{"step", step_id_},
                   {"program", program_},
                   {"user", user_},
                   {"state", status_name()},
                   {"mode", MODES[static_cast<int>(mode_)]},
                   {"programs", programs_},
                   {"size", world_.size()},
                   {"epoch", epoch_},
                   {"adaptations", statistics_.committed},
                   {"withdrawn", statistics_.withdrawn},
                   {"failed", statistics_.failed},
                   {"unexpected", statistics_.unexpected},
                   {"strangers", strangers_},
                   {"hosts", hosts_status()},
                   {"sizes", sizes_ ? Json(sizes_->text()) : Json()},
                   {"wish", wish_ ? describe_wish() : Json()},
                   {"places", places_.held()},
                   {"adaptation", nullptr}};
    if (adaptation_)
        status["adaptation"] = {{"request", adaptation_->request},
                                {"epoch", adaptation_->epoch},
                                {"state", to_string(adaptation_->state)},
                                {"origin", adaptation_->origin},
                                {"size", adaptation_->change.new_size},
                                {"joining", adaptation_->change.joining},
                                {"leaving", adaptation_->change.leaving}};
    return write_answer(id, status);
}

/* Why a request cannot be accepted now, whatever it wants. */
std::optional<ProtocolError> Step::check_resize(const Json &id, const ResizeRequest &resize) const
{
    if (ending_ || over_)
        return ProtocolError{id, ErrorCode::ENDED, "the job is ending: its size stays as it is"};
    if (managed_ && resize.change.tag.empty())
        return ProtocolError{id, ErrorCode::MANAGED,
                             "this step belongs to a job of a resource manager, which decides on "
                             "its size: ask there, with 'elastic resize JOB SIZE'"};
    if (is_modify())
        return check_modify(id, resize.change.size);
    if (mode_ == InitMode::RIGID)
        return ProtocolError{id, ErrorCode::RIGID,
                             "the job is rigid: its program calls MPI_Init, not MPI_Init_adapt, "
                             "and cannot change its size"};
    if (adaptation_)
        return ProtocolError{
            id, ErrorCode::BUSY,
            "the step is adapting from " + std::to_string(adaptation_->old_size) + " to " +
                std::to_string(adaptation_->change.new_size) + " processes already (request " +
                std::to_string(adaptation_->request) + ", " + to_string(adaptation_->state) +
                "): try again when that has ended, or cancel it"};
    if (world_.size() == 0)
        return ProtocolError{id, ErrorCode::BUSY,
                             "the processes are not started yet: try again in a moment"};
    if (resize.if_epoch && *resize.if_epoch != epoch_)
        return ProtocolError{id, ErrorCode::STALE,
                             "the last committed epoch is " + std::to_string(epoch_) + ", not " +
                                 std::to_string(*resize.if_epoch) +
                                 ": ask for the status and decide again"};
    if (resize.deadline_ms != 0 && resize.deadline_ms <= unix_now_ms())
        return ProtocolError{id, ErrorCode::FIELD, "'deadline_ms' has passed already"};
    return std::nullopt;
}

std::string Step::answer_resize(int client, const Json &id, const ResizeRequest &resize)
{
    if (auto error = check_resize(id, resize))
        return write_error(*error);
    auto change = resolve_change(world_.size(), resize.change, programs_);
    if (!change)
        return write_error({id, ErrorCode::CHANGE, change.error()});
    if (sizes_ && !sizes_->allows(change.value().new_size))
        return write_error({id, ErrorCode::SIZES, sizes_->refusal(change.value().new_size)});
    if (std::string why = why_refused(change.value().new_size); !why.empty())
        return write_error({id, ErrorCode::CHANGE, why});

    Adaptation &a = is_modify() ? accept(Source::PROGRAM, "MPIX_Comm_modify", resize.change, change.value())
                                : accept(Source::CLIENT, "resize request", resize.change, change.value());
    if (is_modify())
        wish_->request = a.request;
    a.deadline_unix_ms = resize.deadline_ms;
    if (!resize.reason.empty())
        a.reason = resize.reason;
    uint64_t request = a.request;
    Json accepted = {{"request", request},
                     {"epoch", a.epoch},
                     {"old_size", a.old_size},
                     {"size", a.change.new_size},
                     {"joining", a.change.joining},
                     {"leaving", a.change.leaving}};
    if (adapts() || is_modify())        /* else when all processes have initialised */
        begin();
    if (last_end_.request == request)   /* the launch was refused at once */
        return write_error({id, ErrorCode::LAUNCH, last_end_.reason});
    if (resize.wait)
        adaptation_->waiter = Waiter{client, id};
    return write_answer(id, accepted);
}

std::string Step::answer_cancel(const Json &id, const CancelRequest &cancel)
{
    bool named = adaptation_ && (!cancel.request || *cancel.request == adaptation_->request);
    if (!named)
        return write_error({id, ErrorCode::NOTHING,
                            cancel.request ? "request " + std::to_string(*cancel.request) +
                                                 " is not under way"
                                           : std::string("no adaptation is under way")});
    if (!before_agreement(adaptation_->state))
        return write_error({id, ErrorCode::AGREED,
                            "request " + std::to_string(adaptation_->request) +
                                " can no longer be cancelled: the processes have agreed on it"});
    uint64_t request = adaptation_->request;
    raise(AdaptEvent::WITHDRAW, "cancelled by a client");
    return write_answer(id, {{"request", request}});
}

/* The answer goes before the events. */
std::string Step::answer_events(int client, const Json &id, const EventsRequest &events)
{
    effects_.reply(effects_.context, client,
                   write_answer(id, {{"oldest", journal_.oldest()}, {"next", journal_.next()}})
                       .c_str());
    journal_.send(client, events.since, events.follow);
    return "";
}

}  // namespace elastic
