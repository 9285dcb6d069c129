/* See slurm_command.h. */

#include "backend/slurm/slurm_command.h"

#include <cstring>

namespace elastic::rm {

namespace {

constexpr int64_t MINUTE_MS = 60000;

/* Texts of Slurm 22.05 (slurm_errno.c and its clients) for a Slurm that cannot be reached. */
constexpr const char *NO_ANSWER[] = {
    "Unable to contact",
    "onnection refused",
    "connect failure",
    "Socket timed out",
    "Zero Bytes",
    "authentication",
    "unge",
    "onnection reset",
    "communication connection failure",
    "Transport endpoint",
    "Insane message length",
    "No controllers",
    "in standby mode",
    "Name or service not known",
};
constexpr const char *BUSY[] = {
    "nodes are busy",
    "insufficient priority",
    "fragmentation",
    "Connection timed out",
    "not available",
    "NOT_AVAIL",
    "DOWN, DRAINED",
    "partition is down",
};

bool contains_any(const std::string &text, const char *const *begin, const char *const *end)
{
    return std::any_of(begin, end,
                       [&](const char *part) { return text.find(part) != std::string::npos; });
}

/* Refusals that are clear without a waiting request: parts of their texts, and for some a clearer
 * text.  All others count as WAITS. */
struct Refusal {
    const char *part;
    PendingKind kind;
    const char *text = nullptr;
};
/* No job is the cause: all wait for a correct configuration. */
constexpr const char *WRONG_OPTIONS = "Slurm does not understand slurm.options";
constexpr Refusal REFUSALS[] = {
    {"nvalid partition name", PendingKind::NEVER},
    {"nvalid account", PendingKind::NEVER},
    {"nvalid qos", PendingKind::NEVER},
    {"nvalid feature", PendingKind::NEVER,
     "no node has the features that slurm.options requires (--constraint)"},
    {"equested time limit is invalid", PendingKind::NEVER},
    {"equested reservation is invalid", PendingKind::NEVER,
     "there is no such reservation as slurm.options names"},
    {"ccess denied to requested reservation", PendingKind::NEVER,
     "its user may not use the reservation of slurm.options"},
    {"not permitted to use this partition", PendingKind::NEVER},
    {"nvalid generic resource", PendingKind::NEVER},
    {"nvalid license", PendingKind::NEVER},
    {"nvalid user id", PendingKind::NEVER},
    {"unrecognized option", PendingKind::WAITS, WRONG_OPTIONS},
    {"nvalid option", PendingKind::WAITS, WRONG_OPTIONS},
    {"requires an argument", PendingKind::WAITS, WRONG_OPTIONS},
    {"is ambiguous", PendingKind::WAITS, WRONG_OPTIONS},
    {"Invalid --", PendingKind::WAITS, WRONG_OPTIONS},
    {"ode count specification invalid", PendingKind::NEVER_SO_MANY_NODES},
    {"node configuration is not available", PendingKind::NEVER_ON_SUCH_NODES,
     "its nodes do not have what slurm.options requires"},
    {"emory required by task is not available", PendingKind::NEVER_ON_SUCH_NODES},
    /* MaxSubmitJobs, and with DenyOnLimit of a QOS every other limit */
    {"QOS policy", PendingKind::WAITS_SO_LARGE,
     "its user has the maximum of jobs in Slurm, or it exceeds a limit of size or time"},
    {"eservation is in use", PendingKind::WAITS,
     "a reservation needs the nodes before its time limit would end: less time could help"},
    {"nodes are busy", PendingKind::BUSY},
    {"insufficient priority", PendingKind::BUSY},
    {"fragmentation", PendingKind::BUSY},
    /* the wait for the nodes has ended */
    {"Connection timed out", PendingKind::BUSY},
};

const Refusal *find_refusal(const SlurmAnswer &answer)
{
    for (const Refusal &each : REFUSALS)
        if (answer.problem.find(each.part) != std::string::npos)
            return &each;
    return nullptr;
}

/* Before it names the error, a command prints what it does not understand. */
std::string message_of(const std::string &errors)
{
    constexpr const char *ADVICE = "Try \"";
    std::string last = last_line(errors);
    if (!last.starts_with(ADVICE))
        return last;
    size_t end = errors.rfind(last);
    std::string before = last_line(errors.substr(0, end));
    return before.empty() ? last : before;
}

void add(Words &words, const char *option, const std::string &value)
{
    if (!value.empty())
        words.push_back(option + value);
}

} // namespace

Words allocate_command(const SlurmAllocation &a, const SlurmOptions &options)
{
    Words words = {"salloc", "--quiet", "--no-shell", "--exclusive", "--no-kill"};
    words.push_back("--immediate" + (a.wait_s > 0 ? "=" + std::to_string(a.wait_s) : ""));
    words.push_back("--job-name=elastic-" + std::to_string(a.tag.job));
    words.push_back("--comment=" + format_tag(a.tag));
    words.push_back("--nodes=" + std::to_string(a.nodes.size()));
    words.push_back("--nodelist=" + join_names(a.nodes));
    if (a.expands)
        words.push_back("--dependency=expand:" + std::to_string(a.expands));
    /* The job ends by elasticd's own limit: Slurm's limit is later. */
    if (a.limit_ms > 0)
        words.push_back("--time=" + std::to_string(a.limit_ms / MINUTE_MS + 2));
    if (a.for_user) {
        words.push_back("--uid=" + std::to_string(a.uid));
        words.push_back("--gid=" + std::to_string(a.gid));
    }
    add(words, "--partition=", options.partition);
    add(words, "--account=", options.account);
    add(words, "--qos=", options.qos);
    words.insert(words.end(), options.more.begin(), options.more.end());
    return words;
}

Words merge_command(SlurmId id)
{
    return {"scontrol", "update", "JobId=" + std::to_string(id), "NumNodes=0"};
}

Words shrink_command(SlurmId id, const NodeNames &keep)
{
    return {"scontrol", "update", "JobId=" + std::to_string(id), "NodeList=" + join_names(keep)};
}

Words cancel_command(SlurmId id)
{
    return {"scancel", "--quiet", std::to_string(id)};
}

Words config_command()
{
    return {"scontrol", "show", "config"};
}

Words partitions_command()
{
    return {"sinfo", "--noheader", "--format=%P"};
}

Words nodes_command(const std::string &partition, const std::string &marker)
{
    return {"sinfo", "--noheader", "--Node", "--partition=" + partition,
            "--format=" + node_format(marker)};
}

Words jobs_command(const std::string &partition, const std::string &marker, bool ended)
{
    Words words = {"squeue", "--noheader", "--partition=" + partition,
                   "--format=" + job_format(marker)};
    if (ended)
        words.push_back("--states=all");
    return words;
}

SlurmAnswer answer_of(const CommandEnd &end)
{
    SlurmAnswer answer;
    answer.output = end.output;
    if (end.good() && !end.truncated) {
        answer.kind = SlurmAnswer::Kind::GOOD;
        return answer;
    }
    /* The message of Slurm itself is clearer than the command. */
    std::string reports = message_of(end.errors.empty() ? end.output : end.errors);
    for (const char *prefix :
         {"salloc: ", "scontrol: ", "squeue: ", "sinfo: ", "scancel: ", "error: "})
        if (reports.starts_with(prefix))
            reports.erase(0, strlen(prefix));
    answer.problem = end.truncated ? "the answer is too long"
                     : reports.empty() || end.timed_out
                         ? end.problem
                         : reports;
    constexpr int FAILURE = 255;         /* exit(-1) of Slurm's commands, and no signal */
    bool has_code = end.exit_code < 128 || (end.exit_code == FAILURE && !reports.empty());
    bool refused = end.started && !end.timed_out && !end.truncated && has_code &&
                   !contains_any(end.errors, std::begin(NO_ANSWER), std::end(NO_ANSWER));
    answer.kind = refused ? SlurmAnswer::Kind::REFUSED : SlurmAnswer::Kind::NONE;
    return answer;
}

/* For the limits of a partition, too, Slurm reports only that something is not available; the
 * reason of the waiting job names the limit. */
bool may_be_had_by_waiting(const SlurmAnswer &answer, bool expands)
{
    constexpr const char *UNCLEAR[] = {"insufficient priority", "fragmentation",
                                       "partition configuration not available",
                                       "QOS policy", "policy limit"};
    /* of a reservation that has not begun */
    bool is_early = !expands && answer.problem.find("dependency problem") != std::string::npos;
    return answer.kind == SlurmAnswer::Kind::REFUSED &&
           (is_early || contains_any(answer.problem, std::begin(UNCLEAR), std::end(UNCLEAR)));
}

PendingKind refusal_kind(const SlurmAnswer &answer)
{
    const Refusal *known =
        answer.kind == SlurmAnswer::Kind::REFUSED ? find_refusal(answer) : nullptr;
    return known ? known->kind : PendingKind::WAITS;
}

std::string refusal_text(const SlurmAnswer &answer)
{
    const Refusal *known = find_refusal(answer);
    return known && known->text ? std::string(known->text) + " (" + answer.problem + ")"
                                : answer.problem;
}

bool is_busy(const SlurmAnswer &answer)
{
    return answer.kind == SlurmAnswer::Kind::REFUSED &&
           contains_any(answer.problem, std::begin(BUSY), std::end(BUSY));
}

} // namespace elastic::rm
