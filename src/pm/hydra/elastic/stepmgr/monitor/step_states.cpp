/* See step.h: --sets-log.  Each event is a line with the states that it leads to.  SM2. */

#include "stepmgr/step.h"

#include <algorithm>
#include <utility>

namespace elastic {

namespace {

/* "told request=3 name=mpix://rc/3" */
std::string describe_event(const char *event, const Json &fields)
{
    std::string text = event;
    for (const auto &[key, value] : fields.items())
        text += " " + key + "=" + (value.is_string() ? value.get<std::string>() : write_line(value));
    std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    return text;
}

}  // namespace

/* The places of the range; without one, of the launch. */
void Step::open_state_log(const step_config &config)
{
    auto places = static_cast<size_t>(std::max({config.range_max, config.size, 1}));
    state_log_.emplace(places, config.states > 1);
    effects_.state_line(effects_.context, state_log_->header().c_str());
    journal_.observe([this](int64_t time_us, const char *event, const Json &fields) {
        write_states(time_us, event, fields);
    });
}

/* Of a member that has not ended; `accepted`: the change under way is. */
PlaceState Step::state_of(const Process &process, bool accepted) const
{
    if (!adaptation_)
        return PlaceState::RUNNING;
    switch (adaptation_->state) {
        case AdaptState::FREEZING:
            return is_leaving(process) ? PlaceState::PROPOSED : PlaceState::RUNNING;
        case AdaptState::AGREED:
        case AdaptState::ENDING:
            return is_leaving(process) ? PlaceState::ACCEPTED : PlaceState::RUNNING;
        default:
            break;
    }
    if (adaptation_->change.joining > 0 || !adaptation_->awaited.contains(process.uid))
        return PlaceState::RUNNING;
    return accepted ? PlaceState::ACCEPTED : PlaceState::PROPOSED;
}

void Step::write_states(int64_t time_us, const char *event, const Json &fields)
{
    std::vector<std::pair<uint32_t, PlaceState>> states;
    bool accepted = std::string_view(event) == "accepted" || (adaptation_ && adaptation_->state == AdaptState::TAKEN);
    for (const Process *member : world_.members()) {
        if (!member->ended)
            states.emplace_back(member->uid, state_of(*member, accepted));
    }
    bool joining = adaptation_ && adaptation_->first_uid > 0 && !is_end(adaptation_->state);
    for (int i = 0; joining && i < adaptation_->change.joining; i++)
        states.emplace_back(adaptation_->first_uid + static_cast<uint32_t>(i), PlaceState::RESERVED);
    state_log_->update(states);
    effects_.state_line(effects_.context, state_log_->line(time_us, describe_event(event, fields)).c_str());
}

}  // namespace elastic
