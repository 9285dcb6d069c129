/*
 * Rendezvous.  Each member of a list of processes reports whether it has the business cards of all
 * others.  If all have them when the last member enters, all are notified.  Else all receive the
 * business cards and enter once more.  So processes that were started separately exchange their
 * addresses, and no process waits for one that has ended.  Members of a full mesh need no
 * rendezvous: a member that enters one gets its reply at once.  SI8.
 *
 * Owned by Sets, which stores the processes that have ended.  Members and a tag identify a
 * rendezvous.  After its end another one with the same members and tag may follow.
 */

#ifndef ELASTIC_PSET_RENDEZVOUS_H_INCLUDED
#define ELASTIC_PSET_RENDEZVOUS_H_INCLUDED

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stepmgr/psets/pset_bcasts.h"
#include "stepmgr/proto/pset_call.h"
#include "stepmgr/psets/pset_bc_table.h"
#include "stepmgr/psets/pset_meshes.h"

namespace elastic {

class PsetRendezvous {
  public:
    explicit PsetRendezvous(size_t most) : most_(most) {}

    /* Makes the reply to all members, instead of the business cards, when the last one enters. */
    using Answer = std::function<std::string()>;

    /* The caller, a member, enters.  No member has ended, and each has sent its business card.
     * Nothing: the caller waits. */
    std::optional<std::string> come(const SetCaller &caller, const RendezvousMembers &call,
                                    const PsetBcTable &bcs, const Answer &answer = {});
    /* Whether the members are a single process, or are in one full mesh. */
    bool know_each_other(const SetMembers &members) const
    {
        return members.size() == 1 || meshes_.hold(members);
    }
    /* Introduces the members to each other without a rendezvous.  Returns whether they are one full
     * mesh now. */
    bool introduce(const SetMembers &members, const PsetBcTable &bcs);
    /* Whether a process waits in a rendezvous with one of these processes. */
    bool wait_for_any(const Uids &uids) const;
    /* A process has ended. */
    void without(uint32_t uid);
    /* Replies to processes that waited. */
    std::vector<SetReply> take_replies() { return std::exchange(replies_, {}); }

  private:
    struct Rendezvous {
        SetMembers members;
        std::map<uint32_t, SetCaller> guests;   /* by uid */
        bool all_know = true;
        bool wants_bcs = true;  /* false: the rendezvous has another reply */
    };
    using Meetings = std::map<std::string, Rendezvous>; /* by tag and members */

    Meetings::iterator end(Meetings::iterator rendezvous, const std::string &answer);
    void end_needless(const PsetBcTable &bcs);

    size_t most_;
    Meetings rendezvous_;
    PsetMeshes meshes_;
    std::vector<SetReply> replies_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_RENDEZVOUS_H_INCLUDED */
