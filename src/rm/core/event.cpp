/* See event.h and action.h: their JSON. */

#include "core/event.h"

#include "core/action.h"

namespace elastic::rm {

const char *name_of(const EventContent &content)
{
    return std::visit([](const auto &each) { return each.NAME; }, content);
}

const char *name_of(const Action &action)
{
    return std::visit([](const auto &each) { return each.NAME; }, action);
}

Json to_json(const Event &event)
{
    Json json = write_variant("event", event.content);
    json["seq"] = event.seq;
    json["time_ms"] = event.time_ms;
    return json;
}

Result<Event> event_from_json(const Json &json)
{
    try {
        if (!json.is_object())
            throw FieldError("an event must be an object");
        Event event;
        Json content = json;
        for (const char *name : {"seq", "time_ms"}) {
            if (!content.contains(name))
                throw FieldError(std::string("field ") + name + " is missing");
        }
        read(content["seq"], event.seq, "seq");
        read(content["time_ms"], event.time_ms, "time_ms");
        content.erase("seq");
        content.erase("time_ms");
        event.content = read_variant<EventContent>("event", std::move(content));
        return event;
    } catch (const FieldError &error) {
        return Error{error.what()};
    }
}

Json Record::whole_data() const
{
    Json whole = data;
    if (list)
        whole[list] = write(blocks);
    if (spec)
        whole["spec"] = write(*spec);
    return whole;
}

void Record::find_members()
{
    if (auto found = data.find("spec"); found != data.end()) {
        if (Result<JobSpec> read = parse<JobSpec>(*found)) {
            spec = std::make_shared<const JobSpec>(std::move(read.value()));
            data.erase(found);
        }
    }
    for (const char *name : {"blocks", "joining"}) {
        auto found = data.find(name);
        if (found == data.end())
            continue;
        if (Result<Blocks> read = parse<Blocks>(*found)) {
            list = name;
            blocks = std::move(read.value());
            data.erase(found);
            return;
        }
    }
}

Json to_json(const Action &action)
{
    return write_variant("action", action);
}

Result<Action> action_from_json(const Json &json)
{
    try {
        return read_variant<Action>("action", json);
    } catch (const FieldError &error) {
        return Error{error.what()};
    }
}

}  // namespace elastic::rm
