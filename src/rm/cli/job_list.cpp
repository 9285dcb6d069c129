/* See job_list.h. */

#include "cli/job_list.h"

#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <sstream>

#include "base/words.h"
#include "cli/array_tasks.h"
#include "cli/node_names.h"
#include "core/job_states.h"

namespace elastic {

namespace {

constexpr size_t PAGE_MAX = 10000;      /* maximum of the interface for one page */

std::string my_name()
{
    const passwd *user = getpwuid(getuid());
    return user ? user->pw_name : std::to_string(getuid());
}

bool is_on(const Json &job, const std::set<std::string> &nodes)
{
    for (const Json &node : list_of(job, "nodes")) {
        if (nodes.contains(string_or(node, "name", "")))
            return true;
    }
    return nodes.empty();
}

bool is_in(const Json &job, const std::string &partition)
{
    return partition.empty() || string_or(job, "partition", "") == partition;
}

std::string number_text(std::optional<int64_t> number)
{
    return number ? std::to_string(*number) : "";
}

}  // namespace

std::string query(const std::vector<std::pair<const char *, std::string>> &parameters)
{
    std::string text;
    for (const auto &[name, value] : parameters) {
        if (!value.empty())
            text += (text.empty() ? "?" : "&") + std::string(name) + "=" + Elasticd::escaped(value);
    }
    return text;
}

void add_common_filters(CLI::App &command, JobFilter &filter)
{
    command.add_option("-u,--user", filter.user, "only this user's");
    command.add_flag("--me", filter.mine, "only mine");
    command.add_option("-n,--name", filter.name, "only of this name");
    command.add_option("-p,--partition", filter.partition, "only in this partition");
    command.add_option("-w,--nodelist", filter.nodes,
                       "only on some of these nodes, such as n[1-3],n7");
}

/* "pending, starting, ..." */
static std::string state_names()
{
    std::string names;
    for (const rm::JobStateNames &each : rm::JOB_STATES) {
        std::string name = each.name;
        std::ranges::transform(name, name.begin(), [](char c) { return std::tolower(c); });
        names += (names.empty() ? "" : ", ") + name;
    }
    return names;
}

Result<std::string> parse_job_states(const std::string &text)
{
    std::string states;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        const std::string name = rm::to_upper(word);
        bool found = false;
        for (const rm::JobStateNames &each : rm::JOB_STATES) {
            if (name != "ALL" && name != each.name && name != each.code && name != each.slurm)
                continue;
            states.append(states.empty() ? "" : ",").append(each.name);
            found = true;
        }
        if (!found)
            return Error{"there is no state '" + word.substr(0, 40) +
                         "' of jobs: they are " + state_names() + " and all"};
    }
    return states;
}

void add_state_filter(CLI::App &command, JobFilter &filter, const std::string &options,
                      const std::string &example)
{
    command.add_option(options, filter.states, "only in these states, such as " + example)
        ->transform([](const std::string &text) {
            auto states = parse_job_states(text);
            if (!states)
                throw CLI::ValidationError(states.error());
            return states.value();
        });
}

bool names_an_end(const std::string &states)
{
    std::istringstream names(states);
    for (std::string name; std::getline(names, name, ',');) {
        if (rm::is_end(name))
            return true;
    }
    return false;
}

int get_jobs(Elasticd &elasticd, const JobFilter &filter, const std::string &order,
             std::vector<Json> &jobs)
{
    if (std::string wrong = filter.ids.empty() ? "" : wrong_with_names(filter.ids); !wrong.empty())
        return complain(USAGE, wrong);
    const std::string user = filter.mine ? my_name() : filter.user;
    const auto wanted = static_cast<size_t>(filter.limit);
    auto names = node_names("--nodelist", filter.nodes.empty() ? std::vector<std::string>()
                                                               : std::vector{filter.nodes});
    if (!names)
        return complain(USAGE, names.error());
    const std::set<std::string> nodes(names.value().begin(), names.value().end());
    size_t read = 0;            /* jobs, including those on other nodes or in other partitions */
    const char *page = order == "-id" ? "before" : "after";
    std::string last;
    while (true) {
        Json answer;
        size_t missing = wanted > 0 ? wanted - jobs.size() : PAGE_MAX;
        bool skips = order == "queue" && read > 0;
        std::string path =
            "/v1/jobs" + query({{"order", order},
                                {"user", user},
                                {"name", filter.name},
                                {"state", filter.states},
                                {"ids", filter.ids},
                                {"all", filter.all ? "true" : ""},
                                {"from_ms", number_text(filter.from_ms)},
                                {"to_ms", number_text(filter.to_ms)},
                                {page, last},
                                {"skip", skips ? std::to_string(read) : ""},
                                {"limit", std::to_string(std::min(missing, PAGE_MAX))}});
        if (int code = elasticd.get(path, answer))
            return code;
        const Json &found = list_of(answer, "jobs");
        read += found.size();
        for (const Json &job : found) {
            if (is_on(job, nodes) && is_in(job, filter.partition))
                jobs.push_back(job);
        }
        if (!bool_or(answer, "more", false) || (wanted > 0 && jobs.size() >= wanted))
            return DONE;
        /* A page may contain no job at all, if few of the jobs read for it match. */
        int64_t here =
            integer_or(answer, "last", found.empty() ? 0 : integer_or(found.back(), "id", 0));
        std::string next = order == "queue" ? "" : std::to_string(here);
        if (found.empty() && (next == last || here == 0))
            return complain(UNREACHABLE,
                            "elasticd's list of jobs has no end: is it another version?");
        last = next;
    }
}

}  // namespace elastic
