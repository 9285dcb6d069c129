/*
 * Tasks of job arrays as people name and list them: "12_3" is the task with the index 3 of array
 * 12, "12_[4-9%2]" are those that wait.  Pure.
 */

#ifndef ELASTIC_CLI_ARRAY_TASKS_H_INCLUDED
#define ELASTIC_CLI_ARRAY_TASKS_H_INCLUDED

#include "cli/output.h"

namespace elastic {

/* "12", "12_3", or "12_[1-5,7]". */
bool is_job_name(const std::string &text);
/* "12_3" of a task, else "12". */
std::string job_name(const Json &job);
/* Tasks of one array that wait for the same become one job with the name of all of them, where the
 * first of them is. */
std::vector<Json> merge_waiting_tasks(const std::vector<Json> &jobs);

}  // namespace elastic

#endif /* ELASTIC_CLI_ARRAY_TASKS_H_INCLUDED */
