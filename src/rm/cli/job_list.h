/*
 * Lists of jobs: the common filters of several commands, and all pages of elasticd's list.
 */

#ifndef ELASTIC_CLI_JOB_LIST_H_INCLUDED
#define ELASTIC_CLI_JOB_LIST_H_INCLUDED

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/elasticd_client.h"

namespace CLI {
class App;
}

namespace elastic {

struct JobFilter {
    bool all = false, mine = false;     /* include ended ones; only those of the caller */
    std::string user, name, states, ids, nodes, partition;
    int limit = 0;              /* 0: all */
    std::optional<int64_t> from_ms, to_ms;      /* jobs that waited or ran between these times */
    bool is_empty() const
    {
        return !mine && user.empty() && name.empty() && states.empty() && ids.empty() &&
               nodes.empty() && partition.empty();
    }
};

/* -u, --me, -n, -w, -p */
void add_common_filters(CLI::App &command, JobFilter &filter);
/* --states and its short forms. */
void add_state_filter(CLI::App &command, JobFilter &filter, const std::string &options,
                      const std::string &example);

/* elasticd's names for "r,Completed", separated by commas; names of squeue and sacct, and "all",
 * are accepted too. */
Result<std::string> parse_job_states(const std::string &text);

/* In one of the orders of GET /v1/jobs.  Returns DONE and the jobs, or an exit code. */
int get_jobs(Elasticd &elasticd, const JobFilter &filter, const std::string &order,
             std::vector<Json> &jobs);
/* Whether some of these states, from parse_job_states, are end states. */
bool names_an_end(const std::string &states);

/* "?a=1&b=x%20y" from the values that are not empty. */
std::string query(const std::vector<std::pair<const char *, std::string>> &parameters);

}  // namespace elastic

#endif /* ELASTIC_CLI_JOB_LIST_H_INCLUDED */
