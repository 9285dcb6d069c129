/* See job_array.h. */

#include "core/job_array.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "base/change.h"

namespace elastic::rm {

namespace {

/* "5", "1-7" or "1-7:2" */
bool add_range(const std::string &text, std::set<int> &indices)
{
    size_t colon = text.find(':'), dash = text.find('-');
    std::string ends = text.substr(0, colon);
    auto first = parse_number(ends.substr(0, dash), 0, ARRAY_INDEX_MAX);
    auto last = dash == text.npos ? first : parse_number(ends.substr(dash + 1), 0, ARRAY_INDEX_MAX);
    auto step = colon == text.npos
        ? parse_number("1", 1, 1)
        : parse_number(text.substr(colon + 1), 1, ARRAY_INDEX_MAX);
    if (!first || !last || !step || *first > *last || (colon != text.npos && dash == text.npos))
        return false;
    for (auto index = *first; index <= *last && indices.size() <= ARRAY_TASKS_MAX; index += *step)
        indices.insert(static_cast<int>(index));
    return true;
}

}  // namespace

std::optional<size_t> ArrayIndices::position(int index) const
{
    auto found = std::ranges::lower_bound(indices, index);
    if (found == indices.end() || *found != index)
        return std::nullopt;
    return static_cast<size_t>(found - indices.begin());
}

int ArrayIndices::step() const
{
    int step = indices.size() > 1 ? indices[1] - indices[0] : 1;
    for (size_t i = 1; i < indices.size(); i++) {
        if (indices[i] - indices[i - 1] != step)
            return 1;
    }
    return step;
}

Result<ArrayIndices> parse_array(const std::string &text)
{
    const Error wrong{"the array '" + text.substr(0, 60) +
                      "' is not valid: give indices such as 1-100, 0-6:2 or 1,3,5, and after % how "
                      "many may run at once, such as 1-100%10"};
    size_t percent = text.find('%');
    ArrayIndices array;
    if (percent != text.npos) {
        auto limit =
            parse_number(text.substr(percent + 1), 1, static_cast<int64_t>(ARRAY_TASKS_MAX));
        if (!limit)
            return wrong;
        array.limit = static_cast<int>(*limit);
    }
    if (text.size() > ARRAY_TEXT_MAX)
        return Error{"the array's indices take more than " + std::to_string(ARRAY_TEXT_MAX) +
                     " bytes: write them as ranges, or submit several arrays"};
    std::set<int> indices;
    std::istringstream parts(text.substr(0, percent));
    for (std::string part; std::getline(parts, part, ',');) {
        if (!add_range(part, indices))
            return wrong;
    }
    if (indices.empty())
        return wrong;
    if (indices.size() > ARRAY_TASKS_MAX)
        return Error{"an array has " + std::to_string(ARRAY_TASKS_MAX) +
                     " tasks at most: submit several"};
    array.indices.assign(indices.begin(), indices.end());
    return array;
}

std::string check(const JobArray &array)
{
    auto within = [&](int count) { return count >= 0 && count <= array.tasks; };
    bool is_right = array.job > 0 && array.tasks > 0 && array.limit >= 0 &&
        static_cast<size_t>(array.tasks) <= ARRAY_TASKS_MAX && within(array.started) &&
        within(array.ended) && within(array.discarded) && array.failed >= 0 &&
        array.cancelled >= 0 && array.failed + array.cancelled <= array.ended;
    return is_right ? "" : "the counts of array " + std::to_string(array.job) + " are wrong";
}

}  // namespace elastic::rm
