/* See job_view.h: records of elasticd. */

#include "cli/job_text.h"
#include "cli/job_view.h"

namespace elastic {

namespace {

std::string resize_text(const Json &data)
{
    return shown(data, "old_size") + " -> " + shown(data, "size") + " processes";
}

std::string after(const char *words, const Json &data, const char *name)
{
    std::string value = string_or(data, name, "");
    return value.empty() ? "" : words + value;
}

std::string number_after(const char *words, const Json &data, const char *name,
                         const char *unit = "")
{
    return data.contains(name) && data[name].is_number() ? words + shown(data, name) + unit : "";
}

std::string non_empty_or(const Json &data, const char *name, const char *otherwise)
{
    std::string value = string_or(data, name, "");
    return value.empty() ? otherwise : value;
}

/* For slots beside the world; empty: other resources. */
std::string slots_detail(const std::string &event, const Json &data)
{
    std::string slot_request = "slot request " + shown(data, "wish") + ": ";
    bool of_slots = string_or(data, "kind", "") == "slots";
    if (event == "wished" && of_slots)
        return slot_request + shown(data, "count") + " slots" + after(" on ", data, "host") +
               (bool_or(data, "exclusive", false) ? ", exclusive" : "") +
               (bool_or(data, "hard", false) ? "" : ", or fewer");
    if (event == "wish_ended" && of_slots)
        return slot_request + shown(data, "result") + after(": ", data, "reason");
    if (event == "slots_granted")
        return slot_request + "slots on " + node_list(list_of(data, "blocks"));
    if (event == "spawned")
        return shown(data, "processes") + " processes" +
               (integer_or(data, "without_cores", 0) > 0
                    ? ", " + shown(data, "without_cores") + " without cores"
                    : "");
    if (event == "slots_released")
        return shown(data, "released") + " slots, " + shown(data, "places") + " remain";
    return "";
}

/* Details in addition to the event's name. */
std::string record_detail(const std::string &event, const Json &data)
{
    if (event == "submitted") {
        const Json &spec = object_of(data, "spec");
        std::string minimum = shown(spec, "minimum"), maximum = shown(spec, "maximum");
        return (minimum == maximum ? minimum : minimum + ":" + maximum) + " processes" +
               after(", ", spec, "elasticity") + after(": ", spec, "name");
    }
    if (event == "placed")
        return shown(data, "size") + " processes on " + node_list(list_of(data, "blocks")) +
               number_after(" after ", data, "waited_ms", " ms");
    if (event == "started")
        return shown(data, "size") + " processes";
    if (event == "mode")
        return shown(data, "mode");
    if (event == "sizes")
        return shown(data, "rule");
    if (std::string extra_slots = slots_detail(event, data); !extra_slots.empty())
        return extra_slots;
    if (event == "name_published" || event == "name_withdrawn")
        return shown(data, "name");
    if (event == "wished")
        return "size request " + shown(data, "wish") + ": " + shown(data, "size") + " processes, " +
            shown(data, "minimum") + ":" + shown(data, "maximum") + after(": ", data, "reason");
    if (event == "wish_ended")
        return "size request " + shown(data, "wish") + ": " + shown(data, "result") + " with " +
            shown(data, "size") + " processes" + after(": ", data, "reason");
    if (event == "requested")
        return "request " + shown(data, "request") + ": " + resize_text(data) +
               (bool_or(data, "by_user", false)
                    ? " (by " + non_empty_or(data, "by", "a user") + ")"
                    : "") +
               after(": ", data, "reason");
    if (event == "committed")
        return "epoch " + shown(data, "epoch") + ": " + resize_text(data) + " on " +
               node_list(list_of(data, "blocks")) +
               number_after(", stood still ", data, "standstill_ms", " ms");
    if (event == "left")
        return "epoch " + shown(data, "epoch") + ": " + resize_text(data) + " by themselves, on " +
               node_list(list_of(data, "blocks"));
    if (event == "withdrawn" || event == "failed" || event == "overdue")
        return "request " + shown(data, "request") + ": " + resize_text(data) +
               after(": ", data, "reason");
    if (event == "told")
        return "request " + shown(data, "request") + ": process " + shown(data, "uid");
    if (event == "accepted" || event == "declined")
        return "request " + shown(data, "request") + ": by process " + shown(data, "uid");
    if (event == "freed")
        return node_list(list_of(data, "blocks"));
    if (event == "ended")
        return shown(data, "state") + number_after(", exit code ", data, "exit_code") +
               after(": ", data, "reason");
    if (event == "completing")
        return shown(data, "verdict") + after(": ", data, "reason");
    std::string rest;           /* unknown here, or complete without details */
    for (const auto &[name, value] : data.items())
        rest += (rest.empty() ? "" : " ") + name + "=" + shown(data, name.c_str());
    return rest;
}

/* With milliseconds. */
std::string record_time(const Json &record)
{
    int64_t time_ms = integer_or(record, "time_ms", 0);
    char milliseconds[16];
    snprintf(milliseconds, sizeof milliseconds, ".%03d", static_cast<int>(time_ms % 1000));
    return format_time(time_ms) + milliseconds;
}

}  // namespace

std::vector<std::string> record_cells(const Json &record)
{
    std::string event = string_or(record, "event", "?");
    return {shown(record, "seq"), record_time(record), shown(record, "job"),
            shown(record, "node"), event, record_detail(event, object_of(record, "data"))};
}

std::string record_line(const Json &record)
{
    std::string event = string_or(record, "event", "?");
    std::string subject = shown(record, "job") != "-"    ? "job " + shown(record, "job")
                          : shown(record, "node") != "-" ? "node " + shown(record, "node")
                                                         : "elasticd";
    char head[160];
    snprintf(head, sizeof head, "%s  %-10s  %-13s", record_time(record).c_str(), subject.c_str(),
             event.c_str());
    std::string line = head;
    std::string detail = record_detail(event, object_of(record, "data"));
    if (!detail.empty())
        line += "  " + detail;
    line.erase(line.find_last_not_of(' ') + 1);
    return printable(line);
}

}  // namespace elastic
