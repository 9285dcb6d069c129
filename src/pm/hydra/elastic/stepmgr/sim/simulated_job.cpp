/* See simulated_job.h: the course of a job, clients, effects. */

#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>

#include "wire/request_messages.h"
#include "stepmgr/sim/simulated_parts.h"

namespace elastic {

/* ---- chance, queue, setting up --------------------------------------------------------------- */

SimulatedJob::SimulatedJob(uint64_t seed, bool trace) : seed_(seed), trace_(trace), random_(seed)
{
    choose_options();
    step_config config = {};
    config.step_id = "1";
    config.program = "simulated";
    config.user = "user";
    config.schedule = schedule_.empty() ? nullptr : schedule_.c_str();
    config.policy = policy_.empty() ? nullptr : policy_.c_str();
    bool ranged = !policy_.empty() || (size_requests_ && schedule_.empty());
    config.range_min = ranged ? 1 : 0;
    config.range_max = ranged ? 9 : 0;
    config.interval_ms = chance(0.5) ? 0 : between(1, 100);
    config.margin = margin_;
    config.prepare_ms = chance(0.5) ? 50 : between(0, 5);
    config.straggler_ms = chance(0.5) ? between(5, 50) : 0;
    config.seed = seed;
    config.unix_ms_at_zero = 1700000000000;
    config.size = launch_size_;
    step_effects effects = {this,  launch, kill_group, abort_step, send,
                            reply, log,    notify_user,  wake_at,    nullptr, nullptr,   nullptr};
    char error[512] = "";
    core_ = stepmgr_create(&config, &effects, error, sizeof error);
    if (!core_)
        broken("options are refused: " + std::string(error) + " for " + schedule_);
}

SimulatedJob::~SimulatedJob()
{
    stepmgr_destroy(core_);
}

int64_t SimulatedJob::between(int64_t low, int64_t high)
{
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
}

bool SimulatedJob::chance(double probability)
{
    return static_cast<double>(random_() >> 11) * 0x1p-53 < probability;
}

/* Mostly short, sometimes long. */
int64_t SimulatedJob::delay_us()
{
    return chance(0.9) ? between(0, delay_max_us_ / 10) : between(0, delay_max_us_);
}

void SimulatedJob::at(int64_t time_us, std::function<void()> action)
{
    queue_.push({time_us, next_event_++, std::move(action)});
}

void SimulatedJob::note(const std::string &text)
{
    if (trace_)
        printf("%12.3f ms  %s\n", static_cast<double>(now_us_) / 1000.0, text.c_str());
}

void SimulatedJob::broken(const std::string &what)
{
    note("BROKEN: " + what);
    ADD_FAILURE() << "seed " << seed_ << " at " << now_us_ << " us: " << what
                  << "\nreplay: make -f Makefile.tests replay SEED=" << seed_;
}

void SimulatedJob::choose_options()
{
    launch_size_ = static_cast<int>(between(1, 8));
    work_ = static_cast<int>(between(5, chance(0.2) ? 1000 : 200));
    margin_ = static_cast<uint64_t>(between(0, 4));
    delay_max_us_ = between(10, 20000);
    rigid_ = chance(0.06);
    modify_at_ = chance(rigid_ ? 0.8 : 0.3) ? static_cast<int>(between(1, work_)) : -1;
    launch_may_fail_ = chance(0.2);
    size_requests_ = chance(0.6);
    for (int64_t i = between(1, 4); i > 0; i--)
        host_names_.push_back(std::string(1, static_cast<char>('a' + i)));
    int kind = static_cast<int>(between(0, 3));
    if (kind == 0)
        policy_ = chance(0.5) ? "increase-decrease" : "random";
    if (kind != 1 && kind != 2)
        return;
    int size = launch_size_;
    for (int64_t i = between(1, 8); i > 0; i--) {
        int64_t next = between(1, 9);
        schedule_ += schedule_.empty() ? "" : ",";
        if (chance(0.2))
            schedule_ += std::to_string(between(1, 300)) + "ms:";
        schedule_ += std::to_string(next);
        if (chance(0.3) && next >= size - 1)
            schedule_ += "/leave=" + std::to_string(between(0, size - 1));
        size = static_cast<int>(next);
    }
}

void SimulatedJob::start_group(int group, uint32_t epoch, uint32_t first_uid, int count,
                               const std::vector<std::string> &hosts)
{
    std::map<std::string, int> numbers;     /* of proxies, by host */
    for (int rank = 0; rank < count; rank++) {
        auto actor = std::make_unique<Actor>();
        actor->group = group;
        actor->rank = static_cast<uint32_t>(rank);
        actor->uid = first_uid + static_cast<uint32_t>(rank);
        actor->host = hosts[static_cast<size_t>(rank) % hosts.size()];
        int number =
            numbers.try_emplace(actor->host, static_cast<int>(numbers.size())).first->second;
        actor->proxy_id = {group, number};
        actor->joining = epoch > 0;
        actor->epoch = 0;
        actor->work_left = work_;
        actor->compute_us = between(1, 1000);
        auto &proxy = proxies_[actor->proxy_id];
        if (!proxy)
            proxy = std::make_unique<Proxy>();
        proxy->id = actor->proxy_id;
        proxy->actors.push_back(actor.get());
        if (group == 0)
            worlds_[0].push_back(actor->uid);
        actors_[actor->uid] = std::move(actor);
    }
}

void SimulatedJob::plan_clients()
{
    int64_t requests = chance(0.6) ? between(0, 6) : 0;
    for (int64_t i = 0; i < requests; i++) {
        int client = static_cast<int>(between(1, 3));
        at(between(0, 400000), [this, client] { random_request(client); });
    }
}

void SimulatedJob::plan_accident()
{
    if (!chance(0.3))
        return;
    at(between(0, 300000), [this] {
        std::vector<Actor *> living;
        for (auto &[uid, actor] : actors_) {
            if (actor->alive)
                living.push_back(actor.get());
        }
        if (living.empty())
            return;
        Actor &victim = *living[static_cast<size_t>(
            between(0, static_cast<int64_t>(living.size()) - 1))];
        outcome_.accidents++;
        if (chance(0.2))
            lose_proxy(proxy(victim.proxy_id));
        else
            end(victim, chance(0.7) ? STATUS_KILLED : STATUS_EXIT_3);
    });
}

JobOutcome SimulatedJob::run()
{
    if (!core_)
        return outcome_;
    start_group(0, 0, 0, launch_size_, host_names_);
    std::vector<step_process> processes;
    for (auto &[uid, actor] : actors_)
        processes.push_back({actor->proxy_id.number, actor->host.c_str()});
    stepmgr_group(core_, 0, 0, launch_size_, processes.data());
    for (auto &[uid, actor] : actors_)
        after(delay_us(), [this, a = actor.get()] { initialise(*a); });
    plan_clients();
    plan_accident();
    plan_size_requests();
    uint64_t events = 0;
    while (!queue_.empty() && now_us_ < TIME_MAX_US && events++ < EVENTS_MAX) {
        Event event = queue_.top();
        queue_.pop();
        now_us_ = event.time_us;
        event.action();
    }
    check_end();
    return outcome_;
}

/* ---- clients --------------------------------------------------------------------------------- */

void SimulatedJob::send_request(int client, const Json &request)
{
    note("client " + std::to_string(client) + ": " + request.dump());
    stepmgr_client_line(core_, now_ms(), client, request.dump().c_str());
}

void SimulatedJob::random_request(int client)
{
    int kind = static_cast<int>(between(0, 9));
    if (kind == 0)
        return send_request(client, {{"id", 1}, {"op", "events"}, {"follow", true}});
    if (kind == 1)
        return stepmgr_client_disconnected(core_, client);
    if (kind <= 3)
        return send_request(client, {{"id", 2}, {"op", "cancel"}});
    Json request = {{"id", 3}, {"op", "resize"}, {"size", between(0, 10)}, {"wait", chance(0.5)}};
    if (chance(0.3))
        request["leave"] = {between(0, 9)};
    if (chance(0.3))
        request["hosts"] = {"b"};
    if (chance(0.2))
        request["if_epoch"] = between(0, 2);
    if (chance(0.2))
        request["deadline_ms"] = 1700000000000 + now_ms() + between(-1, 30);
    send_request(client, request);
}

/* ---- effects --------------------------------------------------------------------------------- */

int SimulatedJob::launch(void *context, uint32_t epoch, int count, int /* program */, int pre,
                         uint32_t first_uid, int modify, const char *const *hosts, int n_hosts,
                         int *group, char *error, size_t error_bytes)
{
    SimulatedJob &job = self(context);
    if (pre != static_cast<int>(job.worlds_.at(job.committed_epoch_).size()))
        job.broken("launch gets a wrong size");
    if (job.launch_may_fail_ && job.chance(0.3)) {
        snprintf(error, error_bytes, "no capacity");
        return -1;
    }
    job.outcome_.launches++;
    *group = job.next_group_++;
    if (modify)
        job.modify_groups_.insert(*group);
    job.group_request_[*group] = epoch;
    std::vector<std::string> names(hosts, hosts + n_hosts);
    if (names.empty())
        names = job.host_names_;
    job.after(job.delay_us(), [&job, group = *group, epoch, count, first_uid, names] {
        job.start_group(group, epoch, first_uid, count, names);
        std::vector<step_process> processes;
        for (int i = 0; i < count; i++) {
            const Actor &actor = *job.actors_.at(first_uid + static_cast<uint32_t>(i));
            processes.push_back({actor.proxy_id.number, actor.host.c_str()});
        }
        bool killed = job.groups_killed_.contains(group) || job.killing_;
        stepmgr_group(job.core_, job.now_ms(), group, count, processes.data());
        for (int i = 0; i < count; i++) {
            Actor *actor = job.actors_.at(first_uid + static_cast<uint32_t>(i)).get();
            if (killed)
                job.end(*actor, STATUS_KILLED);
            else
                job.after(job.delay_us(), [&job, actor] { job.initialise(*actor); });
        }
    });
    return 0;
}

void SimulatedJob::kill_group(void *context, int group)
{
    SimulatedJob &job = self(context);
    job.note("group " + std::to_string(group) + " is removed");
    if (!job.groups_killed_.insert(group).second)
        job.broken("group is removed twice");
    job.after(job.delay_us(), [&job, group] {
        for (auto &[uid, actor] : job.actors_) {
            if (actor->alive && actor->group == group)
                job.end(*actor, STATUS_KILLED);
        }
    });
}

void SimulatedJob::abort_step(void *context, const char *reason)
{
    SimulatedJob &job = self(context);
    job.note(std::string("abort: ") + reason);
    job.outcome_.aborts++;
    job.after(job.delay_us(), [&job] { job.kill_everybody(); });
}

void SimulatedJob::send(void *context, const step_proxy *to, int n, step_command command,
                        uint32_t epoch, const void *payload, size_t bytes)
{
    for (int i = 0; i < n; i++)
        self(context).send_to({to[i].group, to[i].number}, command, epoch,
                              {static_cast<const char *>(payload), bytes});
}

void SimulatedJob::send_to(const ProxyId &proxy_id, step_command command, uint32_t epoch,
                           const std::string &payload)
{
    note("send " + std::to_string(command) + " to " + std::to_string(proxy_id.group) + "." +
         std::to_string(proxy_id.number) + " epoch " + std::to_string(epoch));
    if (disconnected_.contains(proxy_id) || !proxies_.contains(proxy_id))
        return broken("message to a proxy that has disconnected");
    if (groups_killed_.contains(proxy_id.group))
        broken("message to a group that was removed");
    if (command == STEP_TARGET)
        target_epoch_ = epoch;
    Proxy &to = proxy(proxy_id);
    to.last_down_us = std::max(to.last_down_us, now_us_ + delay_us());
    at(to.last_down_us, [this, &to, command, epoch, request = open_request_, payload] {
        receive(to, command, epoch, request, payload);
    });
}

void SimulatedJob::reply(void *context, int client, const char *line)
{
    SimulatedJob &job = self(context);
    job.note("to client " + std::to_string(client) + ": " + line);
    Json answer = Json::parse(line, nullptr, false);
    if (!answer.is_object())
        job.broken("reply is not an object");
    if (answer.contains("error"))
        job.outcome_.refused++;
}

void SimulatedJob::log(void *context, const char *line)
{
    SimulatedJob &job = self(context);
    job.note(line);
    Json event = Json::parse(line, nullptr, false);
    if (!event.is_object())
        return job.broken("log line is not an object");
    job.check_event(event);
}

void SimulatedJob::notify_user(void *context, const char *text)
{
    SimulatedJob &job = self(context);
    job.note(std::string("user: ") + text);
    if (std::strstr(text, "internal error"))
        job.broken(text);
}

void SimulatedJob::wake_at(void *context, int64_t time_ms)
{
    SimulatedJob &job = self(context);
    uint64_t number = ++job.wake_number_;
    if (time_ms < 0)
        return;
    job.at(std::max(job.now_us_, time_ms * 1000), [&job, number] {
        if (number == job.wake_number_)
            stepmgr_time(job.core_, job.now_ms());
    });
}

}  // namespace elastic
