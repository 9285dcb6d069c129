/*
 * Calls of processes about process requests, and reports of proxies about these, as bytes
 * (messages/calls.h, wire/task.h).  Reading checks every length and count first.
 */

#ifndef ELASTIC_TASK_CALL_H_INCLUDED
#define ELASTIC_TASK_CALL_H_INCLUDED

#include <optional>
#include <string>

#include "messages/calls.h"
#include "stepmgr/common/bytes.h"
#include "wire/task.h"

namespace elastic {

/* Nothing: it is malformed, or is not a call about process requests. */
std::optional<TaskCall> parse_task_call(Bytes call);
/* The reverse, for tests. */
std::string write_task_call(const TaskCall &call);

struct TaskReport {
    task_head head{};
    std::string text;
};
std::optional<TaskReport> parse_task_report(Bytes payload);
std::string write_task_head(const task_head &head);

}  // namespace elastic

#endif /* ELASTIC_TASK_CALL_H_INCLUDED */
