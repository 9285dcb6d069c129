/* See slots.h: requests, and slots for them. */

#include "stepmgr/tasks/slots.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <set>

#include "base/change.h"
#include "stepmgr/common/schedule.h"
#include "stepmgr/proto/protocol.h"

namespace elastic {

namespace {

const char *const ANYWHERE = "*";

/* The words of a request: "key=value", separated by ';'. Texts are truncated to the length that can
 * be sent. */
struct Words {
    std::string known, ignored;  /* known words, and unknown keys */
    std::string malformed;      /* error of the first known word that is malformed */
    int64_t timeout_ms = -1;
    bool alone = false;

    std::string info() const
    {
        return (known + (ignored.empty() ? "" : ";ignored=" + ignored))
            .substr(0, PMI_SET_VALUE_MAX);
    }
};

void append_notified(std::string &list, const char *between, const std::string &word)
{
    if (list.size() < PMI_SET_VALUE_MAX)
        list += between + word.substr(0, PMI_SET_VALUE_MAX);
}

constexpr size_t WORD_SHOWN = 64;

/* Reads words and adds them to `read`. */
Words read_words(const std::string &words, Words read = {})
{
    for (size_t at = 0; at <= words.size();) {
        size_t end = std::min(words.find(';', at), words.size());
        std::string word = words.substr(at, end - at), key = word.substr(0, word.find('='));
        at = end + 1;
        if (key.empty())
            continue;
        bool known = key == "reason" || key == "tag";
        if (key == "timeout") {
            auto time_ms = parse_time_ms(word.substr(std::min(key.size() + 1, word.size())));
            known = static_cast<bool>(time_ms);
            if (known)
                read.timeout_ms = time_ms.value();
            else if (read.malformed.empty())
                read.malformed =
                    printable(word, Charset::ASCII, WORD_SHOWN) + ": " + time_ms.error();
        } else if (word == "exclusive") {
            known = read.alone = true;
        }
        if (known)
            append_notified(read.known, ";", word);
        else
            append_notified(read.ignored, read.ignored.empty() ? "" : ",", key);
    }
    return read;
}

}  // namespace

void Slots::set_hosts(std::vector<Host> hosts)
{
    hosts_ = std::move(hosts);
    host_at_.clear();
    for (size_t i = 0; i < hosts_.size(); i++)
        host_at_.emplace(hosts_[i].name, i);
}

void Slots::add_hosts(const std::vector<std::string> &names)
{
    for (const std::string &name : names) {
        if (host_at_.emplace(name, hosts_.size()).second)
            hosts_.push_back({name, 0, false});
    }
}

void Slots::set_capacity(size_t now, size_t ever)
{
    now_ = now;
    ever_ = ever;
    give_waiting();
}

/* "", or the reason why hard requests can never be held together: a host that one request uses
 * alone has no other slots. */
std::string Slots::why_never_beside(const std::vector<Request> &requests) const
{
    std::map<std::string, size_t> named, alone;
    size_t anywhere_alone = 0, anywhere = 0;
    for (const Request &request : requests) {
        if (request.wanted_host == ANYWHERE)
            (request.alone ? anywhere_alone : anywhere)++;
        else
            (request.alone ? alone : named)[request.wanted_host]++;
    }
    for (const auto &[host, count] : alone) {
        if (count > 1 || named.contains(host))
            return "an exclusive slot on host " + host + " excludes other slots there";
    }
    size_t hosts =
        alone.size() + anywhere_alone + (named.empty() && anywhere > 0 ? 1 : named.size());
    if (next_slot_request_ || alone.size() + anywhere_alone == 0 || hosts <= hosts_.size())
        return "";
    return "the exclusive slots need " + std::to_string(hosts) + " hosts, the job has " +
           std::to_string(hosts_.size());
}

/* The cause comes first, because MPI truncates error texts at 511 characters. */
std::string Slots::why_never(uint32_t uid, const AllocateSlots &call,
                             const std::vector<Request> &requests) const
{
    if (call.hard && call.n > ever_)
        return (next_slot_request_ ? "the resource manager grants this job "
                                   : "--adapt-range leaves ") +
               std::to_string(ever_) + " slots, " + std::to_string(call.n) + " are requested" +
               (next_slot_request_ ? ": submit it with --places " + std::to_string(call.n) : "");
    if (requests_.size() + call.n > PMI_TASKS_MAX)
        return "the job has " + std::to_string(requests_.size()) +
               " process requests already, and can have " + std::to_string(PMI_TASKS_MAX);
    for (const std::string &host : call.hosts) {
        if (host != ANYWHERE && !next_slot_request_ && !find_host(host))
            return host + " is not a host of the job, or has no proxy";
    }
    if (hosts_.empty())
        return "the job has no host any more";
    for (uint32_t i = 0; i < call.n; i++) {
        if (requests_.contains({uid, call.first + i}))
            return "the number of a process request is used already";
    }
    return call.hard ? why_never_beside(requests) : "";
}

std::string Slots::why_malformed(const AllocateSlots &call)
{
    std::string why = read_words(call.words).malformed;
    for (size_t i = 0; why.empty() && i < call.own_words.size(); i++)
        why = read_words(call.own_words[i]).malformed;
    return why;
}

std::string Slots::allocate(uint32_t uid, const AllocateSlots &call)
{
    std::vector<Request> requests(call.n);
    const Words of_all = read_words(call.words);
    for (uint32_t i = 0; i < call.n; i++) {
        const Words words = call.own_words.empty() ? of_all : read_words(call.own_words[i], of_all);
        Request &request = requests[i];
        request.wanted_host = call.hosts.empty() ? ANYWHERE : call.hosts[i];
        request.info = words.info();
        request.hard = call.hard;
        request.alone = words.alone;
        request.until_ms = words.timeout_ms < 0 ? -1 : now_ms_ + words.timeout_ms;
    }
    if (std::string why = why_never(uid, call, requests); !why.empty())
        return why;
    for (uint32_t i = 0; i < call.n; i++) {
        requests[i].since = ++arrivals_;
        requests_.emplace(Key{uid, call.first + i}, std::move(requests[i]));
    }
    give_waiting();
    if (next_slot_request_)
        request_size(uid, call);
    for (uint32_t i = 0; !next_slot_request_ && !call.hard && i < call.n; i++)
        cancel(uid, call.first + i);
    return "";
}

/* Makes slot requests for process requests without a slot: one for each requested host, and one for
 * requests that want a host alone. */
void Slots::request_size(uint32_t uid, const AllocateSlots &call)
{
    std::map<std::pair<std::string, bool>, uint64_t> made;
    /* the allocator has no more slots */
    bool has_all = had() >= ever_;
    for (uint32_t i = 0; i < call.n; i++) {
        auto it = requests_.find({uid, call.first + i});
        if (it == requests_.end() || it->second.state != State::WAITING)
            continue;
        if (has_all && !call.hard) {
            give_up(it, SizeRequestEnd::REFUSED, "");
            continue;
        }
        uint64_t &number = made[{it->second.wanted_host, it->second.alone}];
        if (number == 0) {
            number = next_slot_request_();
            slot_requests_[number] = {number, 0, call.hard, it->second.alone,
                                      it->second.wanted_host, call.words.substr(0, SLOT_HINTS_MAX)};
        }
        slot_requests_[number].count++;
        it->second.slot_request = number;
    }
    for (const auto &[requested, number] : made)
        notices_.push_back({slot_requests_[number], std::nullopt, "", {}});
}

/* One process request no longer waits for this slot request. */
void Slots::one_less(uint64_t slot_request, SizeRequestEnd end, const std::string &reason)
{
    auto it = slot_requests_.find(slot_request);
    if (it == slot_requests_.end() || --it->second.count > 0)
        return;
    notices_.push_back({it->second, end, reason, {}});
    slot_requests_.erase(it);
}

const Slots::Host *Slots::find_host(const std::string &name) const
{
    auto found = host_at_.find(name);
    return found == host_at_.end() ? nullptr : &hosts_[found->second];
}

bool Slots::suits(const Host &host, const std::string &wanted, bool alone) const
{
    if (wanted != ANYWHERE && wanted != host.name)
        return false;
    return alone ? load(host).slots == 0 : load(host).alone == 0;
}

/* The first host with the fewest used slots; nullptr: there is no suitable host. */
const Slots::Host *Slots::choose(const std::string &wanted, bool alone) const
{
    const Host *best = nullptr;
    for (const Host &host : hosts_) {
        if (suits(host, wanted, alone) && (!best || load(host).slots < load(*best).slots))
            best = &host;
    }
    return best;
}

Slots::Load Slots::load(const Host &host) const
{
    auto found = loads_.find(host.name);
    return found == loads_.end() ? Load{} : found->second;
}

/* Takes the granted slot that was used last.  A request that uses a host alone returns the idle
 * slots there. */
bool Slots::take_idle(Request &request)
{
    for (size_t i = idle_.size(); i-- > 0;) {
        const Host *host = find_host(idle_[i].host);
        if (!host || !suits(*host, request.wanted_host, request.alone))
            continue;
        request.host = *host;
        idle_.erase(idle_.begin() + static_cast<ptrdiff_t>(i));
        if (request.alone)
            give_back_idle([&](const Idle &idle) { return idle.host == request.host.name; });
        return true;
    }
    return false;
}

bool Slots::assign_slot(const Key &key, Request &request)
{
    if (next_slot_request_) {
        if (!take_idle(request))
            return false;
    } else {
        const Host *host = choose(request.wanted_host, request.alone);
        if (!host)
            return false;
        request.host = *host;
    }
    request.state = State::HELD;
    Load &load = loads_[request.host.name];
    load.slots++;
    load.alone += request.alone;
    held_++;
    one_less(std::exchange(request.slot_request, 0), SizeRequestEnd::GRANTED, "");
    events_.push_back({key.first, key.second, PMI_TASK_ALLOCATED, 0, request.host.name,
                       "place=" + std::to_string(++slot_number_) + request.info});
    return true;
}

/* Waiting requests, in order of arrival. */
std::vector<Slots::Table::iterator> Slots::waiting()
{
    std::vector<Table::iterator> waiting;
    for (auto it = requests_.begin(); it != requests_.end(); ++it) {
        if (it->second.state == State::WAITING)
            waiting.push_back(it);
    }
    std::ranges::sort(waiting, {}, [](const Table::iterator &it) { return it->second.since; });
    return waiting;
}

/* First come, first served, except for hosts that do not exist. */
void Slots::give_waiting()
{
    auto none_left = [this] { return next_slot_request_ ? idle_.empty() : held_ >= now_; };
    if (none_left() || held_ == requests_.size())
        return;
    for (Table::iterator it : waiting()) {
        if (none_left())
            return;
        assign_slot(it->first, it->second);
    }
}

/* ---- the allocator --------------------------------------------------------------------------- */

bool Slots::grant(uint64_t number, uint64_t slot_request, const std::vector<std::string> &hosts)
{
    if (number != granted_ + 1)
        return number <= granted_;
    granted_ = number;
    for (const std::string &host : hosts)
        idle_.push_back({host, now_ms_});
    give_waiting();
    if (auto it = slot_requests_.find(slot_request); it != slot_requests_.end() && !it->second.hard)
        refuse(slot_request, "no more slots are available now");
    return true;
}

bool Slots::refuse(uint64_t slot_request, const std::string &reason)
{
    if (!slot_requests_.contains(slot_request))
        return false;
    for (Table::iterator it : waiting()) {
        if (it->second.slot_request == slot_request)
            give_up(it, SizeRequestEnd::REFUSED, reason);
    }
    return true;
}

Slots::HostCounts Slots::given() const
{
    HostCounts given;
    for (const Idle &idle : idle_)
        given[idle.host]++;
    for (const auto &[key, request] : requests_) {
        if (request.state != State::WAITING)
            given[request.host.name]++;
    }
    return given;
}

std::vector<Slots::Task> Slots::tasks() const
{
    std::vector<Task> tasks;
    for (const auto &[key, request] : requests_) {
        if (request.state == State::STARTED || request.state == State::RUNNING)
            tasks.push_back({key.first, key.second, request.host.name, request.program,
                             request.state == State::RUNNING});
    }
    return tasks;
}

bool Slots::has_alone(const std::string &host) const
{
    auto found = loads_.find(host);
    return found != loads_.end() && found->second.alone > 0;
}

void Slots::give_back_idle(const std::function<bool(const Idle &)> &which)
{
    HostCounts released;
    std::erase_if(idle_, [&](const Idle &idle) {
        bool goes = which(idle);
        if (goes)
            released[idle.host]++;
        return goes;
    });
    if (!released.empty())
        notices_.push_back({std::nullopt, std::nullopt, "", std::move(released)});
}

/* ---- time ------------------------------------------------------------------------------------ */

void Slots::time(int64_t now_ms)
{
    now_ms_ = now_ms;
    if (requests_.empty() && idle_.empty())
        return;
    for (Table::iterator it : waiting()) {
        if (it->second.until_ms >= 0 && it->second.until_ms <= now_ms_)
            give_up(it, SizeRequestEnd::WITHDRAWN, "its time limit has passed");
    }
    /* idle_ is in this order */
    if (!idle_.empty() && idle_.front().since_ms + LINGER_MS <= now_ms_)
        give_back_idle([this](const Idle &idle) { return idle.since_ms + LINGER_MS <= now_ms_; });
}

int64_t Slots::next_ms() const
{
    int64_t next = idle_.empty() ? -1 : idle_.front().since_ms + LINGER_MS;
    for (const auto &[key, request] : requests_) {
        bool waits = request.state == State::WAITING && request.until_ms >= 0;
        if (waits && (next < 0 || request.until_ms < next))
            next = request.until_ms;
    }
    return next;
}

}  // namespace elastic
