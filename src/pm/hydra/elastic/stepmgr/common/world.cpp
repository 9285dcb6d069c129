/* See world.h. */

#include "stepmgr/common/world.h"

#include <algorithm>
#include <cassert>

namespace elastic {

void World::add_group(int group, uint32_t first_uid, std::span<const step_process> processes)
{
    assert(!groups_.contains(group));
    Group &added = groups_[group];
    added.processes.resize(processes.size());
    for (size_t i = 0; i < processes.size(); i++) {
        Process &process = added.processes[i];
        process.group = group;
        process.rank = static_cast<int>(i);
        process.proxy = processes[i].proxy;
        process.host = processes[i].host ? processes[i].host : "";
        process.uid = first_uid + static_cast<uint32_t>(i);
        added.proxies[process.proxy].ranks.push_back(process.rank);
    }
    if (group == 0)
        commit(Change{{}, static_cast<int>(processes.size()), static_cast<int>(processes.size())},
               0);
}

Process *World::find(int group, int rank)
{
    auto found = groups_.find(group);
    if (found == groups_.end() || rank < 0 ||
        static_cast<size_t>(rank) >= found->second.processes.size())
        return nullptr;
    return &found->second.processes[static_cast<size_t>(rank)];
}

const Process *World::find(int group, int rank) const
{
    return const_cast<World *>(this)->find(group, rank);
}

std::span<Process> World::processes(int group)
{
    auto found = groups_.find(group);
    if (found == groups_.end())
        return {};
    return found->second.processes;
}

const Process *World::find_member(uint32_t uid) const
{
    auto member = std::ranges::find(members_, uid, &Process::uid);
    return member == members_.end() || (*member)->ended ? nullptr : *member;
}

int World::members_on(const std::string &host) const
{
    auto found = members_on_.find(host);
    return found == members_on_.end() ? 0 : found->second;
}

std::vector<Process *> World::commit(const Change &change, int joining_group)
{
    std::vector<Process *> staying, left;
    for (Process *process : members_) {
        bool leaves = std::binary_search(change.leaving.begin(), change.leaving.end(),
                                         process->world_rank);
        (leaves ? left : staying).push_back(process);
    }
    if (change.joining > 0) {
        for (Process &process : processes(joining_group))
            staying.push_back(&process);
    }
    for (Process *process : left)
        process->world_rank = -1;
    members_ = std::move(staying);
    members_on_.clear();
    living_ = 0;
    for (size_t i = 0; i < members_.size(); i++) {
        members_[i]->world_rank = static_cast<int>(i);
        members_on_[members_[i]->host]++;
        living_ += !members_[i]->ended;
    }
    return left;
}

void World::mark_ended(Process &process)
{
    if (!process.ended && process.world_rank >= 0)
        living_--;
    process.ended = true;
}

const World::Proxy *World::find_proxy(const ProxyId &proxy_id) const
{
    auto group = groups_.find(proxy_id.group);
    if (group == groups_.end())
        return nullptr;
    auto proxy = group->second.proxies.find(proxy_id.number);
    return proxy == group->second.proxies.end() ? nullptr : &proxy->second;
}

bool World::known(const ProxyId &proxy_id) const
{
    return find_proxy(proxy_id) != nullptr;
}

std::vector<uint32_t> World::living_of(const ProxyId &proxy_id) const
{
    std::vector<uint32_t> uids;
    if (const Proxy *proxy = find_proxy(proxy_id)) {
        for (int rank : proxy->ranks) {
            if (const Process *process = find(proxy_id.group, rank); !process->ended)
                uids.push_back(process->uid);
        }
    }
    return uids;
}

std::string World::host_of(const ProxyId &proxy_id) const
{
    const Proxy *proxy = find_proxy(proxy_id);
    return proxy ? find(proxy_id.group, proxy->ranks.front())->host : "";
}

bool World::disconnected(const ProxyId &proxy_id) const
{
    const Proxy *proxy = find_proxy(proxy_id);
    return !proxy || proxy->disconnected;
}

std::vector<Process *> World::mark_disconnected(const ProxyId &proxy_id)
{
    std::vector<Process *> processes;
    if (!known(proxy_id))
        return processes;
    Group &group = groups_.at(proxy_id.group);
    Proxy &proxy = group.proxies.at(proxy_id.number);
    proxy.disconnected = true;
    for (int rank : proxy.ranks) {
        if (Process &process = group.processes[static_cast<size_t>(rank)]; !process.ended)
            processes.push_back(&process);
    }
    return processes;
}

void World::remove_empty_groups()
{
    std::erase_if(groups_, [](const auto &entry) {
        const Group &group = entry.second;
        return std::all_of(group.proxies.begin(), group.proxies.end(),
                           [](const auto &proxy) { return proxy.second.disconnected; }) &&
               std::all_of(group.processes.begin(), group.processes.end(),
                           [](const Process &process) { return process.world_rank < 0; });
    });
}

std::set<ProxyId> World::proxies_of(const std::vector<Process *> &processes)
{
    std::set<ProxyId> proxy_ids;
    for (const Process *process : processes)
        proxy_ids.insert(process->proxy_id());
    return proxy_ids;
}

}  // namespace elastic
