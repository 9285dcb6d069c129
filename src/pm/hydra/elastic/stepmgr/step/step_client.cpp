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
    resizes_.client_disconnected(client);
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
        return resizes_.answer_resize(client, id, *resize);
    if (const auto *events = std::get_if<EventsRequest>(&request.what))
        return answer_events(client, id, *events);
    if (const auto *performance = std::get_if<PerformanceRequest>(&request.what))
        return sampler_.answer_performance(client, id, *performance);
    if (const auto *refuse = std::get_if<RefuseRequest>(&request.what))
        return tasks_.refuse(*refuse) ? write_answer(id, {{"wish", refuse->request_number}})
                                     : requests_.answer_refuse(id, *refuse);
    if (const auto *grant = std::get_if<GrantRequest>(&request.what))
        return tasks_.answer_grant(id, *grant);
    if (const auto *slots = std::get_if<SlotsRequest>(&request.what))
        return tasks_.answer_slots(id, *slots);
    if (const auto *psets = std::get_if<PsetsRequest>(&request.what))
        return psets_.answer_psets(id, *psets);
    if (std::holds_alternative<TasksRequest>(request.what))
        return tasks_.answer_tasks(id);
    return resizes_.answer_cancel(id, std::get<CancelRequest>(request.what));
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
                   {"adaptations", state_.statistics.committed()},
                   {"withdrawn", state_.statistics.withdrawn()},
                   {"failed", state_.statistics.failed()},
                   {"unexpected", state_.unexpected_count},
                   {"strangers", unauthenticated_},
                   {"hosts", hosts_status()},
                   {"sizes", requests_.rule()},
                   {"wish", requests_.describe()},
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
