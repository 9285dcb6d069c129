/* See task_call.h. */

#include "stepmgr/proto/task_call.h"

#include <cstring>

#include "stepmgr/proto/call_bytes.h"
#include "pmi_adapt_signal.h"

namespace elastic {

namespace {

class TaskReader : public CallBytes {
  public:
    using CallBytes::CallBytes;

    std::string text() { return CallBytes::text(PMI_TASK_TEXT_MAX); }
    std::vector<std::string> texts(uint32_t max)
    {
        std::vector<std::string> list;
        for (uint32_t n = number(max); n > 0 && ok(); n--)
            list.push_back(text());
        return list;
    }
};

TaskCall read_allocate(TaskReader &reader)
{
    AllocateSlots call;
    call.first = reader.number();
    call.n = reader.number(PMI_TASKS_MAX);
    call.hard = reader.number(1) == 1;
    call.arch = reader.text();
    call.words = reader.text();
    call.own_words = reader.texts(PMI_TASKS_MAX);
    call.hosts = reader.texts(PMI_TASKS_MAX);
    reader.require(call.own_words.empty() || call.own_words.size() == call.n);
    reader.require(call.hosts.empty() || call.hosts.size() == call.n);
    return call;
}

TaskCall read_start(TaskReader &reader)
{
    StartTask call;
    call.number = reader.number();
    Bytes program = reader.left();
    reader.require(!reader.text().empty());
    reader.texts(PMI_TASK_ARGUMENTS_MAX);
    call.program.assign(program.begin(), program.end());
    return call;
}

TaskCall read_start_world(TaskReader &reader)
{
    StartWorld call;
    call.parent = reader.text();
    uint32_t n = reader.number(PMI_TASKS_MAX);
    reader.require(n > 0);
    for (; n > 0 && reader.ok(); n--) {
        StartWorld::Member member;
        member.number = reader.number();
        member.argv.push_back(reader.text());
        reader.require(!member.argv.front().empty());
        for (std::string &argument : reader.texts(PMI_TASK_ARGUMENTS_MAX))
            member.argv.push_back(std::move(argument));
        call.members.push_back(std::move(member));
    }
    return call;
}

void append_texts(std::string &bytes, const std::vector<std::string> &texts)
{
    append_number(bytes, texts.size());
    for (const std::string &text : texts)
        append_text(bytes, text);
}

struct Write {
    std::string &bytes;

    void operator()(const AllocateSlots &call)
    {
        append_number(bytes, PMI_TASK_ALLOCATE);
        append_number(bytes, call.first);
        append_number(bytes, call.n);
        append_number(bytes, call.hard);
        append_text(bytes, call.arch);
        append_text(bytes, call.words);
        append_texts(bytes, call.own_words);
        append_texts(bytes, call.hosts);
    }
    void operator()(const StartTask &call)
    {
        append_number(bytes, PMI_TASK_START);
        append_number(bytes, call.number);
        bytes += call.program;
    }
    void operator()(const CancelSlot &call)
    {
        append_number(bytes, PMI_TASK_CANCEL);
        append_number(bytes, call.number);
    }
    void operator()(const ReleaseSlot &call)
    {
        append_number(bytes, PMI_TASK_RELEASE);
        append_number(bytes, call.number);
    }
    void operator()(const SignalTask &call)
    {
        append_number(bytes, PMI_TASK_SIGNAL);
        append_number(bytes, call.number);
        append_text(bytes, call.name);
    }
    void operator()(const AwaitTaskEvents &) { append_number(bytes, PMI_TASK_EVENTS); }
    void operator()(const StartWorld &call)
    {
        append_number(bytes, PMI_TASK_START_WORLD);
        append_text(bytes, call.parent);
        append_number(bytes, call.members.size());
        for (const StartWorld::Member &member : call.members) {
            append_number(bytes, member.number);
            append_text(bytes, member.argv.front());
            append_texts(bytes, {member.argv.begin() + 1, member.argv.end()});
        }
    }
};

}  // namespace

std::optional<TaskCall> parse_task_call(Bytes bytes)
{
    TaskReader reader(bytes);
    TaskCall call;
    switch (reader.number()) {
        case PMI_TASK_ALLOCATE:
            call = read_allocate(reader);
            break;
        case PMI_TASK_START:
            call = read_start(reader);
            break;
        case PMI_TASK_CANCEL:
            call = CancelSlot{reader.number()};
            break;
        case PMI_TASK_RELEASE:
            call = ReleaseSlot{reader.number()};
            break;
        case PMI_TASK_SIGNAL: {
            uint32_t number = reader.number();
            std::string name = reader.text();
            reader.require(pmi_signal_number(name.c_str()) != 0);
            call = SignalTask{number, std::move(name)};
            break;
        }
        case PMI_TASK_EVENTS:
            call = AwaitTaskEvents{};
            break;
        case PMI_TASK_START_WORLD:
            call = read_start_world(reader);
            break;
        default:
            return std::nullopt;
    }
    return reader.complete() ? std::optional(std::move(call)) : std::nullopt;
}

std::string write_task_call(const TaskCall &call)
{
    std::string bytes;
    std::visit(Write{bytes}, call);
    return bytes;
}

std::optional<TaskReport> parse_task_report(Bytes payload)
{
    TaskReport report;
    if (payload.size() < sizeof report.head || payload.size() > sizeof report.head + PMI_TASK_TEXT_MAX)
        return std::nullopt;
    std::memcpy(&report.head, payload.data(), sizeof report.head);
    Bytes text = payload.subspan(sizeof report.head);
    report.text.assign(text.begin(), text.end());
    bool sane = report.head.kind == PMI_TASK_STARTED || report.head.kind == PMI_TASK_EXITED;
    return sane && report.head.code <= 255 ? std::optional(std::move(report)) : std::nullopt;
}

std::string write_task_head(const task_head &head)
{
    return {reinterpret_cast<const char *>(&head), sizeof head};
}

}  // namespace elastic
