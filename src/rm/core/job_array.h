/*
 * Job arrays: many jobs of one submission that differ in their index alone.  Each task is a job of
 * its own, with a number of its own; the numbers of an array's tasks follow each other, in the
 * order of their indices, and the first one names the array.
 */

#ifndef ELASTIC_RM_CORE_JOB_ARRAY_H_INCLUDED
#define ELASTIC_RM_CORE_JOB_ARRAY_H_INCLUDED

#include <optional>
#include <string>
#include <vector>

#include "core/fields.h"

namespace elastic::rm {

constexpr int ARRAY_INDEX_MAX = 4000000;
constexpr size_t ARRAY_TASKS_MAX = 1000;
constexpr size_t ARRAY_TEXT_MAX = 255;

/* "1-100%10", "0-6:2", "1,3,5-7": indices, rising, each once, and the number of tasks that may
 * be on nodes at once. */
struct ArrayIndices {
    std::vector<int> indices;
    int limit = 0;              /* 0: any number */

    /* Position of the task with that index: 0, 1, 2, ...; nullopt: there is none. */
    std::optional<size_t> position(int index) const;
    /* The distance of the indices if it is the same for all, else 1. */
    int step() const;
};
Result<ArrayIndices> parse_array(const std::string &text);

/* Data of a job that is a task of an array. */
struct ArrayTask {
    uint64_t array = 0;         /* the number of the array, which is that of its first task */
    int index = 0;
    /* PENDING: the limit of its array is reached by tasks that run or will run */
    bool waits = false;
    bool counted = false;       /* counted as started in JobArray */

    ELASTIC_FIELDS(array, index, waits, counted)
};

/* Ends of the tasks of an array, including tasks that are no longer in memory. */
struct JobArray {
    uint64_t job = 0;           /* the number of the first task */
    int tasks = 0;
    int limit = 0;              /* limit of tasks on nodes at once; 0: any number */
    /* since the submission; a task that has ended without a start counts as started */
    int started = 0, ended = 0, failed = 0, cancelled = 0;
    int discarded = 0;          /* no longer in memory */

    ELASTIC_FIELDS(job, tasks, limit, started, ended, failed, cancelled, discarded)
};

/* Empty, or the error in the array. */
std::string check(const JobArray &array);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_JOB_ARRAY_H_INCLUDED */
