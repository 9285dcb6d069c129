/*
 * Displays of jobs and records of elasticd: as rows, as lists of fields, as sentences.
 * Pure: JSON as in doc/admin/elasticd-api.md in, text out.  Missing members of the JSON show as
 * "-".
 */

#ifndef ELASTIC_CLI_JOB_VIEW_H_INCLUDED
#define ELASTIC_CLI_JOB_VIEW_H_INCLUDED

#include "cli/output.h"

namespace elastic {

/* Whether any of them is in a partition. */
bool has_partitions(const std::vector<Json> &jobs);

/* The columns of `elastic queue`, similar to squeue. */
Table queue_table(bool with_partition = false);
std::vector<std::string> queue_row(const Json &job, int64_t now_ms, bool with_partition = false);

/* The columns of `elastic history`: ended jobs. */
Table history_table(bool with_partition = false);
std::vector<std::string> history_row(const Json &job, bool with_partition = false);

/* "Name=value" lines about one job, as in scontrol. */
std::vector<std::string> job_description(const Json &job, int64_t now_ms);

/* The cause of its size, and what limits it; or the cause of its wait; "-" if unknown. */
std::string why_text(const Json &job);
/* Empty, or advice to its user about processes of MPI_Comm_spawn that have no cores. */
std::string spawned_advice(const Json &job);
/* Its estimated speed-up: a heading, and a line for each size with the measured value; no line
 * if nothing is known. */
std::vector<std::string> speedup_lines(const Json &job);

/* "2026-11-21T14:03:07.123  job 3  committed  epoch 2: 2 -> 4 processes on n0:2,n1:2, stood
 * still 3 ms". */
std::string record_line(const Json &record);
/* The same as fields for programs. */
inline const std::vector<std::string> RECORD_TITLES = {"NUMBER", "TIME", "JOB",
                                                       "NODE",   "EVENT", "DETAIL"};
std::vector<std::string> record_cells(const Json &record);

/* "n0:4,n1:2"; "-" if empty. */
std::string node_list(const Json &nodes);
/* "2:8", "4". */
std::string size_range(const Json &job);
/* Two letters. */
std::string state_code(const Json &job);
bool has_ended(const Json &job);
/* Its run time until now, or its end, without suspended time; negative before the start. */
int64_t run_time_ms(const Json &job, int64_t now_ms);

}  // namespace elastic

#endif /* ELASTIC_CLI_JOB_VIEW_H_INCLUDED */
