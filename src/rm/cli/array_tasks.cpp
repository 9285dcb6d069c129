/* See array_tasks.h. */

#include "cli/array_tasks.h"

#include <algorithm>
#include <map>

#include "base/change.h"

namespace elastic {

namespace {

constexpr const char *MERGED = "merged_name";   /* in the JSON of a job, by us */

bool is_number(const std::string &text)
{
    return parse_number(text, 0, INT64_MAX).has_value();
}

}  // namespace

bool is_job_name(const std::string &text)
{
    size_t mark = text.find('_');
    if (!parse_number(text.substr(0, mark), 1, INT64_MAX))
        return false;
    if (mark == text.npos || is_number(text.substr(mark + 1)))
        return true;
    std::string tasks = text.substr(mark + 1);
    return tasks.size() > 2 && tasks.front() == '[' && tasks.back() == ']' &&
        tasks.find_first_not_of("0123456789-,:", 1) == tasks.size() - 1;
}

std::string job_name(const Json &job)
{
    if (!job.is_object() || !job.contains("id"))
        return "-";
    if (job.contains(MERGED))
        return string_or(job, MERGED, "");
    const Json &array = object_of(job, "array");
    return array.contains("index") ? text_of(array, "job") + "_" + text_of(array, "index")
                                   : text_of(job, "id");
}

std::vector<Json> merge_waiting_tasks(const std::vector<Json> &jobs)
{
    struct Merged {
        size_t at = 0;
        std::vector<int> indices;
    };
    std::map<std::pair<int64_t, bool>, Merged> arrays;  /* held ones apart */
    std::vector<Json> rows;
    for (const Json &job : jobs) {
        const Json &array = object_of(job, "array");
        if (!array.contains("index") || string_or(job, "state", "") != "PENDING") {
            rows.push_back(job);
            continue;
        }
        auto [known, is_new] = arrays.try_emplace(
            {integer_or(array, "job", 0), bool_or(job, "held", false)}, Merged{rows.size(), {}});
        known->second.indices.push_back(static_cast<int>(integer_or(array, "index", 0)));
        if (is_new)
            rows.push_back(job);
    }
    for (auto &[key, merged] : arrays) {
        if (merged.indices.size() < 2)
            continue;
        std::ranges::sort(merged.indices);
        std::string given = string_or(object_of(rows[merged.at], "array"), "indices", "");
        size_t percent = given.find('%');
        rows[merged.at][MERGED] = std::to_string(key.first) + "_[" +
            format_ranks(merged.indices) + (percent == given.npos ? "" : given.substr(percent)) +
            "]";
    }
    return rows;
}

}  // namespace elastic
