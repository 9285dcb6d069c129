/* See task_call.h. */

#include "stepmgr/proto/task_call.h"

#include <cstring>

#include "stepmgr/proto/call_bytes.h"

namespace elastic {

std::optional<TaskCall> parse_task_call(Bytes bytes)
{
    return parse_call<TaskCall>(bytes);
}

std::string write_task_call(const TaskCall &call)
{
    return write_call(call);
}

std::optional<TaskReport> parse_task_report(Bytes payload)
{
    TaskReport report;
    if (payload.size() < sizeof report.head ||
        payload.size() > sizeof report.head + PMI_TASK_TEXT_MAX)
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
