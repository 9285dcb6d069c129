/* See job_view.h: why a job has its size, or waits. */

#include <map>

#include "cli/job_text.h"
#include "cli/job_view.h"

namespace elastic {

namespace {

/* Why it is not grown (HeldBecause); an unknown word is returned unchanged. */
std::string held_text(const std::string &word)
{
    static const std::map<std::string, const char *> words = {
        {"rigid_phase", "its program is in a phase without adaptations"},
        {"no_data", "it has not been measured at this size yet"},
        {"not_spmd", "no loop of all its processes has been seen"},
        {"between_thresholds", "it uses its cores, and more would give too little speed-up"},
        {"ceiling", "the next larger size has been too large before"},
        {"cost", "a change would cost more than it gains"},
        {"at_minimum", "it has its smallest size"},
        {"at_maximum", "it has its largest or its preferred size"},
        {"cores_wanted", "it can use no idle core, or other jobs wait for cores"},
        {"pause", "its size changed recently, or a change failed"},
        {"no_estimate", "its remaining run time is unknown"},
    };
    auto known = words.find(word);
    return known == words.end() ? word : known->second;
}

/* "Reduced 32 -> 16 at 12:03 (request 3, stood still 0.2 s): MPI takes ..." */
std::string last_change_text(const Json &job)
{
    const Json &last = object_of(job, "last_change");
    if (!last.contains("size"))
        return "";
    int64_t from = integer_or(last, "from", 0), size = integer_or(last, "size", 0);
    double still_ms = number_or(last, "standstill_ms", 0);
    std::string reason = string_or(last, "reason", "");
    return std::string(size < from   ? "Reduced "
                       : size > from ? "Grown "
                                     : "Moved ") +
           shown(last, "from") + " -> " + shown(last, "size") + " at " +
           format_time(integer_or(last, "at_ms", 0)) + " (request " + shown(last, "request") +
           number_text(still_ms / 1000, ", stood still %.2g s)") +
           (reason.empty() ? "" : ": " + reason) + ".";
}

/* "needs capacity for 24 processes, there is capacity for 8", "needs 3 whole nodes, there are 2",
 * or, if nodes are of different sizes, "needs 3 whole nodes for 9 processes, the largest 3 hold
 * 8". */
std::string missing_text(const Json &missing)
{
    int64_t processes = integer_or(missing, "processes", 0),
            capacity = integer_or(missing, "room", 0), nodes = integer_or(missing, "nodes", 0),
            open = integer_or(missing, "open_nodes", 0);
    if (nodes <= 0)
        return "needs capacity for " + std::to_string(processes) + " processes, there is " +
               (capacity > 0 ? "capacity for " + std::to_string(capacity) : "none");
    std::string needs =
        "needs " + std::to_string(nodes) + (nodes == 1 ? " whole node" : " whole nodes");
    if (capacity > 0)
        return needs + " for " + std::to_string(processes) + " processes, the largest" +
               (nodes == 1 ? " holds " : " " + std::to_string(nodes) + " hold ") +
               std::to_string(capacity);
    return needs + ", there " + (open > 1 ? "are " : "is ") +
           (open > 0 ? std::to_string(open) : "none");
}

/* "...; job 3 gives 8 cores": the missing resources. */
std::string shortage_text(const Json &job)
{
    const Json &missing = object_of(job, "shortage");
    int64_t processes = integer_or(missing, "processes", 0),
            capacity = integer_or(missing, "room", 0);
    if (processes <= 0)
        return "";
    if (capacity >= processes)
        return "there is capacity for it, but it would delay jobs before it in the queue";
    std::string text = missing_text(missing);
    if (std::string full = names_text(list_of(missing, "full")); full != "-")
        text += " (its node list has full nodes: " + full + ")";
    auto add = [&](const char *list, const char *words) {
        const char *separator = "; ";
        for (const Json &each : list_of(missing, list)) {
            int64_t other = integer_or(each, "job", 0);
            text += separator;
            text += other > 0 ? "job " + std::to_string(other) : "a job";
            text += words + std::to_string(integer_or(each, "cores", 0)) + " cores";
            separator = ", ";
        }
        return *separator == ',';
    };
    add("giving", " gives ");
    add("suspended", " is suspended and keeps ");
    if (add("overdue", " was to give "))
        text += ", and does not reach a probe";
    return text;
}

/* "; for this job, job 1 now has 9 processes instead of 16, job 2 gets 23 instead of 16" */
std::string helpers_text(const Json &job)
{
    std::string text;
    for (const Json &each : list_of(job, "helpers")) {
        int64_t other = integer_or(each, "job", 0);
        bool is_first = text.empty();
        text += is_first ? "; for this job, " : ", ";
        text += other > 0 ? "job " + std::to_string(other) : "a job";
        text += (bool_or(each, "committed", false) ? " now has " : " gets ") + shown(each, "size") +
                (is_first ? " processes" : "") + " instead of " + shown(each, "from");
    }
    return text;
}

/* "8 processes of 2:8; since 12:03 it is to have 4 (request 3), but its program has not reached
 * a probe: ..."; empty: no change is overdue. */
std::string overdue_text(const Json &job)
{
    const Json &change = object_of(job, "adaptation");
    if (!bool_or(change, "overdue", false))
        return "";
    return shown(job, "size") + " processes of " + size_range(job) + "; since " +
           format_time(integer_or(change, "since_ms", 0)) + " it is to have " +
           shown(change, "size") + " (request " + shown(change, "request") +
           "), but its program has not reached a probe: no decision relies on this change until "
           "then";
}

/* "suspended since 12:03; job 5, job 6 wait for its cores"; empty: it is not suspended. */
std::string suspended_text(const Json &job)
{
    int64_t since_ms = integer_or(job, "suspended_since_ms", 0);
    if (since_ms <= 0)
        return "";
    const Json &waiting = list_of(job, "keeps_waiting");
    std::string who;
    for (const Json &each : waiting) {
        who += who.empty() ? "; " : ", ";
        who += each.is_number_integer() ? "job " + each.dump() : "a job";
    }
    if (!who.empty())
        who += waiting.size() == 1 ? " waits for its cores" : " wait for its cores";
    return "suspended since " + format_time(since_ms) + who;
}

}  // namespace

std::string spawned_advice(const Json &job)
{
    const Json &spawned = object_of(job, "spawned");
    int64_t without_cores = integer_or(spawned, "without_cores", 0);
    if (without_cores <= 0)
        return "";
    int64_t may_have = integer_or(job, "max", 0) + integer_or(job, "places_max", 0) -
                       integer_or(job, "size", 0);
    bool too_few_places = may_have < integer_or(spawned, "processes", 0);
    return std::to_string(without_cores) + " of " + shown(spawned, "processes") +
           " processes of MPI_Comm_spawn have no cores: " +
           (too_few_places ? "submit it with --places " + shown(spawned, "max")
                           : "none were free on their nodes when they started");
}

std::string why_text(const Json &job)
{
    if (std::string text = shortage_text(job); !text.empty()) {
        std::string start = expected_start_text(job);
        return text + (start == "-" ? "" : "; starts at " + start) + helpers_text(job);
    }
    std::string now = suspended_text(job), last = last_change_text(job);
    if (now.empty())
        now = overdue_text(job);
    if (now.empty())
        now = string_or(job, "why", "");
    std::string held = string_or(object_of(job, "performance"), "held_because", "");
    if (now.empty() && !held.empty())
        now = shown(job, "size") + " processes of " + size_range(job) +
            "; not growing: " + held_text(held);
    std::string text = now.empty() ? "" : now + (last.empty() ? "" : ". ");
    return text.empty() && last.empty() ? "-" : text + last;
}

}  // namespace elastic
