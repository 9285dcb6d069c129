/* See step.h: the step protocol.  doc/developer/step-protocol.md specifies what is answered here. */

#include "stepmgr/step/step.h"

namespace elastic {

void Step::client_line(int64_t now_ms, int client, std::string_view line)
{
    state_.now_ms = now_ms;
    drop_ended();
    auto parsed = parse_request(line);
    std::string reply = std::holds_alternative<ProtocolError>(parsed)
                            ? write_error(std::get<ProtocolError>(parsed))
                            : answer(client, std::get<ClientRequest>(parsed));
    if (!reply.empty())
        state_.effects.reply(state_.effects.context, client, reply.c_str());
    after_event();
}

void Step::client_disconnected(int client)
{
    state_.journal.stop(client);
    if (state_.adaptation && state_.adaptation->waiter && state_.adaptation->waiter->client == client)
        state_.adaptation->waiter.reset();      /* the request itself goes on */
    sampler_.client_disconnected(client);
}

/* The line to send; empty if it has been sent already. */
std::string Step::answer(int client, const ClientRequest &request)
{
    const Json &id = request.id;
    if (std::holds_alternative<HelloRequest>(request.what))
        return write_answer(id, {{"versions", {PROTOCOL_VERSION}},
                                 {"step", state_.step_id},
                                 {"program", program_},
                                 {"user", user_}});
    if (std::holds_alternative<StatusRequest>(request.what))
        return answer_status(id);
    if (const auto *resize = std::get_if<ResizeRequest>(&request.what))
        return answer_resize(client, id, *resize);
    if (const auto *events = std::get_if<EventsRequest>(&request.what))
        return answer_events(client, id, *events);
    if (const auto *performance = std::get_if<PerformanceRequest>(&request.what))
        return sampler_.answer_performance(client, id, *performance);
    if (const auto *refuse = std::get_if<RefuseRequest>(&request.what))
        return answer_refuse(id, *refuse);
    if (const auto *grant = std::get_if<GrantRequest>(&request.what))
        return tasks_.answer_grant(id, *grant);
    if (const auto *slots = std::get_if<SlotsRequest>(&request.what))
        return tasks_.answer_slots(id, *slots);
    if (const auto *psets = std::get_if<PsetsRequest>(&request.what))
        return answer_psets(id, *psets);
    if (std::holds_alternative<TasksRequest>(request.what))
        return tasks_.answer_tasks(id);
    return answer_cancel(id, std::get<CancelRequest>(request.what));
}

std::string Step::status_name() const
{
    if (state_.over || state_.ending)
        return "ending";
    if (state_.mode == InitMode::UNKNOWN)
        return "starting";
    return state_.adaptation ? "adapting" : "running";
}

Json Step::hosts_status() const
{
    std::map<std::string, std::vector<int>> ranks;
    for (const Process *process : state_.world.members())
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
    Json status = {{"step", state_.step_id},
                   {"program", program_},
                   {"user", user_},
                   {"state", status_name()},
                   {"mode", MODES[static_cast<int>(state_.mode)]},
                   {"programs", state_.programs},
                   {"size", state_.world.size()},
                   {"epoch", state_.epoch},
                   {"adaptations", statistics_.committed},
                   {"withdrawn", statistics_.withdrawn},
                   {"failed", statistics_.failed},
                   {"unexpected", statistics_.unexpected},
                   {"strangers", unauthenticated_},
                   {"hosts", hosts_status()},
                   {"sizes", sizes_ ? Json(sizes_->text()) : Json()},
                   {"wish", size_request_ ? describe_size_request() : Json()},
                   {"places", tasks_.held()},
                   {"adaptation", nullptr}};
    if (state_.adaptation)
        status["adaptation"] = {{"request", state_.adaptation->request},
                                {"epoch", state_.adaptation->epoch},
                                {"state", to_string(state_.adaptation->state)},
                                {"origin", state_.adaptation->origin},
                                {"size", state_.adaptation->change.new_size},
                                {"joining", state_.adaptation->change.joining},
                                {"leaving", state_.adaptation->change.leaving}};
    return write_answer(id, status);
}

/* Why a request cannot be accepted now, whatever it wants. */
std::optional<ProtocolError> Step::check_resize(const Json &id, const ResizeRequest &resize) const
{
    if (state_.ending || state_.over)
        return ProtocolError{id, ErrorCode::ENDED, "the job is ending: its size stays as it is"};
    if (state_.managed && resize.change.tag.empty())
        return ProtocolError{id, ErrorCode::MANAGED,
                             "this step belongs to a job of a resource manager, which decides on "
                             "its size: ask there, with 'elastic resize JOB SIZE'"};
    if (is_modify())
        return check_modify(id, resize.change.size);
    if (state_.mode == InitMode::RIGID)
        return ProtocolError{id, ErrorCode::RIGID,
                             "the job is rigid: its program calls MPI_Init, not MPI_Init_adapt, "
                             "and cannot change its size"};
    if (state_.adaptation)
        return ProtocolError{
            id, ErrorCode::BUSY,
            "the step is adapting from " + std::to_string(state_.adaptation->old_size) + " to " +
                std::to_string(state_.adaptation->change.new_size) + " processes already (request " +
                std::to_string(state_.adaptation->request) + ", " + to_string(state_.adaptation->state) +
                "): try again when that has ended, or cancel it"};
    if (state_.world.size() == 0)
        return ProtocolError{id, ErrorCode::BUSY,
                             "the processes are not started yet: try again in a moment"};
    if (resize.if_epoch && *resize.if_epoch != state_.epoch)
        return ProtocolError{id, ErrorCode::STALE,
                             "the last committed epoch is " + std::to_string(state_.epoch) + ", not " +
                                 std::to_string(*resize.if_epoch) +
                                 ": ask for the status and decide again"};
    if (resize.deadline_ms != 0 && resize.deadline_ms <= state_.unix_now_ms())
        return ProtocolError{id, ErrorCode::FIELD, "'deadline_ms' has passed already"};
    return std::nullopt;
}

std::string Step::answer_resize(int client, const Json &id, const ResizeRequest &resize)
{
    if (auto error = check_resize(id, resize))
        return write_error(*error);
    auto change = resolve_change(state_.world.size(), resize.change, state_.programs);
    if (!change)
        return write_error({id, ErrorCode::CHANGE, change.error()});
    if (sizes_ && !sizes_->allows(change.value().new_size))
        return write_error({id, ErrorCode::SIZES, sizes_->refusal(change.value().new_size)});
    if (std::string why = why_refused(change.value().new_size); !why.empty())
        return write_error({id, ErrorCode::CHANGE, why});

    Adaptation &a = is_modify() ? accept(Source::PROGRAM, "MPIX_Comm_modify", resize.change, change.value())
                                : accept(Source::CLIENT, "resize request", resize.change, change.value());
    if (is_modify())
        size_request_->request = a.request;
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
    if (state_.adapts() || is_modify()) /* else when all processes have initialised */
        begin();
    if (last_end_.request == request)   /* the launch was refused at once */
        return write_error({id, ErrorCode::LAUNCH, last_end_.reason});
    if (resize.wait)
        state_.adaptation->waiter = Waiter{client, id};
    return write_answer(id, accepted);
}

std::string Step::answer_cancel(const Json &id, const CancelRequest &cancel)
{
    bool named = state_.adaptation && (!cancel.request || *cancel.request == state_.adaptation->request);
    if (!named)
        return write_error({id, ErrorCode::NOTHING,
                            cancel.request ? "request " + std::to_string(*cancel.request) +
                                                 " is not under way"
                                           : std::string("no adaptation is under way")});
    if (!before_agreement(state_.adaptation->state))
        return write_error({id, ErrorCode::AGREED,
                            "request " + std::to_string(state_.adaptation->request) +
                                " can no longer be cancelled: the processes have agreed on it"});
    uint64_t request = state_.adaptation->request;
    raise(AdaptEvent::WITHDRAW, "cancelled by a client");
    return write_answer(id, {{"request", request}});
}

/* The answer goes before the events. */
std::string Step::answer_events(int client, const Json &id, const EventsRequest &events)
{
    state_.effects.reply(state_.effects.context, client,
                         write_answer(id, {{"oldest", state_.journal.oldest()}, {"next", state_.journal.next()}})
                             .c_str());
    state_.journal.send(client, events.since, events.follow);
    return "";
}

}  // namespace elastic
