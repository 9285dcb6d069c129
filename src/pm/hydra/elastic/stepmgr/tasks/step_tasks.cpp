/*
 * See step.h: places for processes that programs start one by one (slots.h), and those processes.  Calls come from the
 * daemons of those who ask; orders go to the daemons of the places.  DA1-DA3, DA9, DA10, DA12.
 *
 * A resource manager is asked for places by the events "wish", grants or refuses them, and gets them back by the event
 * "released".  All that it has to know of them is also the answer to "slots", so that it need not have seen each event.
 */

#include "stepmgr/step.h"

#include <algorithm>
#include <set>

namespace elastic {

namespace {

/* Of a process that does not ask for them.  Each of its requests has three at the most. */
constexpr size_t EVENTS_UNTOLD_MAX = 4 * PMI_TASKS_MAX;

constexpr size_t TASKS_SHOWN_MAX = 1000;

std::string wrong(const std::string &text)
{
    return SetAnswer::error(PMI_SET_WRONG, text);
}

}  // namespace

/* Hosts are those on which a process of the world lives, and then others (step_relays.cpp).  Without a manager, and
 * with --adapt-range, places and the world together are at most MAX, a growth under way included. */
void Step::size_up_places()
{
    std::vector<Places::Host> hosts;
    std::set<std::string_view> known;
    for (const Process *member : world_.members()) {
        if (!member->ended && known.insert(member->host).second)
            hosts.push_back({member->host, number_of(member->agent())});
    }
    add_outposts(hosts);
    places_.set_hosts(std::move(hosts));
    places_.time(now_ms_);
    if (managed_)
        return;
    int world = adaptation_ ? std::max(world_.size(), adaptation_->change.new_size) : world_.size();
    auto besides = [&](int size) { return static_cast<size_t>(std::max(range_max_ - size, 0)); };
    if (range_max_ > 0)
        places_.set_room(besides(world), besides(range_min_));
    else
        places_.set_room(PMI_TASKS_MAX, PMI_TASKS_MAX);
}

/* "": it has capacity beside the places that are held. */
std::string Step::why_no_room(int new_size) const
{
    int held = static_cast<int>(places_.held());
    if (managed_ || range_max_ == 0 || held == 0 || new_size <= world_.size() || new_size + held <= range_max_)
        return "";
    return std::to_string(held) + " places are held for processes that the program starts, so that --adapt-range " +
           std::to_string(range_min_) + ":" + std::to_string(range_max_) + " leaves " +
           std::to_string(range_max_ - held) + " for the world now: try again when some are released";
}

/* "": --adapt-range allows a request for this size, and it has capacity.  Else why not, and what to do. */
std::string Step::why_refused(int new_size) const
{
    const auto &range = offers_.requests_range();
    if (range && !range->holds(new_size))
        return "mpiexec was started with --adapt-range " + std::to_string(range->min) + ":" +
               std::to_string(range->max) + ": request a size in that range";
    return why_no_room(new_size);
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
    if (task_listeners_[caller.uid].events.size() >= EVENTS_UNTOLD_MAX)
        return SetAnswer::error(PMI_TASK_NO_PLACE,
                                "this process has not yet taken what was told of its requests before");
    if (std::string why = Places::why_malformed(call); !why.empty())
        return wrong(why);
    std::string why = places_.allocate(caller.uid, call);
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

/* Like an expansion a group of its own, but of no world that adapts: its end is that of these processes alone. */
std::string Step::answer_task(const SetCaller &caller, const StartWorld &call)
{
    std::vector<uint32_t> numbers;
    std::vector<std::vector<const char *>> argvs;
    for (const StartWorld::Member &member : call.members) {
        numbers.push_back(member.number);
        std::vector<const char *> &argv = argvs.emplace_back();
        for (const std::string &text : member.argv)
            argv.push_back(text.c_str());
        argv.push_back(nullptr);
    }
    auto hosts = places_.start_world(caller.uid, call.members);
    if (!hosts)
        return wrong("not each of the requests has a place, is given once, and is not started");
    std::vector<const char *> names;
    std::vector<const char *const *> programs;
    for (size_t i = 0; i < numbers.size(); i++) {
        names.push_back((*hosts)[i].c_str());
        programs.push_back(argvs[i].data());
    }
    const step_world world = {caller.uid, static_cast<int>(numbers.size()), numbers.data(), names.data(),
                              programs.data(), call.parent.c_str()};
    char error[512] = "";
    int group = -1;
    if (effects_.launch_world(effects_.context, &world, &group, error, sizeof error) < 0)
        places_.world_failed(caller.uid, numbers, error);
    else
        task_worlds_[group] = {caller.uid, std::move(numbers)};
    return SetAnswer().bytes();
}

void Step::task_world_placed(int group, std::span<const step_process> processes)
{
    TaskWorld &world = task_worlds_.at(group);
    for (size_t rank = 0; rank < std::min(processes.size(), world.numbers.size()); rank++)
        places_.runs_on(world.uid, world.numbers[rank], number_of({group, processes[rank].proxy}));
    world.numbers.clear();
}

/* Answered when there are events. */
std::string Step::answer_task(const SetCaller &caller, const AwaitTaskEvents &)
{
    task_listeners_[caller.uid].caller = caller;
    return "";
}

bool Step::on_task(const Agent &agent, const TaskReport &report)
{
    places_.time(now_ms_);
    bool known = places_.report(number_of(agent), report);
    carry_out_tasks();
    return known;
}

void Step::tasks_without(uint32_t uid)
{
    places_.time(now_ms_);
    if (places_.any())
        places_.owner_ended(uid);
    task_listeners_.erase(uid);
    carry_out_tasks();
}

void Step::tasks_without(const Agent &agent)
{
    places_.time(now_ms_);
    if (places_.any())
        places_.agent_lost(number_of(agent));
    outpost_lost(agent);
    carry_out_tasks();
}

/* The world may have become smaller, and time has passed. */
void Step::consider_places()
{
    if (places_.any() || places_.next_ms() >= 0 || !outposts_.empty()) {
        size_up_places();
        carry_out_tasks();
    }
}

void Step::carry_out_tasks()
{
    tend_outposts();
    for (const Places::Order &order : places_.take_orders())
        send_order(order);
    for (const Places::Notice &notice : places_.take_notices())
        log_places(notice);
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

/* ---- the resource manager -------------------------------------------------------------------------------- */

namespace {

Json write_hosts(const Places::HostCounts &hosts)
{
    Json list = Json::array();
    for (const auto &[name, places] : hosts)
        list.push_back({{"name", name}, {"places", places}});
    return list;
}

Json write_wish(const Places::Wished &wish)
{
    Json fields = {{"wish", wish.number}, {"kind", "slots"}, {"count", wish.count}, {"hard", wish.hard},
                   {"hosts", Json::array()}};
    if (wish.host != "*")
        fields["hosts"].push_back(wish.host);
    if (wish.alone)
        fields["exclusive"] = true;
    if (!wish.words.empty())
        fields["hints"] = wish.words.substr(0, PLACE_HINTS_MAX);
    return fields;
}

/* "a:2" is twice "a".  Nothing: they are more than `most`. */
std::optional<std::vector<std::string>> each_place(const std::vector<std::string> &hosts, size_t most)
{
    std::vector<std::string> places;
    for (const std::string &host : hosts) {
        size_t colon = host.find(':');
        auto count = parse_number(colon == std::string::npos ? "1" : host.substr(colon + 1), 1, SIZE_MAX_PROCESSES);
        if (!count || static_cast<size_t>(*count) > most - places.size())
            return std::nullopt;
        places.insert(places.end(), static_cast<size_t>(*count), host.substr(0, colon));
    }
    return places;
}

}  // namespace

void Step::log_places(const Places::Notice &notice)
{
    if (!notice.wish)
        return journal_.add(now_ms_, "released", {{"hosts", write_hosts(notice.released)}});
    if (!notice.end)
        return journal_.add(now_ms_, "wish", write_wish(*notice.wish));
    Json fields = {{"wish", notice.wish->number}, {"kind", "slots"}, {"result", to_string(*notice.end)}};
    if (*notice.end != WishEnd::GRANTED)
        fields["reason"] = notice.reason;
    journal_.add(now_ms_, "wish_ended", fields);
}

std::string Step::answer_grant(const Json &id, const GrantRequest &grant)
{
    if (!managed_)
        return write_error({id, ErrorCode::MANAGED, "mpiexec itself gives places to this step's program"});
    size_up_places();
    bool is_new = grant.grant == places_.granted() + 1;
    auto hosts = is_new ? each_place(grant.hosts, PMI_TASKS_MAX - std::min<size_t>(places_.had(), PMI_TASKS_MAX))
                        : std::vector<std::string>();
    if (!hosts)
        return write_error({id, ErrorCode::CHANGE, "a job has at most " + std::to_string(PMI_TASKS_MAX) +
                                                       " places, and this one " + std::to_string(places_.had()) +
                                                       " already: grant fewer"});
    places_.add_hosts(*hosts);
    if (!places_.grant(grant.grant, grant.wish, *hosts))
        return write_error({id, ErrorCode::STALE, "the last grant was " + std::to_string(places_.granted()) +
                                                      ": ask for the slots, and say again what is missing"});
    if (is_new)
        journal_.add(now_ms_, "granted", {{"wish", grant.wish}, {"grant", grant.grant}, {"hosts", grant.hosts}});
    carry_out_tasks();
    return write_answer(id, {{"granted", places_.granted()}});
}

std::string Step::answer_slots(const Json &id, const SlotsRequest &slots)
{
    if (slots.most && managed_)
        places_.set_most(*slots.most);
    Json hosts = write_hosts(places_.given()), wishes = Json::array();
    for (Json &host : hosts) {
        if (places_.has_alone(host["name"]))
            host["exclusive"] = true;
    }
    for (const auto &[number, wish] : places_.wishes())
        wishes.push_back(write_wish(wish));
    return write_answer(id, {{"step", step_id_},
                             {"told", journal_.next()},
                             {"granted", places_.granted()},
                             {"hosts", hosts},
                             {"wishes", wishes}});
}

std::string Step::answer_tasks(const Json &id) const
{
    const std::vector<Places::Task> tasks = places_.tasks();
    Json list = Json::array();
    for (const Places::Task &task : tasks) {
        if (list.size() == TASKS_SHOWN_MAX)
            break;
        list.push_back({{"host", task.host}, {"program", task.program}, {"uid", task.uid},
                        {"number", task.number}, {"state", task.runs ? "running" : "starting"}});
    }
    return write_answer(id, {{"step", step_id_}, {"total", tasks.size()}, {"tasks", list}});
}

/* ---- what listeners are told ----------------------------------------------------------------------------- */

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
