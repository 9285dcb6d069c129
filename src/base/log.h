/*
 * The daemon's log: one JSON object per line on standard error, for systemd's journal or a file.
 * Fields: time (UTC, ISO 8601), level, message, and fields of the caller (job, node, uid ...).
 * The level is a global that is set once at start.  A line is written with one call, so that
 * processes which share standard error do not mix their lines.
 */

#ifndef ELASTIC_RM_LOG_H_INCLUDED
#define ELASTIC_RM_LOG_H_INCLUDED

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace elastic::rm {

enum class LogLevel { DEBUG, INFO, WARNING, ERROR };

std::optional<LogLevel> parse_log_level(std::string_view name);
void set_log_level(LogLevel level);
void log_line(LogLevel level, std::string_view message, const nlohmann::ordered_json &fields = {});

/* Returns the line without the newline: for tests. */
std::string format_log_line(LogLevel level, std::string_view message,
                            const nlohmann::ordered_json &fields, int64_t unix_us);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_LOG_H_INCLUDED */
