/*
 * Meetings: each member of a list of processes says whether it has the cards of all others.  When the last one has come
 * all are told so if all have them; else all get the cards, and meet once more.  So processes that were started apart
 * become known to each other, and nobody waits for one that has departed.  Those that know each other for good, a
 * circle, are told so and need not come again: whoever has not heard of it and comes is answered at once.  SI8.
 *
 * Owned by Sets, which knows who has ended.  A meeting is known by its members and a tag; when it is over, another one
 * may follow under the same.
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
#include "stepmgr/psets/pset_business_cards.h"
#include "stepmgr/psets/pset_meshes.h"

namespace elastic {

class SetMeetings {
  public:
    explicit SetMeetings(size_t most) : most_(most) {}

    /* What all get in place of the cards, when the last one has come. */
    using Answer = std::function<std::string()>;

    /* The caller, a member, has come; none of them has ended, and each has given its card.  Nothing: it has to wait. */
    std::optional<std::string> come(const SetCaller &caller, const MeetMembers &call, const SetCards &cards,
                                    const Answer &answer = {});
    /* One process, or those of one circle. */
    bool know_each_other(const SetMembers &members) const { return members.size() == 1 || circles_.hold(members); }
    /* These have become known to each other in another way, as if they had met.  Whether they are a circle now. */
    bool introduce(const SetMembers &members, const SetCards &cards);
    /* Whether anybody waits where one of these belongs to. */
    bool wait_for_any(const Uids &uids) const;
    /* Nobody waits for this process any more. */
    void without(uint32_t uid);
    /* To those who have waited. */
    std::vector<SetReply> take_replies() { return std::exchange(replies_, {}); }

  private:
    struct Meeting {
        SetMembers members;
        std::map<uint32_t, SetCaller> guests;   /* by uid */
        bool all_know = true;
        bool is_for_cards = true;       /* not for another answer */
    };
    using Meetings = std::map<std::string, Meeting>;    /* by tag and members */

    Meetings::iterator end(Meetings::iterator meeting, const std::string &answer);
    void end_needless(const SetCards &cards);

    size_t most_;
    Meetings meetings_;
    SetCircles circles_;
    std::vector<SetReply> replies_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_RENDEZVOUS_H_INCLUDED */
