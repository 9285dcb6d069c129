/* See setting.h: times as texts. */

#include "settings/setting.h"

namespace elastic::rm {

namespace {

struct Unit {
    const char *name;
    int64_t ms;
};
constexpr Unit UNITS[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", HOUR_MS}, {"d", 24 * HOUR_MS}};

}  // namespace

std::optional<int64_t> parse_duration(const std::string &text)
{
    size_t digits = text.find_first_not_of("0123456789");
    if (digits == 0 || digits > 12)
        return text == "0" ? std::optional<int64_t>(0) : std::nullopt;
    int64_t number = std::stoll(text.substr(0, digits));
    if (digits == std::string::npos)
        return number == 0 ? std::optional<int64_t>(0) : std::nullopt;
    for (const Unit &unit : UNITS)
        if (text.substr(digits) == unit.name)
            return number > INT64_MAX / unit.ms
                ? std::nullopt
                : std::optional<int64_t>(number * unit.ms);
    return std::nullopt;
}

std::string format_duration(int64_t ms)
{
    const Unit *best = &UNITS[0];
    for (const Unit &unit : UNITS)
        if (ms % unit.ms == 0)
            best = &unit;
    return ms == 0 ? "0" : std::to_string(ms / best->ms) + best->name;
}

}  // namespace elastic::rm
