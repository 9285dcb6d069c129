/* See world.h. */

#include "world.h"

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
        added.gone[process.proxy] = false;
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

int World::members_on(const std::string &host) const
{
    return static_cast<int>(std::count_if(members_.begin(), members_.end(),
                                          [&](const Process *p) { return p->host == host; }));
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
    for (size_t i = 0; i < members_.size(); i++)
        members_[i]->world_rank = static_cast<int>(i);
    return left;
}

bool World::known(const Agent &agent) const
{
    auto found = groups_.find(agent.group);
    return found != groups_.end() && found->second.gone.contains(agent.proxy);
}

std::string World::host_of(const Agent &agent) const
{
    auto found = groups_.find(agent.group);
    if (found != groups_.end()) {
        for (const Process &process : found->second.processes) {
            if (process.proxy == agent.proxy)
                return process.host;
        }
    }
    return "";
}

bool World::gone(const Agent &agent) const
{
    return !known(agent) || groups_.at(agent.group).gone.at(agent.proxy);
}

std::vector<Process *> World::mark_gone(const Agent &agent)
{
    std::vector<Process *> lost;
    if (!known(agent))
        return lost;
    Group &group = groups_.at(agent.group);
    group.gone.at(agent.proxy) = true;
    for (Process &process : group.processes) {
        if (process.proxy == agent.proxy && !process.ended)
            lost.push_back(&process);
    }
    return lost;
}

void World::forget_empty_groups()
{
    std::erase_if(groups_, [](const auto &entry) {
        const Group &group = entry.second;
        return std::all_of(group.gone.begin(), group.gone.end(),
                           [](const auto &proxy) { return proxy.second; }) &&
               std::all_of(group.processes.begin(), group.processes.end(),
                           [](const Process &process) { return process.world_rank < 0; });
    });
}

std::set<Agent> World::agents_of(const std::vector<Process *> &processes)
{
    std::set<Agent> agents;
    for (const Process *process : processes)
        agents.insert(process->agent());
    return agents;
}

}  // namespace elastic
