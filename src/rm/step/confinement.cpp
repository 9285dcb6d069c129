/* See confinement.h. */

#include "step/confinement.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/descriptor.h"
#include "step/step_spec.h"

namespace elastic::rm {

namespace {

std::string write_to(const std::string &folder, const char *name, const std::string &text)
{
    std::string path = folder + "/" + name;
    Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    bool done = file.is_open() &&
        ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    return done ? "" : "cannot write " + text + " into " + path + ": " + strerror(errno);
}

bool has_word(const std::string &folder, const char *name, const std::string &wanted)
{
    auto text = read_file(folder, name);
    std::istringstream words(text && text.value() ? *text.value() : "");
    for (std::string word; words >> word;)
        if (word == wanted)
            return true;
    return false;
}

}  // namespace

std::string Confinement::open(const std::string &base) const
{
    std::vector<std::string> wanted;
    if (config_.cores)
        wanted.push_back("cpuset");
    if (config_.memory_per_core > 0)
        wanted.push_back("memory");
    for (const std::string &controller : wanted) {
        if (!has_word(base, "cgroup.controllers", controller))
            return "the control group " + base + " has no controller " + controller +
                   ": write +" + controller + " into cgroup.subtree_control of the group above it";
        if (has_word(base, "cgroup.subtree_control", controller))
            continue;
        if (std::string error = write_to(base, "cgroup.subtree_control", "+" + controller);
            !error.empty())
            return error;
    }
    return "";
}

std::string Confinement::add_node(const std::string &name, int cores, int processors_of_machine)
{
    if (config_.cores && next_ + cores > processors_of_machine)
        return "the nodes have more cores than this machine has processors (" +
            std::to_string(processors_of_machine) + ")";
    std::vector<int> &own = nodes_[name];
    for (int i = 0; i < cores; i++)
        own.push_back(next_++);
    return "";
}

void Confinement::adopt(JobId job, const std::string &group)
{
    auto text = read_file(group, "cpuset.cpus");
    if (config_.cores && text && text.value())
        for (int processor : parse(*text.value()))
            owners_.emplace(processor, job);
}

/* On each node: releases the highest, adds the lowest. */
std::string Confinement::change(JobId job, const Cores &booked, std::set<int> &mine)
{
    std::string wrong;
    for (const auto &[name, processors] : nodes_) {
        auto found = booked.find(name);
        int wanted = found == booked.end() ? 0 : found->second;
        std::vector<int> own;
        for (int processor : processors) {
            auto owner = owners_.find(processor);
            if (owner != owners_.end() && owner->second == job)
                own.push_back(processor);
        }
        for (; static_cast<int>(own.size()) > wanted; own.pop_back())
            owners_.erase(own.back());
        for (int processor : processors)
            if (static_cast<int>(own.size()) < wanted && owners_.emplace(processor, job).second)
                own.push_back(processor);
        if (static_cast<int>(own.size()) < wanted)
            wrong = "no processor of node " + name + " is left for it";
        mine.insert(own.begin(), own.end());
    }
    return wrong;
}

std::string Confinement::apply(JobId job, const Cores &booked, const std::string &group)
{
    std::string error;
    if (config_.cores) {
        std::set<int> mine;
        error = change(job, booked, mine);
        if (!mine.empty() && error.empty())
            error = write_to(group, "cpuset.cpus", format(mine));
    }
    int64_t cores = 0;
    for (const auto &[name, count] : booked)
        cores += count;
    if (config_.memory_per_core > 0 && cores > 0 && error.empty())
        error = write_to(group, "memory.max", std::to_string(cores * config_.memory_per_core));
    /* Else a job would swap without limit instead; a kernel that does not count swap has no such
     * file. */
    if (config_.memory_per_core > 0 && error.empty() &&
        access((group + "/memory.swap.max").c_str(), F_OK) == 0)
        error = write_to(group, "memory.swap.max", "0");
    return error;
}

void Confinement::discard(JobId job)
{
    std::erase_if(owners_, [job](const auto &entry) { return entry.second == job; });
}

std::string Confinement::format(const std::set<int> &processors)
{
    std::string text;
    for (auto next = processors.begin(); next != processors.end();) {
        int first = *next, last = first;
        for (++next; next != processors.end() && *next == last + 1; ++next)
            last = *next;
        text += (text.empty() ? "" : ",") + std::to_string(first);
        if (last > first)
            text += "-" + std::to_string(last);
    }
    return text;
}

std::set<int> Confinement::parse(const std::string &list)
{
    constexpr int PROCESSORS_MAX = 1 << 16;
    std::set<int> processors;
    std::istringstream parts(list);
    for (std::string part; std::getline(parts, part, ',');) {
        int first = 0, last = 0;
        int count = sscanf(part.c_str(), "%d-%d", &first, &last);
        last = count == 1 ? first : last;
        for (int i = first; count >= 1 && first >= 0 && i <= last && i < PROCESSORS_MAX; i++)
            processors.insert(i);
    }
    return processors;
}

Confinement::Cores booked_cores(const State &state, const Job &job)
{
    Confinement::Cores cores;
    for (const Share &share : state.shares(job))
        cores[share.node->name] += share.cores;
    return cores;
}

}  // namespace elastic::rm
