/* See array_tasks.h. */

#include "cli/array_tasks.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/change.h"

namespace elastic {

namespace {

constexpr const char *MERGED = "merged_name";   /* in the JSON of a job, added here */

constexpr int INDEX_MAX = 4000000;      /* of a task */

/* "5", "1-7" or "1-7:2": first, last, step. */
struct Range {
    long long first, last, step;
};

std::optional<Range> read_range(const std::string &text)
{
    size_t colon = text.find(':'), dash = text.find('-');
    auto first = parse_number(text.substr(0, std::min(colon, dash)), 0, INDEX_MAX);
    if (!first || (dash == text.npos && colon != text.npos))
        return std::nullopt;
    if (dash == text.npos)
        return Range{*first, *first, 1};
    auto last = parse_number(text.substr(dash + 1, colon - dash - 1), *first, INDEX_MAX);
    auto step =
        colon == text.npos ? last : parse_number(text.substr(colon + 1), 1, INDEX_MAX);
    if (!last || !step)
        return std::nullopt;
    return Range{*first, *last, colon == text.npos ? 1 : *step};
}

/* From "[1-5,9]" or "[4-9%2]"; nullopt: another form. */
std::optional<std::vector<Range>> read_ranges(const std::string &text)
{
    size_t percent = std::min(text.find('%'), text.size() - 1);
    bool is_limited = percent + 1 < text.size();
    if (text.size() < 3 || text.front() != '[' || text.back() != ']' ||
        (is_limited &&
         !parse_number(text.substr(percent + 1, text.size() - percent - 2), 1, INDEX_MAX)))
        return std::nullopt;
    std::vector<Range> ranges;
    for (const std::string &part : split_names(text.substr(1, percent - 1))) {
        auto range = read_range(part);
        if (!range)
            return std::nullopt;
        ranges.push_back(*range);
    }
    return ranges;
}

}  // namespace

bool is_job_name(const std::string &text)
{
    size_t mark = text.find('_');
    if (!parse_number(text.substr(0, mark), 1, INT64_MAX))
        return false;
    return mark == text.npos || parse_number(text.substr(mark + 1), 0, INT64_MAX) ||
        read_ranges(text.substr(mark + 1));
}

bool names_tasks(const std::string &text)
{
    return text.find('[') != text.npos;
}

std::vector<std::string> split_names(const std::string &list, const char *separators)
{
    std::vector<std::string> names(1);
    bool in_brackets = false;
    for (char c : list) {
        in_brackets = c == '[' || (in_brackets && c != ']');
        if (strchr(separators, c) && c != '\0' && !in_brackets)
            names.emplace_back();
        else
            names.back() += c;
    }
    return names;
}

std::string wrong_with_names(const std::string &list)
{
    for (const std::string &name : split_names(list)) {
        if (!is_job_name(name))
            return "'" + name + "' is not a job: " + JOB_NAME_FORM;
    }
    return "";
}

std::vector<std::string> each_task(const std::string &name)
{
    if (!is_job_name(name))
        return {};
    if (!names_tasks(name))
        return {name};
    size_t mark = name.find('_');
    std::vector<std::string> tasks;
    const auto ranges = read_ranges(name.substr(mark + 1));
    for (const Range &range : ranges.value_or(std::vector<Range>())) {
        for (long long index = range.first; index <= range.last; index += range.step) {
            if (tasks.size() == TASKS_MAX)
                return {};
            tasks.push_back(name.substr(0, mark + 1) + std::to_string(index));
        }
    }
    return tasks;
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
    std::map<std::pair<int64_t, bool>, Merged> arrays;  /* held ones separately */
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
