/*
 * Lists of jobs: the filters that several commands share, and all pages of elasticd's list.
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
    bool all = false, mine = false;     /* ended ones, too; only those of the caller */
    std::string user, name, states, ids, nodes, partition;
    int limit = 0;              /* 0: all */
    std::optional<int64_t> from_ms, to_ms;      /* waiting or running between these times */
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

/* elasticd's names of "r,Completed", separated by commas; those of squeue and sacct, and "all", are
 * known, too. */
Result<std::string> parse_job_states(const std::string &text);

/* In one of the orders of GET /v1/jobs; DONE and the jobs, or an exit code. */
int get_jobs(Elasticd &elasticd, const JobFilter &filter, const std::string &order,
             std::vector<Json> &jobs);
/* Whether some of these states, of parse_job_states, are ends. */
bool names_an_end(const std::string &states);

/* "?a=1&b=x%20y" of what is not empty. */
std::string query(const std::vector<std::pair<const char *, std::string>> &parameters);

}  // namespace elastic

#endif /* ELASTIC_CLI_JOB_LIST_H_INCLUDED */
