/* See state_output.h. */

#include "stepmgr/monitor/state_output.h"

#include <algorithm>
#include <utility>

namespace elastic {

namespace {

/* "told request=3 name=mpix://rc/3" */
std::string describe_event(const char *event, const Json &fields)
{
    std::string text = event;
    for (const auto &[key, value] : fields.items())
        text +=
            " " + key + "=" + (value.is_string() ? value.get<std::string>() : write_line(value));
    std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    return text;
}

}  // namespace

/* The number of slots is the max of the range; without a range, the size of the launch. */
StateOutput::StateOutput(StepState &state, const step_config &config) : state_(state)
{
    if (!config.states || !state_.effects.state_line)
        return;
    auto slots = static_cast<size_t>(std::max({config.range_max, config.size, 1}));
    log_.emplace(slots, config.states > 1);
    state_.effects.state_line(state_.effects.context, log_->header().c_str());
    state_.journal.observe([this](int64_t time_us, const char *event, const Json &fields) {
        write_states(time_us, event, fields);
    });
}

/* The state of a member that has not ended.  `accepted`: the change under way is accepted. */
SlotState StateOutput::state_of(const Process &process, bool accepted) const
{
    if (!state_.adaptation)
        return SlotState::RUNNING;
    switch (state_.adaptation->state) {
        case AdaptState::FREEZING:
            return state_.is_leaving(process) ? SlotState::PROPOSED : SlotState::RUNNING;
        case AdaptState::AGREED:
        case AdaptState::ENDING:
            return state_.is_leaving(process) ? SlotState::ACCEPTED : SlotState::RUNNING;
        default:
            break;
    }
    if (state_.adaptation->change.joining > 0 || !state_.adaptation->awaited.contains(process.uid))
        return SlotState::RUNNING;
    return accepted ? SlotState::ACCEPTED : SlotState::PROPOSED;
}

void StateOutput::write_states(int64_t time_us, const char *event, const Json &fields)
{
    std::vector<std::pair<uint32_t, SlotState>> states;
    bool accepted =
        std::string_view(event) == "accepted" ||
        (state_.adaptation && state_.adaptation->state == AdaptState::APPLYING);
    for (const Process *member : state_.world.members()) {
        if (!member->ended)
            states.emplace_back(member->uid, state_of(*member, accepted));
    }
    bool joining =
        state_.adaptation && state_.adaptation->first_uid > 0 && !is_end(state_.adaptation->state);
    for (int i = 0; joining && i < state_.adaptation->change.joining; i++)
        states.emplace_back(state_.adaptation->first_uid + static_cast<uint32_t>(i),
                            SlotState::RESERVED);
    log_->update(states);
    state_.effects.state_line(state_.effects.context,
                              log_->line(time_us, describe_event(event, fields)).c_str());
}

}  // namespace elastic
