/* See plan.h. */

#include "stepmgr/adapt/plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

namespace elastic {

namespace {

struct Tables {
    std::vector<pmi_adapt_member> members;
    std::vector<pmi_adapt_host> hosts;
    std::string bcs;
};

class TableBuilder {
  public:
    void add(const Process &process, uint32_t flags)
    {
        auto [found, is_new] =
            host_index_.try_emplace(process.host, static_cast<uint32_t>(tables_.hosts.size()));
        if (is_new)
            tables_.hosts.push_back({});
        pmi_adapt_host &host = tables_.hosts[found->second];
        bool names_segment = (flags & PMI_ADAPT_MEMBER_JOINING) && process.segment.segment_pid != 0;
        if (names_segment && host.segment_pid == 0)     /* the lowest joining rank of the host */
            host = process.segment;
        tables_.members.push_back({process.uid, found->second, flags,
                                   static_cast<uint32_t>(process.bc.size()),
                                   tables_.bcs.size()});
        tables_.bcs += process.bc;
        tables_.bcs.resize((tables_.bcs.size() + 7) / 8 * 8);   /* aligned for readers */
    }
    Tables take() { return std::move(tables_); }

  private:
    Tables tables_;
    std::map<std::string, uint32_t> host_index_;
};

pmi_adapt_plan build_header(const PlanFacts &facts, const Change &change, const Tables &tables)
{
    pmi_adapt_plan header = {};
    header.magic = PMI_ADAPT_MAGIC;
    header.epoch = facts.epoch;
    header.joining = static_cast<uint32_t>(change.joining);
    header.leaving = static_cast<uint32_t>(change.leaving.size());
    header.pre = static_cast<uint32_t>(tables.members.size()) - header.joining;
    header.n_hosts = static_cast<uint32_t>(tables.hosts.size());
    header.deadline_ms = facts.deadline_ms;
    header.modify = facts.modify;
    std::strncpy(header.reason, facts.reason.c_str(), sizeof header.reason - 1);
    header.members_offset = sizeof header;
    header.hosts_offset = header.members_offset + tables.members.size() * sizeof(pmi_adapt_member);
    return header;
}

template <class Item> void append(std::string &blob, const std::vector<Item> &items)
{
    blob.append(reinterpret_cast<const char *>(items.data()), items.size() * sizeof(Item));
}

}  // namespace

std::string cannot_share_memory(const std::vector<Process *> &members,
                                std::span<const Process> joining)
{
    /* Members may differ: they already know how to communicate with each other. */
    std::map<std::string_view, std::set<uint64_t>> namespaces;  /* by host */
    for (const Process *member : members) {
        if (member->pid_namespace != 0)
            namespaces[member->host].insert(member->pid_namespace);
    }
    for (const Process &process : joining) {
        if (process.pid_namespace == 0)
            continue;
        std::set<uint64_t> &known = namespaces[process.host];
        known.insert(process.pid_namespace);
        if (known.size() > 1)
            return "processes of host " + process.host +
                   " are in different pid namespaces "
                   "(a container for each process?), where joining processes cannot share memory; "
                   "run all processes of a host in one container";
    }
    return {};
}

std::string build_plan(const PlanFacts &facts, const Change &change,
                       const std::vector<Process *> &members, std::span<const Process> joining)
{
    TableBuilder builder;
    for (const Process *process : members) {
        bool leaves = std::binary_search(change.leaving.begin(), change.leaving.end(),
                                         process->world_rank);
        builder.add(*process, leaves ? PMI_ADAPT_MEMBER_LEAVING : 0);
    }
    for (const Process &process : joining)
        builder.add(process, PMI_ADAPT_MEMBER_JOINING);
    Tables tables = builder.take();

    pmi_adapt_plan header = build_header(facts, change, tables);
    uint64_t bcs_offset = header.hosts_offset + tables.hosts.size() * sizeof(pmi_adapt_host);
    header.bytes = bcs_offset + tables.bcs.size();
    for (pmi_adapt_member &member : tables.members)
        member.bc_offset += bcs_offset;

    std::string blob(reinterpret_cast<const char *>(&header), sizeof header);
    append(blob, tables.members);
    append(blob, tables.hosts);
    return blob + tables.bcs;
}

}  // namespace elastic
