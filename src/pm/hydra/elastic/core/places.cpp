/* See places.h. */

#include "places.h"

#include <algorithm>
#include <cassert>

namespace elastic {

namespace {

const char *const ANYWHERE = "*";

/* "key=value" words with ';' between: what is kept, and the keys that mean nothing here. */
std::string info_of(const std::string &words)
{
    std::string kept, ignored;
    for (size_t at = 0; at <= words.size();) {
        size_t end = std::min(words.find(';', at), words.size());
        std::string word = words.substr(at, end - at), key = word.substr(0, word.find('='));
        if (key == "reason" || key == "tag")
            kept += ";" + word;
        else if (!key.empty())
            ignored += (ignored.empty() ? "" : ",") + key;
        at = end + 1;
    }
    return kept + (ignored.empty() ? "" : ";ignored=" + ignored);
}

}  // namespace

void Places::set_room(size_t now, size_t ever)
{
    now_ = now;
    ever_ = ever;
    grant_waiting();
}

/* What matters first: what MPI says of an error is cut at 511 characters. */
std::string Places::why_never(uint32_t uid, const AllocatePlaces &call) const
{
    if (call.hard && call.n > ever_)
        return "--adapt-range leaves " + std::to_string(ever_) + ", " + std::to_string(call.n) + " are asked for";
    if (requests_.size() + call.n > PMI_TASKS_MAX)
        return "the job has " + std::to_string(requests_.size()) + " already, and can have " +
               std::to_string(PMI_TASKS_MAX);
    for (const std::string &host : call.hosts) {
        if (!choose(host))
            return host + " runs no process of the job, so it has no node daemon";
    }
    if (!choose(ANYWHERE))
        return "the job has no host any more";
    for (uint32_t i = 0; i < call.n; i++) {
        if (requests_.contains({uid, call.first + i}))
            return "the number of a process request is used already";
    }
    return "";
}

std::string Places::allocate(uint32_t uid, const AllocatePlaces &call)
{
    if (std::string why = why_never(uid, call); !why.empty())
        return why;
    for (uint32_t i = 0; i < call.n; i++) {
        Request request;
        request.wish = call.hosts.empty() ? ANYWHERE : call.hosts[i];
        request.info = info_of(call.words + ";" + (call.own_words.empty() ? "" : call.own_words[i]));
        request.since = ++arrivals_;
        requests_.emplace(Key{uid, call.first + i}, std::move(request));
    }
    grant_waiting();
    for (uint32_t i = 0; !call.hard && i < call.n; i++)
        cancel(uid, call.first + i);
    return "";
}

/* With the fewest places in use, the first of several; nullptr: there is no such host. */
const Places::Host *Places::choose(const std::string &wish) const
{
    const Host *best = nullptr;
    for (const Host &host : hosts_) {
        if ((wish == ANYWHERE || wish == host.name) && (!best || load(host) < load(*best)))
            best = &host;
    }
    return best;
}

size_t Places::load(const Host &host) const
{
    return static_cast<size_t>(std::ranges::count_if(requests_, [&](const auto &entry) {
        return entry.second.state != State::WAITING && entry.second.host.name == host.name;
    }));
}

bool Places::grant(const Key &key, Request &request)
{
    const Host *host = choose(request.wish);
    if (!host)
        return false;
    request.state = State::HELD;
    request.host = *host;
    held_++;
    events_.push_back({key.first, key.second, PMI_TASK_ALLOCATED, 0, host->name,
                       "place=" + std::to_string(++place_number_) + request.info});
    return true;
}

/* First come, first served, but for hosts that are not there. */
void Places::grant_waiting()
{
    if (held_ >= now_ || held_ == requests_.size())
        return;
    std::vector<Table::iterator> waiting;
    for (auto it = requests_.begin(); it != requests_.end(); ++it) {
        if (it->second.state == State::WAITING)
            waiting.push_back(it);
    }
    std::ranges::sort(waiting, {}, [](const Table::iterator &it) { return it->second.since; });
    for (Table::iterator it : waiting) {
        if (held_ >= now_)
            return;
        grant(it->first, it->second);
    }
}

void Places::order(const Key &key, const Request &request, task_order kind, const std::string &bytes)
{
    orders_.push_back({request.host.agent, {key.first, key.second, static_cast<uint32_t>(kind), 0}, bytes});
}

/* The place is free; the next one. */
Places::Table::iterator Places::over(Table::iterator it)
{
    if (it->second.state != State::WAITING) {
        assert(held_ > 0);
        held_--;
    }
    return requests_.erase(it);
}

bool Places::start(uint32_t uid, const StartTask &call)
{
    auto it = requests_.find({uid, call.number});
    if (it == requests_.end() || it->second.state != State::HELD)
        return false;
    Request &request = it->second;
    auto here = std::ranges::find(hosts_, request.host.name, &Host::name);
    if (here == hosts_.end()) {
        events_.push_back({uid, call.number, PMI_TASK_EXITED, 127, "no process of the job runs on " +
                           request.host.name + " any more, so there is no node daemon", ""});
        over(it);
        grant_waiting();
        return true;
    }
    request.host.agent = here->agent;
    it->second.state = State::STARTED;
    order(it->first, it->second, TASK_RUN, call.program);
    return true;
}

void Places::cancel(uint32_t uid, uint32_t number)
{
    auto it = requests_.find({uid, number});
    if (it == requests_.end() || it->second.state != State::WAITING)
        return;
    events_.push_back({uid, number, PMI_TASK_CANCELLED, 0, "", ""});
    over(it);
}

void Places::release(uint32_t uid, uint32_t number)
{
    auto it = requests_.find({uid, number});
    if (it == requests_.end())
        return;
    it->second.wanted = false;
    if (it->second.state == State::WAITING || it->second.state == State::HELD)
        over(it);
    grant_waiting();
}

bool Places::signal(uint32_t uid, const SignalTask &call)
{
    auto it = requests_.find({uid, call.number});
    if (it == requests_.end() || (it->second.state != State::STARTED && it->second.state != State::RUNNING))
        return false;
    order(it->first, it->second, TASK_SIGNAL, call.name);
    return true;
}

void Places::owner_ended(uint32_t uid)
{
    for (auto it = requests_.lower_bound({uid, 0}); it != requests_.end() && it->first.first == uid;) {
        Request &request = it->second;
        request.wanted = false;
        if (request.state == State::WAITING || request.state == State::HELD) {
            it = over(it);
        } else {
            order(it->first, request, TASK_END);
            ++it;
        }
    }
    grant_waiting();
}

bool Places::report(uint64_t agent, const TaskReport &report)
{
    auto it = requests_.find({report.head.uid, report.head.number});
    if (it == requests_.end() || it->second.host.agent != agent)
        return false;
    Request &request = it->second;
    bool ended = report.head.kind == PMI_TASK_EXITED;
    if (ended ? request.state != State::STARTED && request.state != State::RUNNING : request.state != State::STARTED)
        return false;
    request.state = State::RUNNING;
    if (request.wanted)
        events_.push_back({report.head.uid, report.head.number, static_cast<pmi_task_stage>(report.head.kind),
                           report.head.code, report.text, ""});
    if (ended)
        over(it);
    grant_waiting();
    return true;
}

void Places::agent_lost(uint64_t agent)
{
    std::erase_if(hosts_, [&](const Host &host) { return host.agent == agent; });
    for (auto it = requests_.begin(); it != requests_.end();) {
        Request &request = it->second;
        bool runs = request.state == State::STARTED || request.state == State::RUNNING;
        if (!runs || request.host.agent != agent) {
            ++it;
            continue;
        }
        if (request.wanted)
            events_.push_back({it->first.first, it->first.second, PMI_TASK_EXITED, 128 + 9,
                               request.state == State::RUNNING ? "" : "its host was lost", ""});
        it = over(it);
    }
    grant_waiting();
}

}  // namespace elastic
