/* See task_call.h. */

#include "stepmgr/proto/task_call.h"

#include <cstring>

#include "stepmgr/proto/call_bytes.h"
#include "pmi_adapt_signal.h"

namespace elastic {

template <class Codec>
static void code_texts(Codec &codec, std::vector<std::string> &texts, uint32_t max)
{
    codec.list(texts, max, [&](std::string &text) { codec.text(text, PMI_TASK_TEXT_MAX); });
}

/* ---- the fields of each call, in their order --------------------------------------------------------------------- */

template <class Codec> static void code(Codec &codec, AllocateSlots &call)
{
    codec.integer(call.first);
    codec.integer(call.n, PMI_TASKS_MAX);
    codec.flag(call.hard);
    codec.text(call.arch, PMI_TASK_TEXT_MAX);
    codec.text(call.words, PMI_TASK_TEXT_MAX);
    code_texts(codec, call.own_words, PMI_TASKS_MAX);
    code_texts(codec, call.hosts, PMI_TASKS_MAX);
    codec.require(call.own_words.empty() || call.own_words.size() == call.n);
    codec.require(call.hosts.empty() || call.hosts.size() == call.n);
}

/* The program is checked, and passed on as it is. */
template <class Codec> static void code(Codec &codec, StartTask &call)
{
    codec.integer(call.number);
    codec.rest(call.program, [](auto &reader) {
        std::string path;
        std::vector<std::string> args;
        reader.text(path, PMI_TASK_TEXT_MAX);
        reader.require(!path.empty());
        code_texts(reader, args, PMI_TASK_ARGUMENTS_MAX);
    });
}

template <class Codec> static void code(Codec &codec, CancelSlot &call)
{
    codec.integer(call.number);
}

template <class Codec> static void code(Codec &codec, ReleaseSlot &call)
{
    codec.integer(call.number);
}

template <class Codec> static void code(Codec &codec, SignalTask &call)
{
    codec.integer(call.number);
    codec.text(call.name, PMI_TASK_TEXT_MAX);
    codec.require(pmi_signal_number(call.name.c_str()) != 0);
}

template <class Codec> static void code(Codec &, AwaitTaskEvents &)
{
}

template <class Codec> static void code(Codec &codec, StartWorld &call)
{
    codec.text(call.parent, PMI_TASK_TEXT_MAX);
    codec.list(call.members, PMI_TASKS_MAX, [&](StartWorld::Member &member) {
        codec.integer(member.number);
        std::string path = member.argv.empty() ? "" : member.argv.front();
        codec.text(path, PMI_TASK_TEXT_MAX);
        codec.require(!path.empty());
        std::vector<std::string> args(member.argv.begin() + !member.argv.empty(), member.argv.end());
        code_texts(codec, args, PMI_TASK_WORLD_ARGUMENTS_MAX);
        args.insert(args.begin(), std::move(path));
        member.argv = std::move(args);
    });
    codec.require(!call.members.empty());
}

std::optional<TaskCall> parse_task_call(Bytes bytes)
{
    FieldReader reader(bytes);
    return parse_kind<TaskCall>(reader.number(), reader);
}

std::string write_task_call(const TaskCall &call)
{
    return write_kind<FieldWriter>(call);
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
