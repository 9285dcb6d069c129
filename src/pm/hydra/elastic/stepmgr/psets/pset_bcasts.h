/*
 * Texts that the first process of a set sends to all members (MPIX_Session_bcast_pset_info).  As in
 * a probe (doc/developer/decisions/agreement.md), the members agree on the number of a call that no
 * member has reached yet.  Members count their calls on the boards and read a gate there.  A member
 * that the gate stops sends a query to this class.  Input: calls of processes and counts of
 * proxies; output: replies, and orders to proxies.  SB1, SB2.
 *
 * Owned by Sets, which handles names; here a constant string identifies a set.  A process takes
 * part with one of its slots on the board.  At most one text is under way in a set, and one may
 * wait for it.
 */

#ifndef ELASTIC_PSET_BCASTS_H_INCLUDED
#define ELASTIC_PSET_BCASTS_H_INCLUDED

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pmi_adapt.h"
#include "stepmgr/common/pset_members.h"
#include "stepmgr/proto/call_reply.h"
#include "messages/reports.h"
#include "wire/bcast.h"

namespace elastic {

using Uids = std::set<uint32_t>;

class SetBcasts {
  public:
    struct Order {
        std::set<uint64_t> proxy_ids;
        bcast_order order = {};
    };

    explicit SetBcasts(size_t most) : most_(most) {}

    /* The caller is a member.  From now on it counts its calls in this slot, which counts for no
     * other set.  The reply contains the slot: the one that already counts for this set, else
     * `slot`. */
    std::string join(const SetCaller &caller, const std::string &who, const SetMembers &members,
                     uint32_t slot, const Uids &ended);
    /* The caller is the first living member. */
    std::string give(const SetCaller &caller, uint32_t slot, std::string text, const Uids &ended);
    /* The gate stops the caller in the call with this number.  Nothing: the reply comes later. */
    std::optional<std::string> turn(const SetCaller &caller, uint32_t slot, uint64_t number,
                                    const Uids &ended);
    /* A proxy has reported its counts. */
    void frozen(uint64_t proxy_id, const BcastReport &count, const Uids &ended);
    /* A process has ended; `ended` contains it. */
    void without(uint32_t uid, const Uids &ended);
    /* This string identifies no set any more. */
    void discard(const std::string &who);

    bool empty() const { return bcasts_.empty(); }
    /* Orders and replies since the last call.  Send the orders before the replies, and before the
     * reply to the call. */
    std::vector<Order> take_orders() { return std::exchange(orders_, {}); }
    std::vector<SetReply> take_replies() { return std::exchange(replies_, {}); }

  private:
    struct Part {
        uint32_t slot = 0;
        uint64_t proxy_id = 0;
    };
    struct Waiting {
        SetCaller caller;
        uint64_t number = 0;
    };
    struct Text {
        uint32_t number = 0;
        std::string text;
        /* proxies that have not counted; empty: the number is agreed on */
        std::set<uint64_t> counting;
        uint64_t target = 1;    /* the greatest ceiling */
        std::vector<Waiting> waiting;
        std::optional<std::string> answer;      /* the reply that the first process received */
        Uids notified;
        /* number of members that have neither received it nor ended */
        size_t pending_from = 0;
    };
    struct Bcast {
        uint32_t id = 0;
        std::string who;
        SetMembers members;
        std::map<uint32_t, Part> parts; /* by uid */
        std::optional<Text> text;
        std::optional<std::string> next;
    };

    Bcast *find(uint32_t uid, uint32_t slot);
    void order(const Bcast &bcast, enum bcast_what what, uint64_t value);
    void start(Bcast &bcast, std::string text, const Uids &ended);
    void agree(Bcast &bcast, const Uids &ended);
    std::string answer(Bcast &bcast, uint32_t uid, uint64_t number, const Uids &ended);
    void finish_if_notified(Bcast &bcast, const Uids &ended);
    void leave(Bcast &bcast, uint32_t uid, const Uids &ended);
    void drop_if_unused(Bcast &bcast);
    void erase(Bcast &bcast);

    size_t most_;
    uint32_t last_id_ = 0, last_text_ = 0;
    std::map<std::string, std::unique_ptr<Bcast>> bcasts_;      /* by `who` */
    std::map<std::pair<uint32_t, uint32_t>, Bcast *> slots_;    /* by uid and slot */
    std::set<Bcast *> under_way_;       /* those with a text */
    std::vector<Order> orders_;
    std::vector<SetReply> replies_;
};

}  // namespace elastic

#endif /* ELASTIC_PSET_BCASTS_H_INCLUDED */
