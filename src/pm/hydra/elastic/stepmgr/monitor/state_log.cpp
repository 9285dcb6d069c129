/* See state_log.h. */

#include "stepmgr/monitor/state_log.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace elastic {

namespace {

const char *colour_of(PlaceState state)
{
    switch (state) {
        case PlaceState::IDLE: return "\033[34m";
        case PlaceState::RESERVED: return "\033[33m";
        case PlaceState::RUNNING: return "\033[32m";
        case PlaceState::PROPOSED: return "\033[35m";
        case PlaceState::ACCEPTED: return "\033[31m";
    }
    return "";
}

}  // namespace

/* Numbers are written from top to bottom. */
std::string StateLog::header() const
{
    std::string text(TIME_WIDTH, ' ');
    text.replace(0, 4, "TIME");
    text += "STATE" + std::string(numbered_ > 5 ? numbered_ - 5 : 0, ' ') + " EVENT\n";
    for (size_t unit = 1; unit <= numbered_; unit *= 10) {
        std::string digits(TIME_WIDTH, ' ');
        for (size_t place = 1; place <= numbered_; place++)
            digits += place < unit ? ' ' : static_cast<char>('0' + place / unit % 10);
        text.insert(text.find('\n') + 1, digits + "\n");
    }
    return text + std::string(TIME_WIDTH + std::max<size_t>(numbered_, 5) + 6, '=');
}

size_t StateLog::place_of(uint32_t uid)
{
    auto known = places_.find(uid);
    if (known != places_.end())
        return known->second;
    size_t place = 0;
    while (place < states_.size() && states_[place] != PlaceState::IDLE)
        place++;
    if (place == states_.size())
        states_.push_back(PlaceState::IDLE);
    return places_[uid] = place;
}

void StateLog::update(const std::vector<std::pair<uint32_t, PlaceState>> &processes)
{
    std::set<uint32_t> present;
    for (const auto &[uid, state] : processes)
        present.insert(uid);
    std::erase_if(places_, [&](const auto &entry) {
        bool departed = !present.contains(entry.first);
        if (departed)
            states_[entry.second] = PlaceState::IDLE;
        return departed;
    });
    for (const auto &[uid, state] : processes)
        states_[place_of(uid)] = state;
}

std::string StateLog::line(int64_t time_us, const std::string &event) const
{
    char time[32];
    snprintf(time, sizeof time, "%*.3fms ", static_cast<int>(TIME_WIDTH) - 3, static_cast<double>(time_us) / 1000.0);
    std::string text = time;
    for (PlaceState state : states_) {
        if (colours_)
            text += colour_of(state);
        text += static_cast<char>(state);
    }
    return text + (colours_ ? "\033[0m " : " ") + event;
}

}  // namespace elastic
