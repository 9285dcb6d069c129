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

/* Errors of the request itself; limits on a user's jobs at one time are not among them. */
constexpr const char *NEVER_GIVEN[] = {
    "nvalid partition name",
    "nvalid account",
    "nvalid qos",
    "nvalid feature",
    "equested time limit is invalid",
    "equested reservation is invalid",
    "group not permitted to use",
    "nvalid generic resource",
    "nvalid license",
    "nvalid user id",
    "unrecognized option",
    "nvalid option",
};

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
    std::string reports = last_line(end.errors.empty() ? end.output : end.errors);
    for (const char *prefix :
         {"salloc: ", "scontrol: ", "squeue: ", "sinfo: ", "scancel: ", "error: "})
        if (reports.starts_with(prefix))
            reports.erase(0, strlen(prefix));
    answer.problem = end.truncated ? "the answer is too long"
                     : reports.empty() || end.timed_out
                         ? end.problem
                         : reports;
    bool refused = end.started && !end.timed_out && !end.truncated && end.exit_code < 128 &&
                   !contains_any(end.errors, std::begin(NO_ANSWER), std::end(NO_ANSWER));
    answer.kind = refused ? SlurmAnswer::Kind::REFUSED : SlurmAnswer::Kind::NONE;
    return answer;
}

/* For the limits of a partition, too, Slurm reports only that something is not available; the
 * reason of the waiting job names the limit. */
bool may_be_had_by_waiting(const SlurmAnswer &answer)
{
    constexpr const char *UNCLEAR[] = {"insufficient priority", "fragmentation",
                                       "partition configuration not available",
                                       "QOS policy", "policy limit"};
    return answer.kind == SlurmAnswer::Kind::REFUSED &&
           contains_any(answer.problem, std::begin(UNCLEAR), std::end(UNCLEAR));
}

bool is_never(const SlurmAnswer &answer)
{
    return answer.kind == SlurmAnswer::Kind::REFUSED &&
           contains_any(answer.problem, std::begin(NEVER_GIVEN), std::end(NEVER_GIVEN));
}

bool is_busy(const SlurmAnswer &answer)
{
    return answer.kind == SlurmAnswer::Kind::REFUSED &&
           contains_any(answer.problem, std::begin(BUSY), std::end(BUSY));
}

} // namespace elastic::rm
