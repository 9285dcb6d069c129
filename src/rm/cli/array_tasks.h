/*
 * Names of tasks of job arrays: "12_3" is the task with the index 3 of array 12, "12_[4-9%2]" are
 * waiting tasks.  Pure.
 */

#ifndef ELASTIC_CLI_ARRAY_TASKS_H_INCLUDED
#define ELASTIC_CLI_ARRAY_TASKS_H_INCLUDED

#include <string>
#include <vector>

#include "cli/output.h"

namespace elastic {

/* "12", "12_3", or "12_[1-5,7]"; also "12_[4-9%2]", the form of waiting tasks in the queue. */
bool is_job_name(const std::string &text);
/* Whether it is a name with brackets, which means several jobs. */
bool names_tasks(const std::string &text);
/* The form of these names, for messages. */
inline constexpr const char *JOB_NAME_FORM =
    "a job has a number, such as 3, a task of an array is 3_7, some of its tasks are 3_[1-5,9] "
    "('elastic queue' lists them)";
/* Splits "3,12_[1-2,5]" at the commas that are not between brackets. */
std::vector<std::string> split_names(const std::string &list, const char *separators = ",");
/* For a list of names: empty, or the error. */
std::string wrong_with_names(const std::string &list);
/* Each task separately: "12_1", "12_2" for "12_[1-2]", at most TASKS_MAX; a name without
 * brackets is unchanged.  Empty: not a job name, or too many. */
constexpr size_t TASKS_MAX = 1000;
std::vector<std::string> each_task(const std::string &name);
/* "12_3" for a task, else "12". */
std::string job_name(const Json &job);
/* Tasks of one array that wait for the same reason become one entry with the name of all of
 * them, at the position of the first. */
std::vector<Json> merge_waiting_tasks(const std::vector<Json> &jobs);

}  // namespace elastic

#endif /* ELASTIC_CLI_ARRAY_TASKS_H_INCLUDED */
