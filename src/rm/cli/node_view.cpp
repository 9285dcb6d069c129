/* See node_view.h. */

#include "cli/node_view.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace elastic {

namespace {

std::string shown(const Json &object, const char *name)
{
    std::string text = object.is_object() && object.contains(name) && !object[name].is_null()
        ? text_of(object, name)
        : "";
    return text.empty() ? "-" : text;
}

/* "2/4": GPUs that jobs use, and all GPUs. */
std::string gpus_text(const Json &node)
{
    return std::to_string(list_of(node, "gpus_used").size()) + "/" +
        std::to_string(integer_or(node, "gpus", 0));
}

std::string partitions_text(const Json &node)
{
    std::string text;
    for (const Json &name : list_of(node, "partitions"))
        text += (text.empty() ? "" : ",") + (name.is_string() ? name.get<std::string>() : "?");
    return text.empty() ? "-" : text;
}

}  // namespace

NodeColumns columns_of(const Json &nodes)
{
    NodeColumns columns;
    for (const Json &node : nodes) {
        columns.gpus |= integer_or(node, "gpus", 0) > 0;
        columns.partitions |= !list_of(node, "partitions").empty();
    }
    return columns;
}

Table node_table(const NodeColumns &columns)
{
    std::vector<Table::Column> all = {{"NODE"},
                                      {"STATE"},
                                      {"CORES", Table::RIGHT},
                                      {"USED", Table::RIGHT},
                                      {"JOBS"},
                                      {"REASON"}};
    if (columns.partitions)
        all.insert(all.begin() + 4, {"PARTITIONS"});
    if (columns.gpus)
        all.insert(all.begin() + 4, {"GPUS", Table::RIGHT});
    return Table(std::move(all));
}

std::vector<std::string> node_row(const Json &node, const NodeColumns &columns)
{
    std::string jobs;
    for (const Json &use : list_of(node, "jobs"))
        jobs += (jobs.empty() ? "" : ",") + shown(use, "job") + ":" + shown(use, "cores");
    std::vector<std::string> row = {shown(node, "name"),  shown(node, "state"),
                                    shown(node, "cores"), shown(node, "cores_used"),
                                    jobs.empty() ? "-" : jobs, shown(node, "reason")};
    if (columns.partitions)
        row.insert(row.begin() + 4, partitions_text(node));
    if (columns.gpus)
        row.insert(row.begin() + 4, gpus_text(node));
    return row;
}

/* ---- states ---------------------------------------------------------------------------------- */

namespace {

struct StateName {
    const char *state, *compact;        /* as in sinfo's %T and %t */
    bool is_up, drains;
};
constexpr StateName STATES[] = {
    {"idle", "idle", true, false},      {"mixed", "mix", true, false},
    {"allocated", "alloc", true, false}, {"draining", "drng", false, true},
    {"drained", "drain", false, true},  {"down", "down", false, false}};

}  // namespace

std::string slurm_state(const Json &node)
{
    std::string state = string_or(node, "state", "down");
    if (state != "up")
        return state;
    int64_t used = integer_or(node, "cores_used", 0);
    if (used == 0)
        return "idle";
    return used < integer_or(node, "cores", 0) ? "mixed" : "allocated";
}

Result<std::set<std::string>> parse_node_states(const std::string &text)
{
    std::set<std::string> states;
    std::istringstream names(text);
    for (std::string name; std::getline(names, name, ',');) {
        std::ranges::transform(name, name.begin(), [](char c) {
            return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        });
        bool found = false;
        for (const StateName &each : STATES) {
            bool is_meant = name == "all" || name == each.state || name == each.compact ||
                (name == "up" && each.is_up) || (name == "drain" && each.drains);
            if (is_meant)
                states.insert(each.state);
            found = found || is_meant;
        }
        if (!found)
            return Error{"there is no state '" + name.substr(0, 40) +
                         "' of nodes: they are idle, mixed, allocated, drain, draining, drained, "
                         "down, up and all"};
    }
    return states;
}

bool NodeFilter::accepts(const Json &node) const
{
    const Json &in = list_of(node, "partitions");
    bool is_in = partition.empty() || std::find(in.begin(), in.end(), Json(partition)) != in.end();
    return is_in && (names.empty() || names.contains(string_or(node, "name", ""))) &&
        (states.empty() || states.contains(slurm_state(node))) &&
        (!with_reason || !string_or(node, "reason", "").empty());
}

/* ---- fields ---------------------------------------------------------------------------------- */

namespace {

/* For a group: values that all its nodes share. */
const Json &first_of(const Json &group)
{
    static const Json NOTHING = Json::object();
    const Json &nodes = list_of(group, "nodes");
    return nodes.empty() ? NOTHING : nodes.front();
}

FieldValue first_text(const Json &group, const char *name)
{
    return {shown(first_of(group), name)};
}

FieldValue first_number(const Json &group, const char *name)
{
    return {shown(first_of(group), name), integer_or(first_of(group), name, 0)};
}

FieldValue state_field(const Json &group)
{
    return {slurm_state(first_of(group))};
}

FieldValue compact_state_field(const Json &group)
{
    std::string state = slurm_state(first_of(group));
    for (const StateName &each : STATES) {
        if (state == each.state)
            return {each.compact};
    }
    return {state};
}

/* The partition added by by_partition. */
const Json &partition_of(const Json &group)
{
    return object_of(first_of(group), "partition");
}

FieldValue partition_field(const Json &group, bool marks_default)
{
    const Json &partition = partition_of(group);
    bool marked = marks_default && bool_or(partition, "default", false);
    return {shown(partition, "name") + (marked ? "*" : "")};
}

FieldValue time_limit_field(const Json &group)
{
    int64_t limit_ms = integer_or(partition_of(group), "max_time_ms", 0);
    return limit_ms > 0 ? FieldValue{format_duration(limit_ms), limit_ms}
                        : FieldValue{"infinite", INT64_MAX};
}

FieldValue available_field(const Json &group)
{
    if (std::string state = string_or(partition_of(group), "state", ""); !state.empty())
        return {state};
    return {string_or(first_of(group), "state", "down") == "down" ? "down" : "up"};
}

FieldValue names_field(const Json &group)
{
    std::string names;
    for (const Json &node : list_of(group, "nodes"))
        names += (names.empty() ? "" : ",") + shown(node, "name");
    return {names};
}

FieldValue count_field(const Json &group)
{
    auto count = static_cast<int64_t>(list_of(group, "nodes").size());
    return {std::to_string(count), count};
}

/* "allocated/idle/other/total", of nodes or of their cores. */
FieldValue parts_field(const Json &group, bool of_cores)
{
    int64_t allocated = 0, idle = 0, other = 0;
    for (const Json &node : list_of(group, "nodes")) {
        int64_t cores = integer_or(node, "cores", 0), used = integer_or(node, "cores_used", 0);
        bool is_up = string_or(node, "state", "down") == "up";
        if (of_cores) {
            allocated += used;
            (is_up ? idle : other) += cores - used;
        } else {
            (used > 0 ? allocated : is_up ? idle : other)++;
        }
    }
    return {std::to_string(allocated) + "/" + std::to_string(idle) + "/" + std::to_string(other) +
            "/" + std::to_string(allocated + idle + other)};
}

FieldValue jobs_field(const Json &group)
{
    std::string jobs;
    for (const Json &use : list_of(first_of(group), "jobs"))
        jobs += (jobs.empty() ? "" : ",") + shown(use, "job") + ":" + shown(use, "cores");
    return {jobs.empty() ? "-" : jobs};
}

/* As in sinfo: "gpu:4". */
FieldValue gres_field(const Json &group)
{
    int64_t gpus = integer_or(first_of(group), "gpus", 0);
    return {gpus > 0 ? "gpu:" + std::to_string(gpus) : "-"};
}

using At = int64_t;

constexpr Field FIELDS[] = {
    {"partition", 'P', "PARTITION", Table::LEFT,
     [](const Json &group, At) { return partition_field(group, true); }},
    {"partitionname", 'R', "PARTITION", Table::LEFT,
     [](const Json &group, At) { return partition_field(group, false); }},
    {"time", 'l', "TIMELIMIT", Table::LEFT,
     [](const Json &group, At) { return time_limit_field(group); }},
    {"nodelist", 'N', "NODELIST", Table::LEFT,
     [](const Json &group, At) { return names_field(group); }},
    {"nodehost,node", 'n', "HOSTNAMES", Table::LEFT,
     [](const Json &group, At) { return first_text(group, "name"); }},
    {"statecompact", 't', "STATE", Table::LEFT,
     [](const Json &group, At) { return compact_state_field(group); }},
    {"state,statelong", 'T', "STATE", Table::LEFT,
     [](const Json &group, At) { return state_field(group); }},
    {"available", 'a', "AVAIL", Table::LEFT,
     [](const Json &group, At) { return available_field(group); }},
    {"nodes", 'D', "NODES", Table::RIGHT, [](const Json &group, At) { return count_field(group); }},
    {"nodeaiot", 'F', "NODES(A/I/O/T)", Table::LEFT,
     [](const Json &group, At) { return parts_field(group, false); }},
    {"cpus", 'c', "CPUS", Table::RIGHT,
     [](const Json &group, At) { return first_number(group, "cores"); }},
    {"cpusstate", 'C', "CPUS(A/I/O/T)", Table::LEFT,
     [](const Json &group, At) { return parts_field(group, true); }},
    {"gres", 'G', "GRES", Table::LEFT,
     [](const Json &group, At) { return gres_field(group); }},
    {"reason", 'E', "REASON", Table::LEFT,
     [](const Json &group, At) { return first_text(group, "reason"); }},
    {"jobs", 0, "JOBS", Table::LEFT, [](const Json &group, At) { return jobs_field(group); }},
};

/* Whether the field concerns the whole group. */
bool is_of_all(const Field &field)
{
    return field.letter == 'N' || field.letter == 'D' || field.letter == 'F' ||
        field.letter == 'C';
}

}  // namespace

const FieldTable NODE_FIELDS{FIELDS};

bool shows_partitions(const ListFormat &format)
{
    return std::ranges::any_of(format.parts(), [](const FormatPart &part) {
        return part.field->letter == 'P' || part.field->letter == 'R' || part.field->letter == 'l';
    });
}

Json by_partition(const Json &nodes, const Json &partitions)
{
    Json all = Json::array();
    for (const Json &partition : partitions) {
        NodeFilter filter{{}, {}, false, string_or(partition, "name", "")};
        for (const Json &node : nodes) {
            if (filter.partition.empty() || !filter.accepts(node))
                continue;
            all.push_back(node);
            all.back()["partition"] = partition;
        }
    }
    return all;
}

std::vector<Json> group_nodes(const Json &nodes, const ListFormat &format, bool each_node)
{
    std::vector<Json> groups;
    std::map<std::vector<std::string>, size_t> known;
    for (const Json &node : nodes) {
        Json alone = {{"nodes", Json::array({node})}};
        std::vector<std::string> values;
        for (const FormatPart &part : format.parts())
            values.push_back(is_of_all(*part.field) ? "" : part.field->value(alone, 0).text);
        auto [found, is_new] = known.try_emplace(std::move(values), groups.size());
        if (is_new || each_node)
            groups.push_back(std::move(alone));
        else
            groups[found->second]["nodes"].push_back(node);
    }
    return groups;
}

}  // namespace elastic
