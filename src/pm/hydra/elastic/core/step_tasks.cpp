/*
 * See step.h: places for processes that programs start one by one (places.h), and those processes.  Calls come from the
 * daemons of those who ask; orders go to the daemons of the places.  DA1-DA3, DA9, DA10, DA12.
 */

#include "step.h"

#include <algorithm>

namespace elastic {

namespace {

uint64_t number_of(const Agent &agent)
{
    return static_cast<uint64_t>(agent.group) << 32 | static_cast<uint32_t>(agent.proxy);
}

Agent agent_of(uint64_t number)
{
    return {static_cast<int>(number >> 32), static_cast<int>(number & UINT32_MAX)};
}

std::string wrong(const std::string &text)
{
    return SetAnswer::error(PMI_SET_WRONG, text);
}

}  // namespace

/* Hosts are those on which a process of the world lives; beside the world there is room up to --adapt-range. */
void Step::size_up_places()
{
    std::vector<Places::Host> hosts;
    for (const Process *member : world_.members()) {
        bool known = std::ranges::any_of(hosts, [&](const Places::Host &host) { return host.name == member->host; });
        if (!member->ended && !known)
            hosts.push_back({member->host, number_of(member->agent())});
    }
    places_.set_hosts(std::move(hosts));
    auto besides = [&](int world) { return static_cast<size_t>(std::max(range_max_ - world, 0)); };
    if (range_max_ > 0)
        places_.set_room(besides(world_.size()), besides(range_min_));
    else
        places_.set_room(PMI_TASKS_MAX, PMI_TASKS_MAX);
}

void Step::on_task_call(const SetCaller &caller, const TaskCall &call)
{
    use_sets();                 /* its end has to be known */
    size_up_places();
    std::string answer = std::visit([&](const auto &known) { return answer_task(caller, known); }, call);
    if (!answer.empty())
        tell_sets({{caller, answer}});
    carry_out_tasks();
}

std::string Step::answer_task(const SetCaller &caller, const AllocatePlaces &call)
{
    std::string why = managed_ ? "the resource manager of this job does not give places to programs"
                               : places_.allocate(caller.uid, call);
    return why.empty() ? SetAnswer().bytes() : SetAnswer::error(PMI_TASK_NO_PLACE, why);
}

std::string Step::answer_task(const SetCaller &caller, const StartTask &call)
{
    return places_.start(caller.uid, call) ? SetAnswer().bytes() : wrong("the request has no place, or is started");
}

std::string Step::answer_task(const SetCaller &caller, const CancelPlace &call)
{
    places_.cancel(caller.uid, call.number);
    return SetAnswer().bytes();
}

std::string Step::answer_task(const SetCaller &caller, const ReleasePlace &call)
{
    places_.release(caller.uid, call.number);
    return SetAnswer().bytes();
}

std::string Step::answer_task(const SetCaller &caller, const SignalTask &call)
{
    (void) places_.signal(caller.uid, call);    /* else it has just ended */
    return SetAnswer().bytes();
}

/* Answered when there are events. */
std::string Step::answer_task(const SetCaller &caller, const AwaitTaskEvents &)
{
    task_listeners_[caller.uid].caller = caller;
    return "";
}

bool Step::on_task(const Agent &agent, const TaskReport &report)
{
    bool known = places_.report(number_of(agent), report);
    carry_out_tasks();
    return known;
}

void Step::tasks_without(uint32_t uid)
{
    if (places_.any())
        places_.owner_ended(uid);
    task_listeners_.erase(uid);
    carry_out_tasks();
}

void Step::tasks_without(const Agent &agent)
{
    if (places_.any())
        places_.agent_lost(number_of(agent));
    carry_out_tasks();
}

/* The world may have become smaller. */
void Step::consider_places()
{
    if (places_.any()) {
        size_up_places();
        carry_out_tasks();
    }
}

void Step::carry_out_tasks()
{
    for (const Places::Order &order : places_.take_orders())
        post({agent_of(order.agent)}, STEP_TASK, 0, write_task_head(order.head) + order.bytes);
    for (Places::Event &event : places_.take_events()) {
        if (set_callers_.contains(event.uid))
            task_listeners_[event.uid].events.push_back(std::move(event));
    }
    std::vector<Sets::Reply> replies;
    for (auto &[uid, listener] : task_listeners_) {
        if (listener.caller && !listener.events.empty())
            replies.push_back({*std::exchange(listener.caller, std::nullopt), write_task_events(listener.events)});
    }
    tell_sets(replies);
}

/* Takes as many as an answer has. */
std::string Step::write_task_events(std::deque<Places::Event> &events)
{
    size_t n = std::min<size_t>(events.size(), PMI_TASK_EVENTS_MAX);
    SetAnswer answer;
    answer.number(n);
    for (; n > 0; n--, events.pop_front()) {
        const Places::Event &event = events.front();
        answer.number(event.number).number(event.stage).number(event.code).text(event.text).text(
            event.info.substr(0, PMI_SET_VALUE_MAX));
    }
    return answer.bytes();
}

}  // namespace elastic
