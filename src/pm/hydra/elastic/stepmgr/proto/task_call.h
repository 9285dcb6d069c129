/*
 * Calls of processes about process requests, and reports of proxies about them, as bytes (pmi_adapt_set.h,
 * wire/task.h): read with every length and count checked first.
 */

#ifndef ELASTIC_TASK_CALL_H_INCLUDED
#define ELASTIC_TASK_CALL_H_INCLUDED

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "stepmgr/common/bytes.h"
#include "pmi_adapt_set.h"
#include "wire/task.h"

namespace elastic {

struct AllocateSlots {
    static constexpr uint32_t KIND = PMI_TASK_ALLOCATE;
    uint32_t first = 0, n = 0;
    bool hard = false;
    std::string arch, words;
    std::vector<std::string> own_words; /* of each, or none */
    std::vector<std::string> hosts;     /* for each, or none */
};
struct StartTask {
    static constexpr uint32_t KIND = PMI_TASK_START;
    uint32_t number = 0;
    std::string program;        /* as in TASK_RUN */
};
struct StartWorld {             /* the programs of several slots, together */
    static constexpr uint32_t KIND = PMI_TASK_START_WORLD;
    struct Member {
        uint32_t number = 0;
        std::vector<std::string> argv;
    };
    std::string parent;
    std::vector<Member> members;
};
struct CancelSlot {
    static constexpr uint32_t KIND = PMI_TASK_CANCEL;
    uint32_t number = 0;
};
struct ReleaseSlot {
    static constexpr uint32_t KIND = PMI_TASK_RELEASE;
    uint32_t number = 0;
};
struct SignalTask {
    static constexpr uint32_t KIND = PMI_TASK_SIGNAL;
    uint32_t number = 0;
    std::string name;
};
struct AwaitTaskEvents {
    static constexpr uint32_t KIND = PMI_TASK_EVENTS;
};
using TaskCall =
    std::variant<AllocateSlots, StartTask, CancelSlot, ReleaseSlot, SignalTask, AwaitTaskEvents, StartWorld>;

/* Nothing: it is malformed, or no such call. */
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
