/* See units.h. */

#include "cli/units.h"

#include <optional>
#include <string>
#include <vector>

#include "change.h"

namespace elastic {

namespace {

Error wrong_time(std::string_view text)
{
    return Error{"'" + std::string(text) + "' is no time: minutes, minutes:seconds, "
                 "hours:minutes:seconds, days-hours[:minutes[:seconds]], or a number with s, m, h "
                 "or d; at most 366 days"};
}

/* The numbers between the separators; nothing if one of them is none. */
std::optional<std::vector<int64_t>> numbers_of(std::string_view text, char separator)
{
    std::vector<int64_t> numbers;
    while (true) {
        size_t end = text.find(separator);
        auto number = parse_number(text.substr(0, end), 0, TIME_LIMIT_MAX_SECONDS);
        if (!number)
            return std::nullopt;
        numbers.push_back(*number);
        if (end == text.npos)
            return numbers;
        text.remove_prefix(end + 1);
    }
}

int64_t unit_seconds(char unit)
{
    switch (unit) {
        case 's': return 1;
        case 'm': return 60;
        case 'h': return 3600;
        case 'd': return 86400;
        default: return 0;
    }
}

/* What follows the days: hours[:minutes[:seconds]]; without days: minutes, minutes:seconds, or
 * hours:minutes:seconds. */
std::optional<int64_t> clock_seconds(std::string_view text, bool after_days)
{
    auto parts = numbers_of(text, ':');
    if (!parts || parts->size() > 3)
        return std::nullopt;
    size_t first = after_days || parts->size() == 3 ? 0 : 1;    /* hours, or minutes */
    static const int64_t SECONDS[] = {3600, 60, 1};
    int64_t total = 0;
    for (size_t i = 0; i < parts->size(); i++)
        total += (*parts)[i] * SECONDS[first + i];
    return total;
}

std::optional<int64_t> time_seconds(std::string_view text)
{
    if (!text.empty() && unit_seconds(text.back()) > 0) {
        auto number = parse_number(text.substr(0, text.size() - 1), 0, TIME_LIMIT_MAX_SECONDS);
        return number ? std::optional<int64_t>(*number * unit_seconds(text.back())) : std::nullopt;
    }
    size_t dash = text.find('-');
    if (dash == text.npos)
        return clock_seconds(text, false);
    auto days = parse_number(text.substr(0, dash), 0, 366);
    auto rest = clock_seconds(text.substr(dash + 1), true);
    if (!days || !rest)
        return std::nullopt;
    return *days * 86400 + *rest;
}

}  // namespace

Result<SizeRange> parse_size_range(std::string_view text)
{
    size_t separator = text.find_first_of(":-");
    std::string_view low = text.substr(0, separator);
    std::string_view high = separator == text.npos ? low : text.substr(separator + 1);
    auto minimum = parse_number(low, 1, SIZE_MAX_PROCESSES);
    auto maximum = parse_number(high, 1, SIZE_MAX_PROCESSES);
    if (!minimum || !maximum)
        return Error{"'" + std::string(text) + "' is no size: a number of processes such as 4, or "
                     "MIN:MAX such as 2:8"};
    if (*minimum > *maximum)
        return Error{"'" + std::string(text) + "': the minimum is above the maximum"};
    return SizeRange{static_cast<int>(*minimum), static_cast<int>(*maximum)};
}

Result<int64_t> parse_time_limit(std::string_view text)
{
    if (text == "unlimited" || text == "infinite")
        return int64_t{0};
    auto seconds = time_seconds(text);
    if (!seconds || *seconds < 1 || *seconds > TIME_LIMIT_MAX_SECONDS)
        return wrong_time(text);
    return *seconds;
}

}  // namespace elastic
