/*
 * The common part of `elastic run` and `elastic submit`: the options that describe a job, and the
 * resulting request (POST /v1/jobs, doc/admin/elasticd-api-jobs.md).  A script may contain options
 * (#ELASTIC lines).  Pure, except for reading files and the environment on request of the caller.
 */

#ifndef ELASTIC_CLI_JOB_OPTIONS_H_INCLUDED
#define ELASTIC_CLI_JOB_OPTIONS_H_INCLUDED

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/output.h"

namespace CLI {
class App;
}

namespace elastic {

using Environment = std::map<std::string, std::string>;

struct JobOptions {
    std::string size; /* "4", "2:8"; empty: the daemon decides (1, or all cores of the nodes) */
    std::string sizes;          /* a rule of program_sizes.h */
    std::string kind;           /* "rigid", "moldable", "malleable"; empty: depends on the size */
    /* 0: not given */
    int preferred = 0, extra_slots = 0, cores_per_process = 0, processes_per_node = 0;
    std::string nodes;                  /* "3", "3-5" */
    bool exclusive = false, held = false, singleton = false, requeue = false, label = false;
    std::string array, memory_per_core, memory_per_node;
    std::string nodelist, exclude;      /* "n[1-3],n7" */
    std::string partition, reservation;
    std::string gres;                   /* "gpu:2" */
    int gpus = 0, gpus_per_task = 0, gpus_per_node = 0; /* 0: not given */
    std::string time_limit, name, directory, output, error, input;
    std::string speedup, expect;        /* "amdahl:0.02", "linear"; a time; empty: not given */
    std::string begin, after, after_any, after_ok, after_not_ok, limit_signal;
    std::string mail_type, mail_user;
    std::optional<std::string> dependency;      /* as in sbatch, added to these */
    std::optional<int> priority;
    std::string environment = "ALL"; /* comma-separated: "ALL", "NONE", names, NAME=VALUE */
    std::vector<std::string> mpiexec;   /* further options for it */
    std::vector<std::string> psets;     /* process sets that hold all processes of the launch */
};

void add_job_options(CLI::App &command, JobOptions &options);

/* The request without the program; or a message that names the invalid option. */
Result<Json> job_request(const JobOptions &options, const std::string &working_directory,
                         const Environment &environment);

/* The words of the #ELASTIC lines at the head of a script, up to its first line that is neither
 * empty nor a comment. */
Result<std::vector<std::string>> script_options(const std::string &script);
/* Splits words like a shell: quotes, backslash; no expansions. */
Result<std::vector<std::string>> split_words(const std::string &line);

Environment present_environment();

}  // namespace elastic

#endif /* ELASTIC_CLI_JOB_OPTIONS_H_INCLUDED */
