/* See protocol.h. */

#include "stepmgr/proto/protocol.h"

#include "pmi_adapt_request.h"

#include <algorithm>
#include <initializer_list>

namespace elastic {

namespace {

constexpr int64_t INTERVAL_MIN_MS = 1000, INTERVAL_MAX_MS = 3600 * 1000;
constexpr uint64_t COUNTER_MAX = uint64_t{1} << 53;     /* exact in every JSON reader */

/* Reads fields of one object.  Keeps the first error; later calls have no effect. */
class FieldReader {
  public:
    explicit FieldReader(const Json &object) : object_(object) {}

    void allow(std::string_view op, std::initializer_list<std::string_view> names)
    {
        for (const auto &[name, value] : object_.items()) {
            bool common = name == "id" || name == "op" || name == "version";
            if (!common && std::find(names.begin(), names.end(), name) == names.end())
                fail("'" + name.substr(0, 40) + "' is not a field of '" + std::string(op) +
                     "': leave it out");
        }
    }
    bool has(const char *name) const { return object_.contains(name); }

    uint64_t number(const char *name, uint64_t low, uint64_t high)
    {
        const Json &value = object_.at(name);
        bool fits = value.is_number_unsigned() && value.get<uint64_t>() >= low &&
                    value.get<uint64_t>() <= high;
        if (!fits)
            fail(std::string("'") + name + "' must be a whole number from " + std::to_string(low) +
                 " to " + std::to_string(high));
        return fits ? value.get<uint64_t>() : low;
    }
    bool flag(const char *name)
    {
        bool present = has(name);
        if (present && !object_.at(name).is_boolean())
            fail(std::string("'") + name + "' must be true or false");
        return present && object_.at(name).is_boolean() && object_.at(name).get<bool>();
    }
    std::string text(const char *name, size_t max_bytes)
    {
        if (!has(name))
            return "";
        const Json &value = object_.at(name);
        if (!value.is_string() || value.get_ref<const std::string &>().size() > max_bytes) {
            fail(std::string("'") + name + "' must be a text of at most " +
                 std::to_string(max_bytes) + " bytes");
            return "";
        }
        return value.get<std::string>();
    }
    /* A list, or a text with ranges such as "0-99999,100002", which is shorter. */
    std::vector<int> ranks(const char *name)
    {
        if (has(name) && object_.at(name).is_string()) {
            auto ranks = parse_ranks(object_.at(name).get_ref<const std::string &>(), ',');
            if (!ranks)
                fail(std::string("'") + name + "': " + ranks.error());
            return ranks ? ranks.value() : std::vector<int>();
        }
        std::vector<int> ranks;
        for (const Json &item : list(name, SIZE_MAX_PROCESSES)) {
            bool fits = item.is_number_unsigned() &&
                        item.get<uint64_t>() < static_cast<uint64_t>(SIZE_MAX_PROCESSES);
            if (!fits)
                fail(std::string("'") + name + "' must hold ranks, whole numbers from 0");
            ranks.push_back(fits ? item.get<int>() : 0);
        }
        return ranks;
    }
    std::vector<std::string> hosts(const char *name, bool (*valid)(std::string_view),
                                   const char *more)
    {
        std::vector<std::string> hosts;
        for (const Json &item : list(name, HOSTS_MAX)) {
            bool fits = item.is_string() && valid(item.get_ref<const std::string &>());
            if (!fits)
                fail(std::string("'") + name +
                     "' must hold host names of letters, digits, '.', '-' and '_', or NAME:COUNT" +
                     more);
            hosts.push_back(fits ? item.get<std::string>() : "");
        }
        return hosts;
    }
    void fail(std::string message)
    {
        if (!error_)
            error_ = std::move(message);
    }
    const std::optional<std::string> &error() const { return error_; }

  private:
    Json list(const char *name, size_t max_items)
    {
        if (!has(name))
            return Json::array();
        const Json &value = object_.at(name);
        if (value.is_array() && value.size() <= max_items)
            return value;
        fail(std::string("'") + name + "' must be a list of at most " +
             std::to_string(max_items) + " items");
        return Json::array();
    }

    const Json &object_;
    std::optional<std::string> error_;
};

ResizeRequest read_resize(FieldReader &fields)
{
    fields.allow("resize", {"size", "leave", "hosts", "program", "if_epoch", "deadline_ms",
                            "reason", "tag", "wait"});
    ResizeRequest resize;
    if (!fields.has("size"))
        fields.fail("'size' is missing: give the number of processes wanted");
    else
        resize.change.size = static_cast<int>(fields.number("size", 1, SIZE_MAX_PROCESSES));
    if (fields.has("leave"))
        resize.change.leave = fields.ranks("leave");
    resize.change.hosts = fields.hosts("hosts", valid_host_of_joining, ", or NAME:COUNT=GPUS");
    if (fields.has("program"))
        resize.change.program = static_cast<int>(fields.number("program", 0, PROGRAMS_MAX - 1));
    if (fields.has("if_epoch"))
        resize.if_epoch = static_cast<uint32_t>(fields.number("if_epoch", 0, UINT32_MAX));
    if (fields.has("deadline_ms"))
        resize.deadline_ms = fields.number("deadline_ms", 1, COUNTER_MAX);
    resize.reason = fields.text("reason", REASON_MAX_BYTES);
    resize.change.tag = fields.text("tag", TAG_MAX_BYTES);
    resize.wait = fields.flag("wait");
    return resize;
}

EventsRequest read_events(FieldReader &fields)
{
    fields.allow("events", {"since", "follow"});
    EventsRequest events;
    if (fields.has("since"))
        events.since = fields.number("since", 0, COUNTER_MAX);
    events.follow = fields.flag("follow");
    return events;
}

PerformanceRequest read_performance(FieldReader &fields)
{
    fields.allow("performance", {"interval_ms"});
    PerformanceRequest performance;
    if (fields.has("interval_ms"))
        performance.interval_ms =
            static_cast<uint32_t>(fields.number("interval_ms", 0, INTERVAL_MAX_MS));
    if (performance.interval_ms && *performance.interval_ms > 0 &&
        *performance.interval_ms < INTERVAL_MIN_MS)
        fields.fail("'interval_ms' must be 0 (nothing is measured) or a number from " +
                    std::to_string(INTERVAL_MIN_MS) + " to " + std::to_string(INTERVAL_MAX_MS));
    return performance;
}

CancelRequest read_cancel(FieldReader &fields)
{
    fields.allow("cancel", {"request"});
    CancelRequest cancel;
    if (fields.has("request"))
        cancel.request = fields.number("request", 1, COUNTER_MAX);
    return cancel;
}

RefuseRequest read_refuse(FieldReader &fields)
{
    fields.allow("refuse", {REQUEST_NUMBER, "reason"});
    RefuseRequest refuse;
    if (!fields.has(REQUEST_NUMBER))
        fields.fail("'wish' is missing: give the number of the event 'wish'");
    else
        refuse.request_number = fields.number(REQUEST_NUMBER, 1, COUNTER_MAX);
    refuse.reason = fields.text("reason", PMI_ADAPT_REQUEST_REASON_MAX);
    if (!pmi_adapt_request_reason_holds(refuse.reason.data(), refuse.reason.size()))
        fields.fail("'reason' must not have control characters");
    return refuse;
}

GrantRequest read_grant(FieldReader &fields)
{
    fields.allow("grant", {REQUEST_NUMBER, "grant", "hosts"});
    GrantRequest grant;
    for (const char *name : {REQUEST_NUMBER, "grant", "hosts"}) {
        if (!fields.has(name))
            fields.fail("'" + std::string(name) +
                        "' is missing: a grant has 'wish', 'grant' and 'hosts'");
    }
    if (fields.error())
        return grant;
    grant.request_number = fields.number(REQUEST_NUMBER, 1, COUNTER_MAX);
    grant.grant = fields.number("grant", 1, COUNTER_MAX);
    grant.hosts = fields.hosts("hosts", valid_host_slot, "");
    return grant;
}

SlotsRequest read_slots(FieldReader &fields)
{
    fields.allow("slots", {"most"});
    SlotsRequest slots;
    if (fields.has("most"))
        slots.most = fields.number("most", 0, SIZE_MAX_PROCESSES);
    return slots;
}

PsetsRequest read_psets(FieldReader &fields)
{
    fields.allow("psets", {"after"});
    PsetsRequest psets;
    if (fields.has("after"))
        psets.after = static_cast<uint32_t>(fields.number("after", 0, UINT32_MAX));
    return psets;
}

/* The id as it may be echoed, or null. */
Json read_id(const Json &object, FieldReader &fields)
{
    if (!object.contains("id"))
        return nullptr;
    const Json &id = object.at("id");
    if (id.is_number_unsigned() && id.get<uint64_t>() <= COUNTER_MAX)
        return id;
    if (id.is_string() && id.get_ref<const std::string &>().size() <= REQUEST_ID_MAX_BYTES)
        return id;
    fields.fail("'id' must be a whole number from 0, or a text of at most " +
                std::to_string(REQUEST_ID_MAX_BYTES) + " bytes");
    return nullptr;
}

std::variant<ClientRequest, ProtocolError> read_operation(const Json &object, FieldReader &fields,
                                                          const Json &id)
{
    std::string op = fields.text("op", 64);
    ClientRequest request{id, HelloRequest{}};
    if (op == "hello")
        fields.allow(op, {});
    else if (op == "status")
        fields.allow(op, {}), request.what = StatusRequest{};
    else if (op == "performance")
        request.what = read_performance(fields);
    else if (op == "resize")
        request.what = read_resize(fields);
    else if (op == "events")
        request.what = read_events(fields);
    else if (op == "cancel")
        request.what = read_cancel(fields);
    else if (op == "refuse")
        request.what = read_refuse(fields);
    else if (op == "grant")
        request.what = read_grant(fields);
    else if (op == "slots")
        request.what = read_slots(fields);
    else if (op == "psets")
        request.what = read_psets(fields);
    else if (op == "tasks")
        fields.allow(op, {}), request.what = TasksRequest{};
    else if (!fields.error())
        return ProtocolError{
            id, ErrorCode::OPERATION,
            (object.contains("op") ? "operation '" + op + "' is not known"
                                   : std::string("'op' is missing")) +
                ": give hello, status, resize, events, cancel, refuse, grant, slots, "
                "performance, psets or tasks"};
    if (fields.error())
        return ProtocolError{id, ErrorCode::FIELD, *fields.error()};
    return request;
}

}  // namespace

const char *to_string(ErrorCode code)
{
    switch (code) {
        case ErrorCode::SYNTAX: return "syntax";
        case ErrorCode::VERSION: return "version";
        case ErrorCode::OPERATION: return "operation";
        case ErrorCode::FIELD: return "field";
        case ErrorCode::CHANGE: return "change";
        case ErrorCode::RIGID: return "rigid";
        case ErrorCode::BUSY: return "busy";
        case ErrorCode::ENDED: return "ended";
        case ErrorCode::STALE: return "stale";
        case ErrorCode::LAUNCH: return "launch";
        case ErrorCode::NOTHING: return "nothing";
        case ErrorCode::AGREED: return "agreed";
        case ErrorCode::MANAGED: return "managed";
        case ErrorCode::SIZES: return "sizes";
    }
    return "?";
}

std::variant<ClientRequest, ProtocolError> parse_request(std::string_view line)
{
    if (line.size() > STEP_LINE_MAX)
        return ProtocolError{nullptr, ErrorCode::SYNTAX,
                             "the line is longer than " + std::to_string(STEP_LINE_MAX) + " bytes"};
    Json object = Json::parse(line, nullptr, false);
    if (!object.is_object())
        return ProtocolError{nullptr, ErrorCode::SYNTAX,
                             "the line is not one JSON object: send, for example, "
                             "{\"id\":1,\"op\":\"status\"}"};
    FieldReader fields(object);
    Json id = read_id(object, fields);
    if (object.contains("version") && object.at("version") != PROTOCOL_VERSION)
        return ProtocolError{id, ErrorCode::VERSION,
                             "only version " + std::to_string(PROTOCOL_VERSION) +
                                 " of the step protocol is supported"};
    return read_operation(object, fields, id);
}

std::string write_answer(const Json &id, const Json &fields)
{
    Json answer = {{"id", id}, {"ok", true}};
    answer.update(fields);
    return write_line(answer);
}

std::string write_error(const ProtocolError &error)
{
    return write_line({{"id", error.id},
                       {"ok", false},
                       {"error", {{"code", to_string(error.code)}, {"message", error.message}}}});
}

}  // namespace elastic
