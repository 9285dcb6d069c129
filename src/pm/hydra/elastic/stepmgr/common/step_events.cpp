/* See step_events.h. */

#include "stepmgr/common/step_events.h"

#include <algorithm>
#include <ctime>

namespace elastic {

std::string write_line(const Json &json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string format_wall(int64_t unix_us)
{
    time_t seconds = static_cast<time_t>(unix_us / 1000000);
    struct tm parts = {};
    gmtime_r(&seconds, &parts);
    char date[32], text[48];
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, sizeof text, "%s.%06dZ", date, static_cast<int>(unix_us % 1000000));
    return text;
}

Journal::Journal(std::string step_id, const step_config &config, const step_effects &effects)
    : step_id_(std::move(step_id)), effects_(effects), unix_ms_at_zero_(config.unix_ms_at_zero)
{
}

int64_t Journal::precise_us(int64_t now_ms) const
{
    return effects_.clock_us ? effects_.clock_us(effects_.context) : now_ms * 1000;
}

void Journal::add(int64_t now_ms, const char *event, const Json &fields)
{
    int64_t us = precise_us(now_ms);
    Json line = {{"event", event},
                 {"seq", next_},
                 {"time_ms", static_cast<double>(us) / 1000.0},
                 {"wall", format_wall(unix_ms_at_zero_ * 1000 + us)},
                 {"step", step_id_}};
    line.update(fields);
    next_++;
    history_.push_back(write_line(line));
    if (history_.size() > HISTORY_MAX)
        history_.pop_front();
    if (effects_.log)
        effects_.log(effects_.context, history_.back().c_str());
    for (int client : followers_)
        effects_.reply(effects_.context, client, history_.back().c_str());
    if (observer_)
        observer_(us, event, fields);
}

void Journal::send(int client, uint64_t since, bool follow)
{
    size_t first = since > oldest() ? static_cast<size_t>(since - oldest()) : 0;
    for (size_t i = first; i < history_.size(); i++)
        effects_.reply(effects_.context, client, history_[i].c_str());
    if (follow)
        followers_.insert(client);
}

}  // namespace elastic
