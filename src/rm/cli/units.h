/*
 * Parsers for sizes, times and constraints of the command line, in the forms of Slurm.  Pure: a
 * value, or a message with the accepted forms.
 */

#ifndef ELASTIC_CLI_UNITS_H_INCLUDED
#define ELASTIC_CLI_UNITS_H_INCLUDED

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace elastic {

struct SizeRange {
    int minimum = 1, maximum = 1;
};

/* "4" or "2:8" (also "2-8"): processes, 1 to SIZE_MAX_PROCESSES, minimum not above maximum. */
Result<SizeRange> parse_size_range(std::string_view text);

/* "3" or "3-5": a number of nodes, or as many as are needed between the two. */
Result<SizeRange> parse_node_range(std::string_view text);

/* Slurm's forms: "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours",
 * "days-hours:minutes", "days-hours:minutes:seconds"; also "90s", "10m", "2h", "1d".
 * Seconds; "unlimited" and "infinite" give 0, which is no limit for Slurm either. */
Result<int64_t> parse_time_limit(std::string_view text);

/* "4G", "512M", "2T", "1024K"; a number alone is MiB, as Slurm's.  In MiB, rounded up. */
Result<int64_t> parse_memory(std::string_view text);

constexpr int GPUS_OF_NODE_MAX = 64;
/* "gpu:2", "gpu" (one), "none": the GPUs of each node. */
Result<int> parse_gres(const std::string &text);

/* The begin time of a job, in seconds since 1970: "now+TIME" (as sbatch reads it: a number of
 * seconds, or with a unit; or a time limit as above), "HH:MM[:SS]", "midnight" and "noon" (the next
 * occurrence of that time), "tomorrow" (its midnight), "YYYY-MM-DD[THH:MM[:SS]]"; in local time. */
Result<int64_t> parse_begin(std::string_view text, int64_t now);

/* A time of the past in the forms of sacct's -S and -E, in seconds since 1970:
 * "YYYY-MM-DD[THH:MM[:SS]]", "HH:MM[:SS]" (of today), "now", "now-2hours", "now-7days", "today",
 * "midnight", "noon", "yesterday"; in local time. */
Result<int64_t> parse_past(std::string_view text, int64_t now);

/* "USR1", "SIGUSR1@90s", "USR1@5": a signal, and its time before the time limit (Slurm's format:
 * a number alone is seconds; default 60). */
struct LimitSignal {
    std::string name;
    int64_t seconds = 60;
};
Result<LimitSignal> parse_limit_signal(std::string_view text);

/* "3", "3,5" or "3:5" (Slurm's): numbers of jobs and arrays, and tasks of arrays, such as 3_7 or
 * 3_[1-5], which becomes one entry per task. */
Result<std::vector<std::string>> parse_jobs(std::string_view text);

/* sbatch's --mail-type, "END,FAIL": "end", "fail", each once; empty for "NONE" and "". */
Result<std::vector<std::string>> parse_mail_types(const std::string &text);
/* The unsupported types of the list, such as TIME_LIMIT_90; they are removed from it. */
std::vector<std::string> split_mail_types(std::string &text);

/* sbatch's "afterok:3:4,after:5_2,singleton": all must be fulfilled. */
struct Dependencies {
    std::vector<std::string> after, after_any, after_ok, after_not_ok;
    bool singleton = false;
};
Result<Dependencies> parse_dependencies(const std::string &text);

inline constexpr int64_t TIME_LIMIT_MAX_SECONDS = int64_t{366} * 86400;

}  // namespace elastic

#endif /* ELASTIC_CLI_UNITS_H_INCLUDED */
