/* See state_log.h. */

#include "stepmgr/monitor/state_log.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace elastic {

namespace {

const char *colour_of(SlotState state)
{
    switch (state) {
        case SlotState::IDLE: return "\033[34m";
        case SlotState::RESERVED: return "\033[33m";
        case SlotState::RUNNING: return "\033[32m";
        case SlotState::PROPOSED: return "\033[35m";
        case SlotState::ACCEPTED: return "\033[31m";
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
        for (size_t slot = 1; slot <= numbered_; slot++)
            digits += slot < unit ? ' ' : static_cast<char>('0' + slot / unit % 10);
        text.insert(text.find('\n') + 1, digits + "\n");
    }
    return text + std::string(TIME_WIDTH + std::max<size_t>(numbered_, 5) + 6, '=');
}

size_t StateLog::slot_of(uint32_t uid)
{
    auto known = slots_.find(uid);
    if (known != slots_.end())
        return known->second;
    size_t slot = 0;
    while (slot < states_.size() && states_[slot] != SlotState::IDLE)
        slot++;
    if (slot == states_.size())
        states_.push_back(SlotState::IDLE);
    return slots_[uid] = slot;
}

void StateLog::update(const std::vector<std::pair<uint32_t, SlotState>> &processes)
{
    std::set<uint32_t> present;
    for (const auto &[uid, state] : processes)
        present.insert(uid);
    std::erase_if(slots_, [&](const auto &entry) {
        bool disconnected = !present.contains(entry.first);
        if (disconnected)
            states_[entry.second] = SlotState::IDLE;
        return disconnected;
    });
    for (const auto &[uid, state] : processes)
        states_[slot_of(uid)] = state;
}

std::string StateLog::line(int64_t time_us, const std::string &event) const
{
    char time[32];
    snprintf(time, sizeof time, "%*.3fms ", static_cast<int>(TIME_WIDTH) - 3,
             static_cast<double>(time_us) / 1000.0);
    std::string text = time;
    for (SlotState state : states_) {
        if (colours_)
            text += colour_of(state);
        text += static_cast<char>(state);
    }
    return text + (colours_ ? "\033[0m " : " ") + event;
}

}  // namespace elastic
