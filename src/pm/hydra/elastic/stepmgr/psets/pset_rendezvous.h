/*
 * Rendezvous: each member of a list of processes says whether it has the business cards of all others.  When the last
 * one has come all are notified so if all have them; else all get the business cards, and meet once more.  So
 * processes that were started apart become known to each other, and nobody waits for one that has disconnected.
 * Those that know each other for good, a full mesh, are notified so and need not come again: whoever has not heard of
 * it and comes is answered at once.  SI8.
 *
 * Owned by Sets, which knows who has ended.  A rendezvous is known by its members and a tag; when it is over, another
 * one may follow under the same.
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

    /* What all get in place of the business cards, when the last one has come. */
    using Answer = std::function<std::string()>;

    /* The caller, a member, has come; none of them has ended, and each has given its business card.  Nothing: it has
     * to wait. */
    std::optional<std::string> come(const SetCaller &caller, const RendezvousMembers &call, const PsetBcTable &bcs,
                                    const Answer &answer = {});
    /* One process, or those of one full mesh. */
    bool know_each_other(const SetMembers &members) const { return members.size() == 1 || meshes_.hold(members); }
    /* These have become known to each other in another way, as if they had met.  Whether they are a full mesh now. */
    bool introduce(const SetMembers &members, const PsetBcTable &bcs);
    /* Whether anybody waits where one of these belongs to. */
    bool wait_for_any(const Uids &uids) const;
    /* Nobody waits for this process any more. */
    void without(uint32_t uid);
    /* To those who have waited. */
    std::vector<SetReply> take_replies() { return std::exchange(replies_, {}); }

  private:
    struct Rendezvous {
        SetMembers members;
        std::map<uint32_t, SetCaller> guests;   /* by uid */
        bool all_know = true;
        bool wants_bcs = true;  /* not for another answer */
    };
    using Meetings = std::map<std::string, Rendezvous>; /* by tag and members */

    Meetings::iterator end(Meetings::iterator rendezvous, const std::string &answer);
    void end_needless(const PsetBcTable &bcs);

    size_t most_;
    Meetings meetings_;
    PsetMeshes meshes_;
    std::vector<SetReply> replies_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_RENDEZVOUS_H_INCLUDED */
