/* See slots.h: processes on slots, and ends of requests. */

#include "stepmgr/tasks/slots.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/change.h"

namespace elastic {

namespace {

constexpr uint64_t NO_PROXY = UINT64_MAX;
constexpr size_t PROGRAM_SHOWN = 255;

std::string shown(const std::string &program)
{
    return printable(program, Charset::ASCII, PROGRAM_SHOWN);
}

/* The first of several texts that begin with their lengths (wire/task.h). */
std::string first_text(const std::string &texts)
{
    uint32_t length = 0;
    if (texts.size() < sizeof length)
        return "";
    std::memcpy(&length, texts.data(), sizeof length);
    return texts.substr(sizeof length, length);
}

}  // namespace

/* ---- what becomes of requests ---------------------------------------------------------------- */

/* The request gets no slot.  If it was to get one later, that is an error with the reason. */
void Slots::give_up(Table::iterator it, SizeRequestEnd end, const std::string &reason)
{
    bool broken = it->second.hard && end == SizeRequestEnd::REFUSED;
    events_.push_back(
        {it->first.first, it->first.second, PMI_TASK_CANCELLED, 0, broken ? reason : "", ""});
    drop(it, end, reason);
}

/* Removes a request; its slot request, if there is one, gets this end.  Returns the next
 * request. */
Slots::Table::iterator Slots::drop(Table::iterator it, SizeRequestEnd end,
                                   const std::string &reason)
{
    uint64_t slot_request = it->second.slot_request;
    Table::iterator next = over(it);
    one_less(slot_request, end, reason);
    return next;
}

/* A signal that already waits is sent once, as in the kernel; the last position counts (STOP, CONT,
 * STOP). */
void Slots::order(const Key &key, Request &request, task_order kind, const std::string &bytes)
{
    bool is_early = request.in_world && request.state == State::STARTED;
    auto &orders = is_early                  ? request.late
                   : request.host.has_proxy ? orders_
                                             : awaiting_[request.host.name];
    const Order order = {request.host.proxy_id,
                         {key.first, key.second, static_cast<uint32_t>(kind), 0}, bytes};
    if (kind == TASK_SIGNAL)
        std::erase(orders, order);
    orders.push_back(order);
}

/* Frees the slot and removes the request.  Returns the next one. */
Slots::Table::iterator Slots::over(Table::iterator it)
{
    if (it->second.state != State::WAITING) {
        auto load = loads_.find(it->second.host.name);
        assert(held_ > 0 && load != loads_.end());
        held_--;
        load->second.alone -= it->second.alone;
        if (--load->second.slots == 0)
            loads_.erase(load);
        if (next_slot_request_)
            idle_.push_back({it->second.host.name, now_ms_});
    }
    return requests_.erase(it);
}

bool Slots::start(uint32_t uid, const StartTask &call)
{
    auto it = requests_.find({uid, call.number});
    if (it == requests_.end() || it->second.state != State::HELD)
        return false;
    Request &request = it->second;
    const Host *here = find_host(request.host.name);
    if (!here) {
        events_.push_back(
            {uid, call.number, PMI_TASK_EXITED, 127, request.host.name + " cannot be reached", ""});
        over(it);
        give_waiting();
        return true;
    }
    request.host = *here;
    it->second.state = State::STARTED;
    request.program = shown(first_text(call.program));
    order(it->first, it->second, TASK_RUN, call.program);
    return true;
}

std::optional<std::vector<std::string>> Slots::start_world(
    uint32_t uid, const std::vector<StartWorld::Member> &members)
{
    std::vector<Request *> requests;
    std::vector<std::string> hosts;
    std::set<uint32_t> named;
    for (const StartWorld::Member &member : members) {
        auto it = requests_.find({uid, member.number});
        if (it == requests_.end() || it->second.state != State::HELD ||
            !named.insert(member.number).second)
            return std::nullopt;
        requests.push_back(&it->second);
        hosts.push_back(it->second.host.name);
    }
    for (size_t i = 0; i < members.size(); i++) {
        Request &request = *requests[i];
        request.state = State::STARTED;
        request.in_world = true;
        request.host = {request.host.name, NO_PROXY};
        request.program = members[i].argv.empty() ? "" : shown(members[i].argv[0]);
    }
    return hosts;
}

void Slots::world_failed(uint32_t uid, const std::vector<uint32_t> &numbers, const std::string &why)
{
    for (uint32_t number : numbers) {
        events_.push_back({uid, number, PMI_TASK_EXITED, 127, why, ""});
        over(requests_.find({uid, number}));
    }
    give_waiting();
}

void Slots::runs_on(uint32_t uid, uint32_t number, uint64_t proxy_id)
{
    if (auto it = requests_.find({uid, number}); it != requests_.end())
        it->second.host.proxy_id = proxy_id;
}

void Slots::cancel(uint32_t uid, uint32_t number)
{
    auto it = requests_.find({uid, number});
    if (it == requests_.end() || it->second.state != State::WAITING)
        return;
    give_up(it, SizeRequestEnd::WITHDRAWN, "the program has cancelled it");
}

void Slots::release(uint32_t uid, uint32_t number)
{
    auto it = requests_.find({uid, number});
    if (it == requests_.end())
        return;
    it->second.wanted = false;
    if (it->second.state == State::WAITING || it->second.state == State::HELD)
        drop(it, SizeRequestEnd::WITHDRAWN, "the program has freed it");
    give_waiting();
}

bool Slots::signal(uint32_t uid, const SignalTask &call)
{
    auto it = requests_.find({uid, call.number});
    if (it == requests_.end() ||
        (it->second.state != State::STARTED && it->second.state != State::RUNNING))
        return false;
    order(it->first, it->second, TASK_SIGNAL, call.name);
    return true;
}

void Slots::owner_ended(uint32_t uid)
{
    for (auto it = requests_.lower_bound({uid, 0});
         it != requests_.end() && it->first.first == uid;) {
        Request &request = it->second;
        request.wanted = false;
        if (request.state == State::WAITING || request.state == State::HELD) {
            it = drop(it, SizeRequestEnd::WITHDRAWN, "the process that requested it has ended");
        } else {
            order(it->first, request, TASK_END);
            ++it;
        }
    }
    give_waiting();
}

bool Slots::report(uint64_t proxy_id, const TaskReport &report)
{
    auto it = requests_.find({report.head.uid, report.head.number});
    if (it == requests_.end() || !it->second.host.has_proxy || it->second.host.proxy_id != proxy_id)
        return false;
    Request &request = it->second;
    bool ended = report.head.kind == PMI_TASK_EXITED;
    if (ended ? request.state != State::STARTED && request.state != State::RUNNING
              : request.state != State::STARTED)
        return false;
    request.state = State::RUNNING;
    for (Order &late : request.late)
        orders_.push_back({proxy_id, late.head, std::move(late.bytes)});
    request.late.clear();
    if (request.wanted)
        events_.push_back({report.head.uid, report.head.number,
                           static_cast<pmi_task_stage>(report.head.kind), report.head.code,
                           report.text, ""});
    if (ended)
        over(it);
    give_waiting();
    return true;
}

bool Slots::is_at(const Request &request, uint64_t proxy_id)
{
    bool runs = request.state == State::STARTED || request.state == State::RUNNING;
    return runs && request.host.has_proxy && request.host.proxy_id == proxy_id;
}

bool Slots::any_at(uint64_t proxy_id) const
{
    return std::ranges::any_of(requests_, [proxy_id](const auto &entry) {
        return is_at(entry.second, proxy_id);
    });
}

void Slots::proxy_came(const std::string &host, uint64_t proxy_id)
{
    for (auto &[key, request] : requests_) {
        if (request.state != State::WAITING && !request.host.has_proxy &&
            request.host.name == host)
            request.host = {host, proxy_id};
    }
    for (Order &order : awaiting_[host]) {
        order.proxy_id = proxy_id;
        orders_.push_back(std::move(order));
    }
    awaiting_.erase(host);
}

void Slots::proxy_failed(const std::string &host, const std::string &why)
{
    awaiting_.erase(host);
    for (auto it = requests_.begin(); it != requests_.end();) {
        const Request &request = it->second;
        if (request.state != State::STARTED || request.host.has_proxy ||
            request.host.name != host) {
            ++it;
            continue;
        }
        if (request.wanted)
            events_.push_back({it->first.first, it->first.second, PMI_TASK_EXITED, 127, why, ""});
        it = over(it);
    }
    give_waiting();
}

void Slots::proxy_failed(uint64_t proxy_id)
{
    std::erase_if(hosts_,
                  [&](const Host &host) { return host.has_proxy && host.proxy_id == proxy_id; });
    set_hosts(std::move(hosts_));
    for (auto it = requests_.begin(); it != requests_.end();) {
        Request &request = it->second;
        if (!is_at(request, proxy_id)) {
            ++it;
            continue;
        }
        if (request.wanted)
            events_.push_back({it->first.first, it->first.second, PMI_TASK_EXITED, 128 + 9,
                               request.state == State::RUNNING ? "" : "its host has failed", ""});
        it = over(it);
    }
    give_waiting();
}

}  // namespace elastic
