/* See units.h. */

#include "cli/units.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "base/change.h"
#include "cli/array_tasks.h"

namespace elastic {

namespace {

Error wrong_time(std::string_view text)
{
    return Error{"'" + std::string(text) + "' is not a time: minutes, minutes:seconds, "
                 "hours:minutes:seconds, days-hours[:minutes[:seconds]], or a number with s, m, h "
                 "or d; at most 366 days"};
}

/* The numbers between the separators; nullopt if one part is not a number. */
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

/* The part after the days: hours[:minutes[:seconds]]; without days: minutes, minutes:seconds, or
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

namespace {

Result<SizeRange> parse_range(std::string_view text, const char *separators, const char *expected)
{
    size_t separator = text.find_first_of(separators);
    std::string_view low = text.substr(0, separator);
    std::string_view high = separator == text.npos ? low : text.substr(separator + 1);
    auto minimum = parse_number(low, 1, SIZE_MAX_PROCESSES);
    auto maximum = parse_number(high, 1, SIZE_MAX_PROCESSES);
    if (!minimum || !maximum)
        return Error{"'" + std::string(text) + "' is not " + expected};
    if (*minimum > *maximum)
        return Error{"'" + std::string(text) + "': the minimum is above the maximum"};
    return SizeRange{static_cast<int>(*minimum), static_cast<int>(*maximum)};
}

}  // namespace

Result<SizeRange> parse_size_range(std::string_view text)
{
    return parse_range(text, ":-",
                       "a size: give a number of processes such as 4, or MIN:MAX such as 2:8");
}

Result<SizeRange> parse_node_range(std::string_view text)
{
    return parse_range(text, "-", "a number of nodes, such as 3 or 3-5");
}

Result<int64_t> parse_time_limit(std::string_view text)
{
    if (text == "unlimited" || text == "infinite")
        return int64_t{0};
    auto seconds = time_seconds(text);
    if (!seconds || *seconds > TIME_LIMIT_MAX_SECONDS)
        return wrong_time(text);
    return *seconds;
}

namespace {

/* Seconds of the local time; -1: there is no such time. */
int64_t local_seconds(int year, int month, int day, int hour, int minute, int second)
{
    std::tm time = {};
    time.tm_year = year - 1900;
    time.tm_mon = month - 1;
    time.tm_mday = day;
    time.tm_hour = hour;
    time.tm_min = minute;
    time.tm_sec = second;
    time.tm_isdst = -1;
    std::tm wanted = time;
    int64_t seconds = mktime(&time);
    return time.tm_mday == wanted.tm_mday && time.tm_mon == wanted.tm_mon ? seconds : -1;
}

/* HH:MM[:SS]; refuses values that are not a time of day. */
bool read_clock(const std::string &text, int &hour, int &minute, int &second)
{
    int end = 0;
    second = 0;
    if (sscanf(text.c_str(), "%2d:%2d%n", &hour, &minute, &end) != 2)
        return false;
    if (text[static_cast<size_t>(end)] == ':' &&
        sscanf(text.c_str(), "%2d:%2d:%2d%n", &hour, &minute, &second, &end) != 3)
        return false;
    return static_cast<size_t>(end) == text.size() && hour >= 0 && hour < 24 && minute >= 0 &&
           minute < 60 && second >= 0 && second < 60;
}

int64_t date_seconds(const std::string &text)
{
    int year = 0, month = 0, day = 0, end = 0, hour = 0, minute = 0, second = 0;
    if (sscanf(text.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &end) != 3 || year < 1970 ||
        month < 1 || day < 1)
        return -1;
    std::string rest = text.substr(static_cast<size_t>(end));
    if (!rest.empty() && (rest[0] != 'T' || !read_clock(rest.substr(1), hour, minute, second)))
        return -1;
    return local_seconds(year, month, day, hour, minute, second);
}

/* That time of day, this number of days from today. */
int64_t time_of_day(int64_t now, int days, int hour, int minute, int second)
{
    time_t present = now;
    std::tm day = {};
    localtime_r(&present, &day);
    day.tm_mday += days;
    day.tm_hour = 12;
    day.tm_isdst = -1;
    mktime(&day);
    return local_seconds(day.tm_year + 1900, day.tm_mon + 1, day.tm_mday, hour, minute, second);
}

/* The next occurrence of that time of day, today or tomorrow. */
int64_t next_time_of_day(int64_t now, int hour, int minute, int second)
{
    for (int days = 0; days < 3; days++) {
        if (int64_t found = time_of_day(now, days, hour, minute, second); found > now)
            return found;
    }
    return -1;
}

/* "2hours", "7days", "90s": a number with a unit; -1: another form. */
int64_t seconds_with_unit(const std::string &text)
{
    struct Unit {
        const char *names;
        int64_t seconds;
    };
    constexpr Unit UNITS[] = {{" s second seconds ", 1},
                              {" m minute minutes ", 60},
                              {" h hour hours ", 3600},
                              {" d day days ", 86400},
                              {" w week weeks ", 7 * 86400}};
    constexpr int64_t NUMBER_MAX = 1000000000;
    size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    auto number = parse_number(text.substr(0, end), 0, NUMBER_MAX);
    std::string unit = " " + text.substr(end) + " ";
    for (const Unit &each : UNITS) {
        if (number && std::string_view(each.names).find(unit) != std::string_view::npos)
            return *number * each.seconds;
    }
    return -1;
}

}  // namespace

Result<int64_t> parse_memory(std::string_view text)
{
    constexpr int64_t MEMORY_MAX_MIB = int64_t{1} << 30, KIB_OF_MIB = 1024;
    constexpr std::string_view UNITS = "KMGT";
    std::string_view digits = text;
    if (digits.ends_with("B") || digits.ends_with("b"))
        digits.remove_suffix(1);
    char unit = digits.empty() ? '0' : digits.back();
    unit = unit >= 'a' && unit <= 'z' ? static_cast<char>(unit - 'a' + 'A') : unit;
    size_t power = UNITS.find(unit);
    bool has_unit = power != UNITS.npos;
    if (has_unit)
        digits.remove_suffix(1);
    auto number = has_unit || digits.size() == text.size()
        ? parse_number(digits, 0, MEMORY_MAX_MIB * KIB_OF_MIB)
        : std::nullopt;
    int64_t mib = number.value_or(-1);
    if (number && has_unit && power == 0)
        mib = (mib + KIB_OF_MIB - 1) / KIB_OF_MIB;
    for (size_t i = 1; number && has_unit && i < power && mib <= MEMORY_MAX_MIB; i++)
        mib *= KIB_OF_MIB;
    if (mib < 0 || mib > MEMORY_MAX_MIB)
        return Error{"'" + std::string(text) + "' is not a size of memory such as 4G or 500M"};
    return mib;
}

Result<int64_t> parse_begin(std::string_view text, int64_t now)
{
    std::string given(text);
    int hour = 0, minute = 0, second = 0;
    int64_t found = -1;
    if (given == "now")
        return now;
    if (given.starts_with("now+")) {
        std::string delay = given.substr(4);
        auto number = parse_number(delay, 0, TIME_LIMIT_MAX_SECONDS);
        int64_t seconds = number ? *number : seconds_with_unit(delay);
        if (seconds < 0)
            seconds = time_seconds(delay).value_or(-1);
        found = seconds >= 0 && seconds <= TIME_LIMIT_MAX_SECONDS ? now + seconds : -1;
    } else if (given == "tomorrow") {
        found = time_of_day(now, 1, 0, 0, 0);
    } else if (given == "midnight" || given == "noon") {
        found = next_time_of_day(now, given == "noon" ? 12 : 0, 0, 0);
    } else if (read_clock(given, hour, minute, second)) {
        found = next_time_of_day(now, hour, minute, second);
    } else {
        found = date_seconds(given);
    }
    if (found >= 0)
        return found;
    return Error{"'" + given + "' is not a begin time: now+TIME such as now+2h, HH:MM[:SS], "
                 "YYYY-MM-DD[THH:MM[:SS]], midnight, noon, or tomorrow"};
}

Result<int64_t> parse_past(std::string_view text, int64_t now)
{
    std::string given(text);
    int hour = 0, minute = 0, second = 0;
    int64_t found = -1;
    if (given == "now") {
        found = now;
    } else if (given.starts_with("now-")) {
        int64_t ago = seconds_with_unit(given.substr(4));
        found = ago < 0 ? -1 : std::max<int64_t>(now - ago, 0);
    } else if (given == "today" || given == "midnight" || given == "yesterday") {
        found = time_of_day(now, given == "yesterday" ? -1 : 0, 0, 0, 0);
    } else if (given == "noon") {
        found = time_of_day(now, 0, 12, 0, 0);
    } else if (read_clock(given, hour, minute, second)) {
        found = time_of_day(now, 0, hour, minute, second);
    } else {
        found = date_seconds(given);
    }
    if (found >= 0)
        return found;
    return Error{"'" + given + "' is not a time: YYYY-MM-DD[THH:MM[:SS]], HH:MM[:SS] of today, "
                 "now, now-2hours, now-7days (seconds, minutes, hours, days, weeks), today, noon, "
                 "or yesterday"};
}

Result<LimitSignal> parse_limit_signal(std::string_view text)
{
    LimitSignal found;
    size_t at = text.find('@');
    found.name = text.substr(0, at);
    /* Slurm's "batch shell only": a script gets it in any case */
    if (found.name.starts_with("B:") || found.name.starts_with("R:"))
        found.name.erase(0, 2);
    if (found.name.starts_with("SIG"))
        found.name.erase(0, 3);
    auto wrong = [&] {
        return Error{"'" + std::string(text) +
                     "' is not a signal before the limit: SIGNAL[@TIME] such as USR1@90s"};
    };
    if (found.name.empty())
        return wrong();
    if (at == text.npos)
        return found;
    std::string_view time = text.substr(at + 1);
    auto plain = parse_number(time, 0, TIME_LIMIT_MAX_SECONDS);
    auto seconds = plain ? std::optional<int64_t>(*plain) : time_seconds(time);
    if (!seconds || *seconds > TIME_LIMIT_MAX_SECONDS)
        return wrong();
    found.seconds = *seconds;
    return found;
}

namespace {

struct MailType {
    const char *name, *event;
    bool in_all;
};
constexpr MailType MAIL_TYPES[] = {{"BEGIN", "begin", true},
                                   {"END", "end", true},
                                   {"FAIL", "fail", true},
                                   {"REQUEUE", "requeue", true},
                                   {"ARRAY_TASKS", "array_tasks", false}};

/* As in Slurm, lower-case letters count as capitals. */
std::vector<std::string> mail_types_in(std::string text)
{
    for (char &c : text)
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return text.empty() ? std::vector<std::string>() : split_names(text);
}

bool is_mail_type(const std::string &name)
{
    return name == "ALL" || name == "NONE" ||
        std::ranges::find(MAIL_TYPES, name, [](const MailType &type) {
            return std::string(type.name);
        }) != std::end(MAIL_TYPES);
}

}  // namespace

Result<std::vector<std::string>> parse_mail_types(const std::string &text)
{
    std::vector<std::string> events;
    const auto names = mail_types_in(text);
    for (const std::string &name : names) {
        if (!is_mail_type(name))
            return Error{"'" + name + "' is none of BEGIN, END, FAIL, REQUEUE, ALL, NONE, "
                         "ARRAY_TASKS"};
    }
    for (const MailType &type : MAIL_TYPES) {
        bool wanted = std::ranges::any_of(names, [&](const std::string &name) {
            return name == type.name || (type.in_all && name == "ALL");
        });
        if (wanted)
            events.push_back(type.event);
    }
    if (std::ranges::find(names, "NONE") != names.end())
        events.clear();
    return events;
}

std::vector<std::string> split_mail_types(std::string &text)
{
    std::vector<std::string> unknown;
    std::string known;
    for (const std::string &name : mail_types_in(text)) {
        if (is_mail_type(name))
            known += (known.empty() ? "" : ",") + name;
        else
            unknown.push_back(name);
    }
    text = known;
    return unknown;
}

Result<Dependencies> parse_dependencies(const std::string &text)
{
    Dependencies found;
    const std::pair<const char *, std::vector<std::string> &> kinds[] = {
        {"after:", found.after}, {"afterany:", found.after_any}, {"afterok:", found.after_ok},
        {"afternotok:", found.after_not_ok}};
    if (text.find('?') != text.npos)
        return Error{"'?' (any of the jobs) is not known: all must be fulfilled"};
    if (text.find('+') != text.npos)
        return Error{"'+' (minutes after the start) is not known: give --begin"};
    for (const std::string &part : split_names(text)) {
        auto kind = std::ranges::find_if(
            kinds, [&](const auto &each) { return part.starts_with(each.first); });
        found.singleton |= part == "singleton";
        if (part == "singleton")
            continue;
        if (kind == std::end(kinds))
            return Error{"'" + part + "' is none of after:JOB, afterany:JOB, afterok:JOB, "
                         "afternotok:JOB (several jobs as afterok:3:4), singleton"};
        auto jobs = parse_jobs(part.substr(strlen(kind->first)));
        if (!jobs)
            return Error{jobs.error()};
        for (const std::string &job : jobs.value())
            kind->second.push_back(job);
    }
    return found;
}

Result<std::vector<std::string>> parse_jobs(std::string_view text)
{
    std::vector<std::string> jobs;
    for (const std::string &name : split_names(std::string(text), ",:")) {
        auto tasks = each_task(name);
        if (tasks.empty() && is_job_name(name))
            return Error{"'" + name + "' are more than " + std::to_string(TASKS_MAX) + " jobs"};
        if (tasks.empty())
            return Error{"'" + name + "' is not a job: " + JOB_NAME_FORM};
        jobs.insert(jobs.end(), tasks.begin(), tasks.end());
    }
    return jobs;
}

Result<int> parse_gres(const std::string &text)
{
    Error wrong{"'" + text + "' is not gpu:NUMBER with a number from 0 to " +
                std::to_string(GPUS_OF_NODE_MAX) + "; elasticd counts no other devices, and GPUs "
                "have no types"};
    if (text == "gpu" || text == "none")
        return text == "gpu" ? 1 : 0;
    auto number = text.starts_with("gpu:") ? parse_number(text.substr(4), 0, GPUS_OF_NODE_MAX)
                                           : std::nullopt;
    return number ? Result<int>(static_cast<int>(*number)) : Result<int>(wrong);
}

}  // namespace elastic
