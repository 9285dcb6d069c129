/* See slurm_text.h. */

#include "backend/slurm/slurm_text.h"

#include <algorithm>
#include <charconv>

#include "backend/node_list.h"

namespace elastic::rm {

namespace {

using Fields = std::vector<std::string_view>;

template <class Number> bool read_number(std::string_view text, Number &number)
{
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    return code == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::string_view trimmed(std::string_view text)
{
    constexpr std::string_view SPACE = " \t\r\n";
    size_t begin = text.find_first_not_of(SPACE);
    if (begin == std::string_view::npos)
        return "";
    return text.substr(begin, text.find_last_not_of(SPACE) + 1 - begin);
}

/* Slurm has several texts for "no value". */
std::string value_or_nothing(std::string_view text)
{
    text = trimmed(text);
    return text == "(null)" || text == "none" || text == "None" || text == "N/A"
        ? ""
        : std::string(text);
}

}  // namespace

std::string join_names(const NodeNames &names)
{
    std::string text;
    for (const std::string &name : names)
        text += (text.empty() ? "" : ",") + name;
    return text;
}

/* ---- listings -------------------------------------------------------------------------------- */

namespace {

/* The text between the marker at the beginning of a line and the next one. */
std::vector<std::string_view> marked_lines(std::string_view text, const std::string &marker)
{
    std::vector<std::string_view> lines;
    std::string begin = marker + "|", end = "|" + marker;
    for (size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at)) {
        size_t from = at + begin.size(), to = text.find(end, from);
        if (to == std::string_view::npos)
            break;
        lines.push_back(text.substr(from, to - from));
        at = to + end.size();
    }
    return lines;
}

/* The fields before the first `count` - 1 bars; the last field contains the rest. */
std::optional<Fields> cut(std::string_view line, size_t count)
{
    Fields fields;
    while (fields.size() + 1 < count) {
        size_t bar = line.find('|');
        if (bar == std::string_view::npos)
            return std::nullopt;
        fields.push_back(trimmed(line.substr(0, bar)));
        line.remove_prefix(bar + 1);
    }
    fields.push_back(line);
    return fields;
}

Error broken(const char *command, std::string_view line)
{
    return Error{std::string(command) + " printed unexpected output: '" +
                 std::string(line.substr(0, 120)) + "'"};
}

struct StateWord {
    std::string_view word;
    SlurmNodeState state;
    bool draining = false, failed = false;
};
/* All other words: GONE. */
constexpr StateWord NODE_STATES[] = {
    {"idle", SlurmNodeState::IDLE},
    /* for a waiting job; Slurm itself reserves it */
    {"planned", SlurmNodeState::IDLE},
    {"allocated", SlurmNodeState::USED},
    {"mixed", SlurmNodeState::USED},
    {"completing", SlurmNodeState::USED},
    {"drained", SlurmNodeState::IDLE, true},
    {"draining", SlurmNodeState::USED, true},
    {"down", SlurmNodeState::GONE, false, true},
    {"error", SlurmNodeState::GONE, false, true},
    {"fail", SlurmNodeState::GONE, false, true},
    {"powered_down", SlurmNodeState::GONE, false, true},
};

void set_state(SlurmNode &node, std::string_view word)
{
    size_t end = word.find_last_not_of("*~#!%$@^-+");
    std::string_view marks = end == std::string_view::npos ? word : word.substr(end + 1);
    word = end == std::string_view::npos ? std::string_view() : word.substr(0, end + 1);
    node.word = word;
    std::transform(node.word.begin(), node.word.end(), node.word.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    for (const StateWord &known : NODE_STATES) {
        if (node.word == known.word) {
            node.state = known.state;
            node.draining = known.draining;
            node.failed = known.failed;
        }
    }
    /* Not answering, powered down or powering down, booting: not usable for new jobs, but no end
     * of its jobs yet. */
    if (node.state == SlurmNodeState::IDLE &&
        marks.find_first_of("*~#!%$@^") != std::string_view::npos) {
        node.state = SlurmNodeState::GONE;
        node.word = marks.find('*') != std::string_view::npos
            ? "not answering"
            : "powered down or rebooting";
    }
}

/* "1", "1-4", "2-infinite" */
void set_job_nodes(SlurmNode &node, std::string_view text)
{
    size_t dash = std::min(text.find('-'), text.size());
    if (!read_number(text.substr(0, dash), node.job_nodes_min))
        node.job_nodes_min = 0;
    std::string_view most = dash < text.size() ? text.substr(dash + 1) : text;
    if (!read_number(most, node.job_nodes_max))
        node.job_nodes_max = 0;
}

}  // namespace

std::string node_format(const std::string &marker)
{
    return marker + "|%N|%c|%T|%s|%m %G %f|%E|" + marker;
}

Result<std::vector<SlurmNode>> parse_nodes(std::string_view text, const std::string &marker)
{
    std::vector<SlurmNode> nodes;
    for (std::string_view line : marked_lines(text, marker)) {
        auto fields = cut(line, 6);
        SlurmNode node;
        if (!fields || !check_host_name((*fields)[0]).empty() ||
            !read_number((*fields)[1], node.cores) || node.cores < 1)
            return broken("sinfo", line);
        node.name = (*fields)[0];
        set_state(node, (*fields)[2]);
        set_job_nodes(node, (*fields)[3]);
        node.kind = (*fields)[4];
        node.reason = value_or_nothing((*fields)[5]);
        nodes.push_back(std::move(node));
    }
    return nodes;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

std::string format_tag(const SlurmTag &tag)
{
    return "elasticd:" + tag.cluster + ":" + std::to_string(tag.job) + "." +
        std::to_string(tag.step) + "." + std::to_string(tag.request) + (tag.expands ? "+" : "");
}

std::optional<SlurmTag> parse_tag(std::string_view comment)
{
    constexpr std::string_view BEGIN = "elasticd:";
    comment = trimmed(comment);
    if (!comment.starts_with(BEGIN))
        return std::nullopt;
    comment.remove_prefix(BEGIN.size());
    SlurmTag tag;
    size_t colon = comment.find(':');
    if (colon == std::string_view::npos)
        return std::nullopt;
    tag.cluster = comment.substr(0, colon);
    comment.remove_prefix(colon + 1);
    if ((tag.expands = comment.ends_with("+")))
        comment.remove_suffix(1);
    size_t first = comment.find('.'), second = comment.rfind('.');
    if (first == std::string_view::npos || second == first ||
        !check_host_name(tag.cluster).empty() || !read_number(comment.substr(0, first), tag.job) ||
        !read_number(comment.substr(first + 1, second - first - 1), tag.step) ||
        !read_number(comment.substr(second + 1), tag.request))
        return std::nullopt;
    return tag;
}

namespace {

SlurmJobState job_state(std::string_view word)
{
    if (word == "PENDING" || word == "REQUEUED" || word == "REQUEUE_HOLD" || word == "REQUEUE_FED")
        return SlurmJobState::PENDING;
    for (std::string_view running :
         {"RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT"})
        if (word == running)
            return SlurmJobState::RUNNING;
    return word == "COMPLETING" ? SlurmJobState::COMPLETING : SlurmJobState::ENDED;
}

/* Slurm keeps the last node list of ended jobs; they have no nodes. */
std::string set_nodes(SlurmJob &job, std::string_view list)
{
    if (job.state != SlurmJobState::RUNNING && job.state != SlurmJobState::COMPLETING)
        return "";
    std::string text = value_or_nothing(list);
    auto nodes = text.empty() ? Result<ListedNodes>(ListedNodes()) : parse_slurm_nodes(text, "");
    if (!nodes)
        return nodes.error();
    for (const ListedNode &node : nodes.value())
        job.nodes.push_back(node.name);
    return "";
}

}  // namespace

std::string job_format(const std::string &marker)
{
    return marker + "|%A|%T|%u|%U|%Q|%D|%N|%r|%k|" + marker;
}

Result<std::vector<SlurmJob>> parse_jobs(std::string_view text, const std::string &marker)
{
    std::vector<SlurmJob> jobs;
    for (std::string_view line : marked_lines(text, marker)) {
        auto fields = cut(line, 9);
        SlurmJob job;
        if (!fields || !read_number((*fields)[0], job.id) || !read_number((*fields)[3], job.uid) ||
            !read_number((*fields)[4], job.priority) || !read_number((*fields)[5], job.node_count))
            return broken("squeue", line);
        job.word = (*fields)[1];
        job.state = job_state(job.word);
        job.user = (*fields)[2];
        std::string error = set_nodes(job, (*fields)[6]);
        if (!error.empty())
            return Error{"squeue, job " + std::to_string(job.id) + ": " + error};
        job.reason = value_or_nothing((*fields)[7]);
        job.tag = parse_tag((*fields)[8]);
        jobs.push_back(std::move(job));
    }
    return jobs;
}

/* While a job is COMPLETING, only the reason shows the cause of its end.  Its allocation has no
 * script that could end by itself. */
std::string how_it_ended(const SlurmJob &job)
{
    std::string name = "Slurm job " + std::to_string(job.id);
    if (job.word == "CANCELLED")
        return name + " was cancelled in Slurm (scancel)";
    if (job.word == "TIMEOUT" || job.reason == "TimeLimit")
        return name + " reached its time limit in Slurm";
    if (job.word == "PREEMPTED")
        return name + " was preempted in Slurm";
    if (job.word == "NODE_FAIL" || job.reason == "NodeDown")
        return name + " lost a node";
    if (job.state == SlurmJobState::COMPLETING)
        return name + " was cancelled in Slurm (scancel, or preempted)";
    return name + " ended in Slurm as " + job.word;
}

/* ---- why a job waits ------------------------------------------------------------------------- */

namespace {

struct PendingReason {
    std::string_view word;
    PendingKind kind;
    const char *text;
};
/* Reasons of Slurm 22.05 to 24.11; all others count as WAITS. */
constexpr PendingReason PENDING_REASONS[] = {
    {"PartitionTimeLimit", PendingKind::NEVER,
     "its time limit is above that of the partition: request less time"},
    {"PartitionNodeLimit", PendingKind::NEVER_SO_MANY_NODES,
     "it requests more nodes, or fewer, than the partition allows"},
    /* Slurm's first word for many reasons: a more precise one follows when it schedules. */
    {"PartitionConfig", PendingKind::WAITS, "the partition does not allow it now"},
    {"AssociationTimeLimit", PendingKind::NEVER,
     "its time limit is above that of the user's association: request less time"},
    {"QOSTimeLimit", PendingKind::NEVER,
     "its time limit is above that of the QOS: request less time"},
    {"BadConstraints", PendingKind::NEVER_ON_SUCH_NODES,
     "its nodes do not have what slurm.options requires (--constraint and others)"},
    {"InvalidAccount", PendingKind::NEVER, "the account is invalid"},
    {"AccountNotAllowed", PendingKind::NEVER, "the partition does not allow the account"},
    {"InvalidQOS", PendingKind::NEVER, "the QOS is invalid"},
    {"QOSNotAllowed", PendingKind::NEVER, "the partition or the account does not allow the QOS"},
    {"ReservationDeleted", PendingKind::NEVER, "the reservation of slurm.options was deleted"},
    {"ReservationInvalid", PendingKind::NEVER, "the reservation of slurm.options is invalid"},
    {"Reservation", PendingKind::WAITS, "the reservation of slurm.options has not begun"},
    {"ReqNodeNotAvail", PendingKind::WAITS, "its nodes are down, drained or reserved"},
    {"Dependency", PendingKind::WAITS, "slurm.options has a dependency that is not fulfilled"},
    {"DependencyNeverSatisfied", PendingKind::NEVER,
     "slurm.options has a dependency that will never be fulfilled"},
    {"BeginTime", PendingKind::WAITS, "its begin time in Slurm has not been reached"},
    {"AccountingPolicy", PendingKind::WAITS_SO_LARGE, "a limit of accounting is reached"},
    {"AssociationJobLimit", PendingKind::WAITS_FOR_JOBS,
     "the user's association runs its maximum of jobs"},
    {"AssociationResourceLimit", PendingKind::WAITS_SO_LARGE,
     "with it, the user's association would use more than its maximum of resources"},
    {"QOSJobLimit", PendingKind::WAITS_FOR_JOBS, "the QOS runs its maximum of jobs"},
    {"QOSResourceLimit", PendingKind::WAITS_SO_LARGE,
     "with it, the QOS would use more than its maximum of resources"},
    {"QOSUsageThreshold", PendingKind::WAITS, "the usage threshold of the QOS is reached"},
    {"MaxMemPerLimit", PendingKind::NEVER, "it requests more memory than Slurm allows"},
    {"JobHeldAdmin", PendingKind::WAITS, "an administrator of Slurm holds it"},
    {"JobHeldUser", PendingKind::WAITS, "it is held in Slurm"},
    {"PartitionDown", PendingKind::WAITS, "the partition is down"},
    {"PartitionInactive", PendingKind::WAITS, "the partition is inactive"},
    {"Licenses", PendingKind::WAITS, "licences are missing"},
    {"Priority", PendingKind::BUSY, "other jobs have a higher priority"},
    {"Resources", PendingKind::BUSY, "the nodes are in use"},
};

const PendingReason *find_reason(std::string_view reason)
{
    reason = reason.substr(0, reason.find(','));        /* "ReqNodeNotAvail, Reserved for ..." */
    for (const PendingReason &each : PENDING_REASONS)
        if (each.word == reason)
            return &each;
    return nullptr;
}

bool has(std::string_view text, std::string_view part)
{
    return text.find(part) != text.npos;
}

/* The limits of associations and QOS have names such as AssocMaxWallDurationPerJobLimit,
 * QOSMaxNodePerUserLimit, QOSMinNode, AssocGrpCpuLimit, QOSGrpCPUMinutesLimit.  The first row that
 * fits is valid; "%" is the owner of the limit. */
struct OwnerLimit {
    std::string_view part;
    PendingKind kind;
    const char *text;
};
constexpr OwnerLimit OWNER_LIMITS[] = {
    {"MaxWall", PendingKind::NEVER, "its time limit is above that of %: request less time"},
    {"GrpWall", PendingKind::WAITS, "% has used its run time"},
    {"JobsPerUser", PendingKind::WAITS_FOR_JOBS,
     "its user runs as many jobs as % allows one user"},
    {"JobsPerAccount", PendingKind::WAITS_FOR_JOBS,
     "its account runs as many jobs as % allows one account"},
    {"GrpJobs", PendingKind::WAITS_FOR_JOBS, "% runs its maximum of jobs"},
    {"MaxJobs", PendingKind::WAITS_FOR_JOBS, "% runs its maximum of jobs"},
    {"SubmitJob", PendingKind::WAITS_FOR_JOBS, "% has its maximum of jobs in Slurm"},
    {"PerNode", PendingKind::NEVER_ON_SUCH_NODES, "it requests more of a node than % allows"},
    {"QOSMin", PendingKind::NEVER_SO_SMALL, "it requests less than the minimum of %"},
    {"MinutesPerJob", PendingKind::NEVER_SO_LARGE,
     "nodes times time limit is more than % allows one job"},
    {"PerJob", PendingKind::NEVER_SO_LARGE, "it requests more than % allows one job"},
    {"RunMinutes", PendingKind::WAITS_SO_LARGE,
     "with nodes times time limit of this job, % would exceed its maximum"},
    {"Minutes", PendingKind::WAITS_SO_LARGE, "% has not enough of its budget left"},
    {"PerUser", PendingKind::WAITS_SO_LARGE,
     "with it, its user would use more than % allows one user"},
    {"PerAccount", PendingKind::WAITS_SO_LARGE,
     "with it, its account would use more than % allows one account"},
    {"Grp", PendingKind::WAITS_SO_LARGE, "with it, % would use more than its maximum"},
    {"", PendingKind::WAITS, "a limit of % is reached"},
};

const OwnerLimit *find_limit(std::string_view reason)
{
    bool is_limit = reason.starts_with("Assoc") || reason.starts_with("QOS");
    if (!is_limit || has(reason, " "))
        return nullptr;
    return std::ranges::find_if(OWNER_LIMITS, [&](const OwnerLimit &each) {
        return has(reason, each.part);
    });
}

}  // namespace

PendingKind pending_kind(std::string_view reason)
{
    if (const PendingReason *known = find_reason(reason))
        return known->kind;
    if (const OwnerLimit *limit = find_limit(reason))
        return limit->kind;
    /* "Job's QOS not permitted to use this partition (fast allows vip not normal)" */
    return has(reason, "not permitted to use this partition") ? PendingKind::NEVER
                                                              : PendingKind::WAITS;
}

std::string pending_text(std::string_view reason)
{
    const PendingReason *known = find_reason(reason);
    std::string word(reason.substr(0, 120));
    if (known)
        return std::string(known->text) + " (" + word + ")";
    const OwnerLimit *limit = find_limit(reason);
    if (!limit)
        return has(reason, " ") ? word : "(" + word + ")";
    std::string text = limit->text;
    text.replace(text.find('%'), 1,
                 reason.starts_with("Assoc") ? "the user's association" : "the QOS");
    return text + " (" + word + ")";
}

/* ---- configuration --------------------------------------------------------------------------- */

std::map<std::string, std::string> parse_config(std::string_view text)
{
    std::map<std::string, std::string> values;
    while (!text.empty()) {
        size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        size_t equals = line.find('=');
        if (equals != std::string_view::npos)
            values[std::string(trimmed(line.substr(0, equals)))] =
                value_or_nothing(line.substr(equals + 1));
    }
    return values;
}

bool has_word(std::string_view list, std::string_view word)
{
    while (!list.empty()) {
        size_t end = std::min(list.find(','), list.size());
        if (trimmed(list.substr(0, end)) == word)
            return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

}  // namespace elastic::rm
