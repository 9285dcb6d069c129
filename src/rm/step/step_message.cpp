/* See step_message.h. */

#include "step/step_message.h"

#include <variant>

#include "base/bounded_json.h"
#include "pmi_adapt_sizes.h"

namespace elastic::rm {

namespace {

constexpr size_t ID_BYTES_MAX = 64, TAG_BYTES_MAX = 64, NAME_BYTES_MAX = 64;
constexpr double TIME_MS_MAX = 1e15;

enum Presence { OPTIONAL, REQUIRED };

/* Where a field goes says what it must be. */
struct FieldRule {
    const char *name;
    std::variant<uint64_t StepMessage::*, double StepMessage::*, std::string StepMessage::*, bool StepMessage::*> into;
    Presence presence;
    uint64_t most;      /* a number's value, a text's bytes */
};

struct MessageRule {
    const char *event;
    StepMessageKind kind;
    std::vector<FieldRule> fields;
};

const FieldRule SEQ = {"seq", &StepMessage::seq, REQUIRED, STEP_NUMBER_MAX};
const FieldRule TIME = {"time_ms", &StepMessage::time_ms, OPTIONAL, 0};
const FieldRule REQUEST = {"request", &StepMessage::request, REQUIRED, STEP_NUMBER_MAX};
const FieldRule EPOCH = {"epoch", &StepMessage::epoch, REQUIRED, STEP_NUMBER_MAX};
const FieldRule TAG = {"tag", &StepMessage::tag, OPTIONAL, TAG_BYTES_MAX};
const FieldRule RULE = {"rule", &StepMessage::rule, REQUIRED, PMI_ADAPT_SIZES_MAX};
const FieldRule REASON = {"reason", &StepMessage::reason, OPTIONAL, UINT64_MAX};

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
    };
    return table;
}

/* Of every event, and of what answers. */
const std::vector<FieldRule> EVENT_FIELDS = {SEQ, TIME};
const std::vector<FieldRule> ANSWER_FIELDS = {
    {"id", &StepMessage::id, OPTIONAL, ID_BYTES_MAX},
    {"ok", &StepMessage::ok, REQUIRED, 0},
    {"oldest", &StepMessage::oldest, OPTIONAL, STEP_NUMBER_MAX},
    {"next", &StepMessage::next, OPTIONAL, STEP_NUMBER_MAX},
};
const std::vector<FieldRule> ERROR_FIELDS = {{"message", &StepMessage::error, OPTIONAL, UINT64_MAX}};

/* One function for each type of field; false: it is not of that type, or too great. */
bool take(const Json &value, uint64_t &into, uint64_t most)
{
    if (!value.is_number_unsigned() || value.get<uint64_t>() > most)
        return false;
    into = value.get<uint64_t>();
    return true;
}

bool take(const Json &value, double &into, uint64_t)
{
    if (!value.is_number() || !(value.get<double>() >= 0 && value.get<double>() <= TIME_MS_MAX))
        return false;
    into = value.get<double>();
    return true;
}

/* What is for people is cut, what is for programs must fit. */
bool take(const Json &value, std::string &into, uint64_t most)
{
    if (!value.is_string())
        return false;
    const auto &text = value.get_ref<const std::string &>();
    if (text.size() > most)
        return false;
    into = most == UINT64_MAX ? printable(text, STEP_REASON_BYTES_MAX) : text;
    return true;
}

bool take(const Json &value, bool &into, uint64_t)
{
    if (!value.is_boolean())
        return false;
    into = value.get<bool>();
    return true;
}

/* Empty, or what is wrong. */
std::string read_fields(const Json &object, const std::vector<FieldRule> &rules, StepMessage &message)
{
    for (const FieldRule &rule : rules) {
        auto found = object.find(rule.name);
        if (found == object.end() && rule.presence == REQUIRED)
            return "field '" + std::string(rule.name) + "' is missing";
        if (found == object.end() || (rule.presence == OPTIONAL && found->is_null()))
            continue;
        bool good = std::visit([&](auto member) { return take(*found, message.*member, rule.most); }, rule.into);
        if (!good)
            return "field '" + std::string(rule.name) + "' has a wrong type or is out of bounds";
    }
    return "";
}

std::string read_event(const Json &line, const Json &event, StepMessage &message)
{
    if (!event.is_string() || event.get_ref<const std::string &>().size() > NAME_BYTES_MAX)
        return "field 'event' has a wrong type or is out of bounds";
    const auto &name = event.get_ref<const std::string &>();
    std::string wrong = read_fields(line, EVENT_FIELDS, message);
    for (const MessageRule &rule : events()) {
        if (wrong.empty() && name == rule.event) {
            message.kind = rule.kind;
            wrong = read_fields(line, rule.fields, message);
        }
    }
    return wrong.empty() ? "" : "event '" + printable(name, NAME_BYTES_MAX) + "': " + wrong;
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
    std::string wrong = event != line.end() ? read_event(line, *event, message) : read_answer(line, message);
    if (!wrong.empty())
        return Error{wrong};
    return message;
}

}  // namespace elastic::rm
