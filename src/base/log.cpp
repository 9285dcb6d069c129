/* See log.h. */

#include "base/log.h"

#include <sys/time.h>
#include <unistd.h>

#include <ctime>

namespace elastic::rm {

namespace {

LogLevel lowest = LogLevel::INFO;
constexpr const char *NAMES[] = {"debug", "info", "warning", "error"};
constexpr size_t LINE_BYTES_MAX = 16384;

std::string iso_time(int64_t unix_us)
{
    time_t seconds = unix_us / 1000000;
    tm parts = {};
    gmtime_r(&seconds, &parts);
    char date[32], text[48];
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, sizeof text, "%s.%06dZ", date, static_cast<int>(unix_us % 1000000));
    return text;
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name)
{
    for (size_t i = 0; i < std::size(NAMES); i++)
        if (name == NAMES[i])
            return static_cast<LogLevel>(i);
    return std::nullopt;
}

void set_log_level(LogLevel level)
{
    lowest = level;
}

std::string format_log_line(LogLevel level, std::string_view message,
                            const nlohmann::ordered_json &fields, int64_t unix_us)
{
    nlohmann::ordered_json line = {{"time", iso_time(unix_us)},
                                   {"level", NAMES[static_cast<size_t>(level)]},
                                   {"message", message}};
    for (const auto &[name, value] : fields.items())
        line[name] = value;
    /* Texts of users need not be UTF-8. */
    std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    return text.size() <= LINE_BYTES_MAX
               ? text
               : format_log_line(level, std::string(message.substr(0, 1000)) + " (fields too long)",
                                 nlohmann::ordered_json::object(), unix_us);
}

void log_line(LogLevel level, std::string_view message, const nlohmann::ordered_json &fields)
{
    if (level < lowest)
        return;
    timeval now = {};
    gettimeofday(&now, nullptr);
    std::string line = format_log_line(level, message, fields,
                                       int64_t{now.tv_sec} * 1000000 + now.tv_usec) + "\n";
    /* A failed write to the log is ignored. */
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace elastic::rm
