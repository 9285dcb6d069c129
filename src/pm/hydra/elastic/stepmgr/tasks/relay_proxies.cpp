/*
 * See task_manager.h: relay proxies, which run processes on hosts without a process of the world.
 * DA3, DA12.
 *
 * A relay proxy starts when a slot is assigned on such a host, in a process group of its own.
 * Processes that the program starts meanwhile wait for it.  It ends when no process runs there and
 * no slot is held: at once with a resource manager, which may assign the host to another job; else
 * after RELAY_LINGER_MS.  The end of a relay proxy never ends the job.
 */

#include "stepmgr/tasks/task_manager.h"

#include <algorithm>

namespace elastic {

namespace {

constexpr int64_t RELAY_LINGER_MS = 10000;      /* a task farm may use it again */

}  // namespace

bool TaskManager::has_member_on(const std::string &host) const
{
    return std::ranges::any_of(state_.world.members(), [&](const Process *member) {
        return !member->ended && member->host == host;
    });
}

/* The proxies include relay proxies, which are not proxies of the world. */
void TaskManager::send_order(const Slots::Order &order)
{
    state_.post({proxy_id_of(order.proxy_id)}, STEP_TASK, 0,
                write_task_head(order.head) + order.bytes);
}

/* Adds, after the hosts of the world, the hosts of mpiexec and hosts with held slots. */
void TaskManager::add_relay_hosts(std::vector<Slots::Host> &hosts) const
{
    auto add = [&](const std::string &name) {
        if (std::ranges::find(hosts, name, &Slots::Host::name) != hosts.end())
            return;
        auto post = relay_proxies_.find(name);
        if (post != relay_proxies_.end() && post->second.is_up)
            hosts.push_back({name, number_of({post->second.group, 0})});
        else
            hosts.push_back({name, 0, false});
    };
    for (size_t i = 0; !state_.managed && i < launch_hosts_.size(); i++) {
        if (!unreachable_.contains(launch_hosts_[i]))
            add(launch_hosts_[i]);
    }
    for (const auto &[name, slots] : slots_.given())
        add(name);
}

/* At the end of the job only running processes count. */
bool TaskManager::is_needed(const std::string &host, const RelayProxy &post,
                            const Slots::HostCounts &used) const
{
    return (!state_.over && used.contains(host) && !has_member_on(host)) ||
           (post.is_up && slots_.any_at(number_of({post.group, 0})));
}

void TaskManager::update_relay_proxies()
{
    const Slots::HostCounts used = slots_.given();
    for (const auto &[host, slots] : used) {
        bool tries = !unreachable_.contains(host) || slots_.awaits_proxy(host);
        if (tries && !relay_proxies_.contains(host) && !has_member_on(host) && !state_.over)
            start_relay_proxy(host);
    }
    for (auto it = relay_proxies_.begin(); it != relay_proxies_.end();) {
        RelayProxy &post = it->second;
        if (is_needed(it->first, post, used))
            post.idle_since_ms = -1;
        else if (post.idle_since_ms < 0)
            post.idle_since_ms = state_.now_ms;
        bool lingers = !state_.managed && !state_.ending && !state_.over &&
                       state_.now_ms < post.idle_since_ms + RELAY_LINGER_MS;
        if (post.idle_since_ms < 0 || lingers) {
            ++it;
            continue;
        }
        end_relay_group(post.group);
        state_.effects.kill_group(state_.effects.context, post.group);
        it = relay_proxies_.erase(it);
    }
}

/* Later messages of the proxy of this group are ignored. */
void TaskManager::end_relay_group(int group)
{
    state_.killed_groups.insert(group);
    state_.separate_groups.erase(group);
}

int64_t TaskManager::relay_proxies_next_ms() const
{
    int64_t next = -1;
    for (const auto &[host, post] : relay_proxies_) {
        if (post.idle_since_ms >= 0 && (next < 0 || post.idle_since_ms + RELAY_LINGER_MS < next))
            next = post.idle_since_ms + RELAY_LINGER_MS;
    }
    return next;
}

void TaskManager::start_relay_proxy(const std::string &host)
{
    constexpr uint32_t NOBODY = UINT32_MAX;     /* as uid */
    const char *name = host.c_str();
    char error[512] = "";
    int group = -1;
    if (state_.effects.launch(state_.effects.context, 0, 1, STEP_NO_PROGRAM, state_.world.size(),
                              NOBODY, 0, &name, 1, &group, error, sizeof error) == 0) {
        relay_proxies_[host].group = group;
        state_.separate_groups.insert(group);
        return;
    }
    unreachable_.insert(host);
    slots_.proxy_failed(host, host + ": " + error);
}

void TaskManager::proxy_up(int group)
{
    for (auto &[host, post] : relay_proxies_) {
        if (post.group != group)
            continue;
        post.is_up = true;
        unreachable_.erase(host);
        slots_.proxy_came(host, number_of({group, 0}));
    }
    update_slot_capacity();
    carry_out_tasks();
}

/* The failed proxy may have been a relay proxy. */
void TaskManager::relay_proxy_failed(const ProxyId &proxy_id)
{
    auto failed = std::ranges::find_if(relay_proxies_, [&](const auto &entry) {
        return entry.second.group == proxy_id.group;
    });
    if (failed == relay_proxies_.end())
        return;
    std::string host = failed->first;
    end_relay_group(proxy_id.group);
    relay_proxies_.erase(failed);
    unreachable_.insert(host);
    slots_.proxy_failed(host, host + ": its proxy could not be started, or has ended");
    update_slot_capacity();
}

}  // namespace elastic
