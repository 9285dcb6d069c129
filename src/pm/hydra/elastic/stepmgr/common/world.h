/*
 * The processes of a job step: groups as they were started, the proxies that hold them, and the
 * world, which is the ordered list of members.  Owns uids and world ranks.  No decisions.  SPEC W2,
 * W6.
 *
 * Invariants: a member's world_rank is its index in members(), everybody else's is -1; a proxy
 * (one proxy of one group) that has disconnected does not come back; a group is dropped when all of
 * its proxies have disconnected, so that a thousand adaptations leave nothing.
 */

#ifndef ELASTIC_WORLD_H_INCLUDED
#define ELASTIC_WORLD_H_INCLUDED

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/change.h"
#include "stepmgr/stepmgr.h"

namespace elastic {

enum class InitMode { UNKNOWN, RIGID, ADAPTIVE, SETS };

struct ProxyId {
    int group = 0, number = 0;
    auto operator<=>(const ProxyId &) const = default;
};
/* As one number, by which process sets and slots know it; and back. */
inline uint64_t number_of(const ProxyId &proxy_id)
{
    return static_cast<uint64_t>(proxy_id.group) << 32 | static_cast<uint32_t>(proxy_id.number);
}
inline ProxyId proxy_id_of(uint64_t number)
{
    return {static_cast<int>(number >> 32), static_cast<int>(number & UINT32_MAX)};
}

struct Process {
    int group = 0, rank = 0, proxy = 0;
    std::string host;
    uint32_t uid = 0;
    int world_rank = -1;
    InitMode init = InitMode::UNKNOWN;
    /* its business card is known: it adapts, or waits in MPIX_Comm_modify */
    bool takes_part = false;
    std::string bc;             /* network addresses, raw */
    uint64_t pid_namespace = 0; /* 0: not known */
    bool ready = false;         /* joining: waits in begin */
    pmi_adapt_host segment = {};
    uint32_t left_epoch = 0;    /* the epoch in which it left the world */
    bool ended = false;
    /* in a change through process sets: its end, of any kind, ends no other process */
    bool may_exit = false;

    ProxyId proxy_id() const { return {group, proxy}; }
};

class World {
  public:
    /* A group that has been started; the launch (group 0) becomes the world. */
    void add_group(int group, uint32_t first_uid, std::span<const step_process> processes);
    bool has_group(int group) const { return groups_.contains(group); }

    /* nullptr: there is none. */
    Process *find(int group, int rank);
    const Process *find(int group, int rank) const;
    std::span<Process> processes(int group);

    const std::vector<Process *> &members() const { return members_; }
    /* nullptr: no living member has this uid. */
    const Process *find_member(uint32_t uid) const;
    int size() const { return static_cast<int>(members_.size()); }
    int members_on(const std::string &host) const;
    /* Members that have not ended. */
    int living() const { return living_; }

    /* Commit: staying in their old order, then the joining group in its own (W2).  Returns the
     * processes that left. */
    std::vector<Process *> commit(const Change &change, int joining_group);

    void mark_ended(Process &process);

    bool disconnected(const ProxyId &proxy_id) const;
    /* The proxy's processes that had not been reported as ended. */
    std::vector<Process *> mark_disconnected(const ProxyId &proxy_id);
    bool known(const ProxyId &proxy_id) const;
    /* Processes of this proxy that have not ended. */
    std::vector<uint32_t> living_of(const ProxyId &proxy_id) const;
    std::string host_of(const ProxyId &proxy_id) const;      /* empty if it is not known */
    void remove_empty_groups();

    /* Proxies that have not disconnected and hold at least one of these processes. */
    static std::set<ProxyId> proxies_of(const std::vector<Process *> &processes);

  private:
    struct Proxy {
        bool disconnected = false;
        std::vector<int> ranks;
    };
    struct Group {
        std::vector<Process> processes;
        std::map<int, Proxy> proxies;  /* by number */
    };

    const Proxy *find_proxy(const ProxyId &proxy_id) const;

    std::map<int, Group> groups_;
    std::vector<Process *> members_;
    std::map<std::string, int> members_on_;     /* by host */
    int living_ = 0;
};

}  // namespace elastic

#endif /* ELASTIC_WORLD_H_INCLUDED */
