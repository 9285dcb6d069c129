/*
 * See task_manager.h: calls of processes, orders to proxies, events for the callers, and the
 * dialogue with a resource manager.
 *
 * The event "wish" requests slots from a resource manager, which grants or refuses them.  The event
 * "released" returns them.  The reply to "slots" contains all data for the resource manager, so
 * that it may miss events.
 */

#include "stepmgr/tasks/task_manager.h"

#include <algorithm>
#include <set>

#include "stepmgr/state/step_status.h"

namespace elastic {

namespace {

/* Events of a process that does not fetch them.  Each of its requests has at most three. */
constexpr size_t EVENTS_PENDING_MAX = 4 * PMI_TASKS_MAX;

constexpr size_t TASKS_SHOWN_MAX = 1000;

}  // namespace

TaskManager::TaskManager(StepState &state, const step_config &config, Hooks hooks)
    : state_(state), hooks_(std::move(hooks))
{
    if (state_.managed) {
        slots_.use_allocator([&state] { return ++state.requests; });
        slots_.set_most(PMI_TASKS_MAX); /* until the resource manager sends the number */
    }
    for (int i = 0; i < config.n_hosts; i++)
        launch_hosts_.push_back(config.hosts[i]);
}

/* Hosts are first those with a living process of the world, then others (relay_proxies.cpp).
 * Without a resource manager and with --adapt-range, slots, the world and a growth under way are
 * together at most MAX. */
void TaskManager::update_slot_capacity()
{
    std::vector<Slots::Host> hosts;
    std::set<std::string_view> known;
    for (const Process *member : state_.world.members()) {
        if (!member->ended && known.insert(member->host).second)
            hosts.push_back({member->host, number_of(member->proxy_id())});
    }
    add_relay_hosts(hosts);
    slots_.set_hosts(std::move(hosts));
    slots_.time(state_.now_ms);
    if (state_.managed)
        return;
    int world = state_.adaptation
                    ? std::max(state_.world.size(), state_.adaptation->change.new_size)
                    : state_.world.size();
    auto besides = [&](int size) {
        return static_cast<size_t>(std::max(state_.range_max - size, 0));
    };
    if (state_.range_max > 0)
        slots_.set_capacity(besides(world), besides(state_.range_min));
    else
        slots_.set_capacity(PMI_TASKS_MAX, PMI_TASKS_MAX);
}

/* "": there is capacity for this size and the held slots. */
std::string TaskManager::why_no_capacity(int new_size) const
{
    int held = static_cast<int>(slots_.held());
    if (state_.managed || state_.range_max == 0 || held == 0 || new_size <= state_.world.size() ||
        new_size + held <= state_.range_max)
        return "";
    return std::to_string(held) +
           " slots are held for processes that the program starts, so that --adapt-range " +
           std::to_string(state_.range_min) + ":" + std::to_string(state_.range_max) + " leaves " +
           std::to_string(state_.range_max - held) +
           " for the world now: try again when some are released";
}

std::string TaskManager::why_no_spawn(int count) const
{
    int64_t all = state_.adaptation
                      ? std::max(state_.world.size(), state_.adaptation->change.new_size)
                      : state_.world.size();
    all += static_cast<int64_t>(slots_.had());
    for (const auto &[name, processes] : state_.spawned)
        all += processes;
    if (state_.processes_max == 0 || all + count <= state_.processes_max)
        return "";
    return std::to_string(count) + " processes are too many: the job has " + std::to_string(all) +
           " of " + std::to_string(state_.processes_max) +
           ", and elasticd refuses more (limits.spawn_beyond_slots): submit it "
           "with --places " + std::to_string(count);
}

void TaskManager::on_task_call(const SetCaller &caller, const TaskCall &call)
{
    hooks_.track_ends();
    update_slot_capacity();
    std::string answer =
        std::visit([&](const auto &known) { return answer_task(caller, known); }, call);
    if (!answer.empty())
        hooks_.reply({{caller, answer}});
    carry_out_tasks();
}

std::string TaskManager::answer_task(const SetCaller &caller, const AllocateSlots &call)
{
    if (task_listeners_[caller.uid].events.size() >= EVENTS_PENDING_MAX)
        return SetAnswer::error(
            PMI_TASK_NO_PLACE,
            "this process has not yet received the earlier events of its requests");
    if (std::string why = Slots::why_malformed(call); !why.empty())
        return SetAnswer::wrong(why);
    std::string why = slots_.allocate(caller.uid, call);
    return why.empty() ? SetAnswer().bytes() : SetAnswer::error(PMI_TASK_NO_PLACE, why);
}

std::string TaskManager::answer_task(const SetCaller &caller, const StartTask &call)
{
    bool started = slots_.start(caller.uid, call);
    return started ? SetAnswer().bytes()
                   : SetAnswer::wrong("the request has no slot, or its program is started already");
}

std::string TaskManager::answer_task(const SetCaller &caller, const CancelSlot &call)
{
    slots_.cancel(caller.uid, call.number);
    return SetAnswer().bytes();
}

std::string TaskManager::answer_task(const SetCaller &caller, const ReleaseSlot &call)
{
    slots_.release(caller.uid, call.number);
    return SetAnswer().bytes();
}

std::string TaskManager::answer_task(const SetCaller &caller, const SignalTask &call)
{
    (void) slots_.signal(caller.uid, call);     /* else it has just ended */
    return SetAnswer().bytes();
}

/* Starts a separate group, as for an expansion, but of a world that does not adapt.  Its end
 * concerns only its processes. */
std::string TaskManager::answer_task(const SetCaller &caller, const StartWorld &call)
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
    auto hosts = slots_.start_world(caller.uid, call.members);
    if (!hosts)
        return SetAnswer::wrong(
            "each request must have a slot, be listed once, and not be started");
    std::vector<const char *> names;
    std::vector<const char *const *> programs;
    for (size_t i = 0; i < numbers.size(); i++) {
        names.push_back((*hosts)[i].c_str());
        programs.push_back(argvs[i].data());
    }
    const step_world world = {caller.uid,      static_cast<int>(numbers.size()),
                              numbers.data(),  names.data(), programs.data(), call.parent.c_str()};
    char error[512] = "";
    int group = -1;
    if (state_.effects.launch_world(state_.effects.context, &world, &group, error, sizeof error) <
        0)
        slots_.world_failed(caller.uid, numbers, error);
    else
        state_.separate_groups.insert(group),
            task_worlds_[group] = {caller.uid, std::move(numbers)};
    return SetAnswer().bytes();
}

void TaskManager::task_world_started(int group, std::span<const step_process> processes)
{
    TaskWorld &world = task_worlds_.at(group);
    for (size_t rank = 0; rank < std::min(processes.size(), world.numbers.size()); rank++)
        slots_.runs_on(world.uid, world.numbers[rank], number_of({group, processes[rank].proxy}));
    world.numbers.clear();
}

/* Replies when there are events. */
std::string TaskManager::answer_task(const SetCaller &caller, const AwaitTaskEvents &)
{
    task_listeners_[caller.uid].caller = caller;
    return "";
}

bool TaskManager::on_task(const ProxyId &proxy_id, const TaskReport &report)
{
    slots_.time(state_.now_ms);
    bool known = slots_.report(number_of(proxy_id), report);
    carry_out_tasks();
    return known;
}

void TaskManager::tasks_without(uint32_t uid)
{
    slots_.time(state_.now_ms);
    if (slots_.any())
        slots_.owner_ended(uid);
    task_listeners_.erase(uid);
    carry_out_tasks();
}

void TaskManager::tasks_without(const ProxyId &proxy_id)
{
    slots_.time(state_.now_ms);
    if (slots_.any())
        slots_.proxy_failed(number_of(proxy_id));
    relay_proxy_failed(proxy_id);
    carry_out_tasks();
}

/* The world may have shrunk, and time has passed. */
void TaskManager::consider_slots()
{
    if (slots_.any() || slots_.next_ms() >= 0 || !relay_proxies_.empty()) {
        update_slot_capacity();
        carry_out_tasks();
    }
}

void TaskManager::carry_out_tasks()
{
    update_relay_proxies();
    for (const Slots::Order &order : slots_.take_orders())
        send_order(order);
    for (const Slots::Notice &notice : slots_.take_notices())
        log_slots(notice);
    for (Slots::Event &event : slots_.take_events()) {
        if (state_.callers.contains(event.uid))
            task_listeners_[event.uid].events.push_back(std::move(event));
    }
    std::vector<SetReply> replies;
    for (auto &[uid, listener] : task_listeners_) {
        if (listener.caller && !listener.events.empty())
            replies.push_back({*std::exchange(listener.caller, std::nullopt),
                               write_task_events(listener.events)});
    }
    hooks_.reply(replies);
}

/* ---- the resource manager -------------------------------------------------------------------- */

namespace {

Json write_hosts(const Slots::HostCounts &hosts)
{
    Json list = Json::array();
    for (const auto &[name, slots] : hosts)
        list.push_back({{"name", name}, {"places", slots}});
    return list;
}

Json write_size_request(const Slots::SlotRequest &slot_request)
{
    Json fields = {{REQUEST_NUMBER, slot_request.number},
                   {"kind", "slots"},
                   {"count", slot_request.count},
                   {"hard", slot_request.hard},
                   {"hosts", Json::array()}};
    if (slot_request.host != "*")
        fields["hosts"].push_back(slot_request.host);
    if (slot_request.alone)
        fields["exclusive"] = true;
    if (!slot_request.words.empty())
        fields["hints"] = slot_request.words.substr(0, SLOT_HINTS_MAX);
    return fields;
}

/* "a:2" becomes "a" twice.  Nothing: more than `most` slots. */
std::optional<std::vector<std::string>> each_slot(const std::vector<std::string> &hosts,
                                                  size_t most)
{
    std::vector<std::string> slots;
    for (const std::string &host : hosts) {
        size_t colon = host.find(':');
        auto count = parse_number(colon == std::string::npos ? "1" : host.substr(colon + 1), 1,
                                  SIZE_MAX_PROCESSES);
        if (!count || static_cast<size_t>(*count) > most - slots.size())
            return std::nullopt;
        slots.insert(slots.end(), static_cast<size_t>(*count), host.substr(0, colon));
    }
    return slots;
}

}  // namespace

void TaskManager::log_slots(const Slots::Notice &notice)
{
    if (!notice.slot_request)
        return state_.journal.add(state_.now_ms, "released",
                                  {{"hosts", write_hosts(notice.released)}});
    if (!notice.end)
        return state_.journal.add(state_.now_ms, SIZE_REQUESTED,
                                  write_size_request(*notice.slot_request));
    Json fields = {{REQUEST_NUMBER, notice.slot_request->number},
                   {"kind", "slots"},
                   {"result", to_string(*notice.end)}};
    if (*notice.end != SizeRequestEnd::GRANTED)
        fields["reason"] = notice.reason;
    state_.journal.add(state_.now_ms, SIZE_REQUEST_ENDED, fields);
}

std::string TaskManager::answer_grant(const Json &id, const GrantRequest &grant)
{
    if (!state_.managed)
        return write_error(
            {id, ErrorCode::MANAGED, "mpiexec itself assigns the slots of this step"});
    update_slot_capacity();
    bool is_new = grant.grant == slots_.granted() + 1;
    auto hosts = is_new ? each_slot(grant.hosts,
                                    PMI_TASKS_MAX - std::min<size_t>(slots_.had(), PMI_TASKS_MAX))
                        : std::vector<std::string>();
    if (!hosts)
        return write_error({id, ErrorCode::CHANGE,
                            "a job has at most " + std::to_string(PMI_TASKS_MAX) +
                                " slots, and this one " + std::to_string(slots_.had()) +
                                " already: grant fewer"});
    slots_.add_hosts(*hosts);
    if (!slots_.grant(grant.grant, grant.request_number, *hosts))
        return write_error({id, ErrorCode::STALE,
                            "the last grant was " + std::to_string(slots_.granted()) +
                                ": query the slots, and repeat the missing grants"});
    if (is_new)
        state_.journal.add(state_.now_ms, "granted",
                           {{REQUEST_NUMBER, grant.request_number}, {"grant", grant.grant},
                            {"hosts", grant.hosts}});
    carry_out_tasks();
    return write_answer(id, {{"granted", slots_.granted()}});
}

std::string TaskManager::answer_slots(const Json &id, const SlotsRequest &slots)
{
    if (slots.most && state_.managed)
        slots_.set_most(*slots.most);
    Json hosts = write_hosts(slots_.given()), slot_requests = Json::array();
    for (Json &host : hosts) {
        if (slots_.has_alone(host["name"]))
            host["exclusive"] = true;
    }
    for (const auto &[number, slot_request] : slots_.slot_requests())
        slot_requests.push_back(write_size_request(slot_request));
    return write_answer(id, {{"step", state_.step_id},
                             {"told", state_.journal.next()},
                             {"granted", slots_.granted()},
                             {"hosts", hosts},
                             {"wishes", slot_requests},
                             {"spawned", describe_spawned(state_)}});
}

std::string TaskManager::answer_tasks(const Json &id) const
{
    const std::vector<Slots::Task> tasks = slots_.tasks();
    Json list = Json::array();
    for (const Slots::Task &task : tasks) {
        if (list.size() == TASKS_SHOWN_MAX)
            break;
        list.push_back({{"host", task.host}, {"program", task.program}, {"uid", task.uid},
                        {"number", task.number}, {"state", task.runs ? "running" : "starting"}});
    }
    return write_answer(id, {{"step", state_.step_id}, {"total", tasks.size()}, {"tasks", list}});
}

bool TaskManager::refuse(const RefuseRequest &refuse)
{
    slots_.time(state_.now_ms);
    if (!slots_.refuse(refuse.request_number, refuse.reason))
        return false;
    carry_out_tasks();
    return true;
}

int64_t TaskManager::next_ms() const
{
    int64_t slots = slots_.next_ms(), relays = relay_proxies_next_ms();
    return slots < 0 ? relays : relays < 0 ? slots : std::min(slots, relays);
}

/* ---- events for listeners -------------------------------------------------------------------- */

/* Takes as many events as fit into a reply. */
std::string TaskManager::write_task_events(std::deque<Slots::Event> &events)
{
    size_t n = std::min<size_t>(events.size(), PMI_TASK_EVENTS_MAX);
    SetAnswer answer;
    answer.number(n);
    for (; n > 0; n--, events.pop_front()) {
        const Slots::Event &event = events.front();
        answer.number(event.number).number(event.stage).number(event.code).text(event.text).text(
            event.info.substr(0, PMI_SET_VALUE_MAX));
    }
    return answer.bytes();
}

}  // namespace elastic
