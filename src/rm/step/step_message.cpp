/* See step_message.h. */

#include "step/step_message.h"

#include "pmi_adapt_sizes.h"
#include "step/field_rules.h"

namespace elastic::rm {

namespace {

constexpr size_t ID_BYTES_MAX = 64, TAG_BYTES_MAX = 64, NAME_BYTES_MAX = 64, WORD_BYTES_MAX = 32,
                 HOST_BYTES_MAX = 255;
constexpr uint64_t REQUEST_SIZE_MAX = 1 << 20;

using Rule = FieldRule<StepMessage>;

struct MessageRule {
    const char *event;
    StepMessageKind kind;
    FieldRules<StepMessage> fields;
};

const Rule SEQ = {"seq", &StepMessage::seq, REQUIRED, STEP_NUMBER_MAX};
const Rule TIME = {"time_ms", &StepMessage::time_ms, OPTIONAL, 0};
const Rule REQUEST = {"request", &StepMessage::request, REQUIRED, STEP_NUMBER_MAX};
const Rule UID = {"uid", &StepMessage::uid, REQUIRED, STEP_NUMBER_MAX};
const Rule EPOCH = {"epoch", &StepMessage::epoch, REQUIRED, STEP_NUMBER_MAX};
const Rule TAG = {"tag", &StepMessage::tag, OPTIONAL, TAG_BYTES_MAX};
const Rule RULE = {"rule", &StepMessage::rule, REQUIRED, PMI_ADAPT_SIZES_MAX};
const Rule REASON = {"reason", &StepMessage::reason, OPTIONAL, FOR_PEOPLE};

const Rule LEAVING = {"leaving", &StepMessage::leaving, REQUIRED, REQUEST_SIZE_MAX};
const Rule STEP = {"step", &StepMessage::step, REQUIRED, ID_BYTES_MAX};
const Rule REQUEST_NUMBER = {"wish", &StepMessage::size_request, REQUIRED, STEP_NUMBER_MAX};
const Rule KIND = {"kind", &StepMessage::request_kind, REQUIRED, WORD_BYTES_MAX};
const Rule SIZE = {"size", &StepMessage::size, REQUIRED, REQUEST_SIZE_MAX};
const Rule SIZE_LEAST = {"size_min", &StepMessage::size_min, REQUIRED, REQUEST_SIZE_MAX};
const Rule SIZE_MOST = {"size_max", &StepMessage::size_max, REQUIRED, REQUEST_SIZE_MAX};
const Rule MODIFY = {"modify", &StepMessage::modify, OPTIONAL, 0};
const Rule WAITS = {"waits", &StepMessage::waits, OPTIONAL, 0};
const Rule HOST = {"host", &StepMessage::host, REQUIRED, HOST_BYTES_MAX};
const Rule RESULT = {"result", &StepMessage::result, REQUIRED, WORD_BYTES_MAX};

const std::vector<MessageRule> &events()
{
    using enum StepMessageKind;
    static const std::vector<MessageRule> table = {
        {"adaptive", ADAPTIVE, {}},
        {"rigid", RIGID, {}},
        {"sizes", SIZES, {RULE}},
        {"requested", REQUESTED, {REQUEST, TAG}},
        {"plan", PLAN, {REQUEST}},
        {"target", TARGET, {REQUEST}},
        {"committed", COMMITTED, {REQUEST, EPOCH}},
        {"withdrawn", WITHDRAWN, {REQUEST, REASON}},
        {"failed", FAILED, {REQUEST, REASON}},
        {"freed", FREED, {EPOCH}},
        {"left", LEFT, {EPOCH, LEAVING}},
        {"told", NOTIFIED, {REQUEST, UID}},
        {"accepted", ACCEPTED, {REQUEST, UID}},
        {"declined", DECLINED, {REQUEST, UID}},
        {"wish",
         SIZE_REQUEST,
         {STEP, REQUEST_NUMBER, KIND, SIZE, SIZE_LEAST, SIZE_MOST, MODIFY, WAITS, REASON}},
        {"wish_ended", REQUEST_ENDED, {STEP, REQUEST_NUMBER, RESULT, REASON}},
        {"wish of slots", SLOTS_CHANGED, {}},
        {"wish_ended of slots", SLOTS_CHANGED, {}},
        {"granted", SLOTS_CHANGED, {}},
        {"released", SLOTS_CHANGED, {}},
        {"spawned", SLOTS_CHANGED, {}},
        {"host_lost", HOST_LOST, {HOST}},
    };
    return table;
}

/* Fields of every event, and of every answer. */
const FieldRules<StepMessage> EVENT_FIELDS = {SEQ, TIME};
const FieldRules<StepMessage> ANSWER_FIELDS = {
    {"id", &StepMessage::id, OPTIONAL, ID_BYTES_MAX},
    {"ok", &StepMessage::ok, REQUIRED, 0},
    {"oldest", &StepMessage::oldest, OPTIONAL, STEP_NUMBER_MAX},
    {"next", &StepMessage::next, OPTIONAL, STEP_NUMBER_MAX},
};
const FieldRules<StepMessage> ERROR_FIELDS = {
    {"message", &StepMessage::error, OPTIONAL, FOR_PEOPLE}};

/* Requests for slots have separate rows. */
std::string row_of(const Json &line, const std::string &name)
{
    auto kind = line.find("kind");
    return kind != line.end() && *kind == "slots" ? name + " of slots" : name;
}

std::string read_event(const Json &line, const Json &event, StepMessage &message)
{
    if (!event.is_string() || event.get_ref<const std::string &>().size() > NAME_BYTES_MAX)
        return "field 'event' has a wrong type or is out of bounds";
    const auto &name = event.get_ref<const std::string &>();
    const std::string row = row_of(line, name);
    std::string wrong = read_fields(line, EVENT_FIELDS, message);
    for (const MessageRule &rule : events()) {
        if (wrong.empty() && row == rule.event) {
            message.kind = rule.kind;
            wrong = read_fields(line, rule.fields, message);
        }
    }
    if (wrong.empty())
        return "";
    return "event '" + printable(name, Charset::ASCII, NAME_BYTES_MAX) + "': " + wrong;
}

std::string read_answer(const Json &line, StepMessage &message)
{
    message.kind = StepMessageKind::ANSWER;
    std::string wrong = read_fields(line, ANSWER_FIELDS, message);
    if (!wrong.empty() || message.ok)
        return wrong.empty() ? "" : "an answer: " + wrong;
    auto error = line.find("error");
    if (error == line.end() || !error->is_object())
        return "an answer: field 'error' must be an object";
    wrong = read_fields(*error, ERROR_FIELDS, message);
    return wrong.empty() ? "" : "an error: " + wrong;
}

}  // namespace

Result<StepMessage> read_step_message(const Json &line)
{
    if (!line.is_object())
        return Error{"a line is not a JSON object"};
    StepMessage message;
    auto event = line.find("event");
    std::string wrong = event != line.end()
        ? read_event(line, *event, message)
        : read_answer(line, message);
    if (!wrong.empty())
        return Error{wrong};
    return message;
}

}  // namespace elastic::rm
