/*
 * The process sets of a job.  Sets are made, named, freed and written here only, so that all
 * changes have one order.  Input: calls of processes; output: replies.  No time, no other effects.
 * A reply shows the state of all sets at that moment.  SN3-SN7, SI7, SI8, SO1-SO9, SD1-SD3,
 * SA1-SA3.
 *
 *   psets.cpp          the table, changes, sets that operations make, calls
 *   psets_lookup.cpp   lookups, sets that a process makes by itself, names
 *   psets_data.cpp     data, broadcasts, rendezvous, open operations
 *
 * Owned by ProcessSets (process_sets.h).  Limits bounds all data.
 */

#ifndef ELASTIC_PSETS_H_INCLUDED
#define ELASTIC_PSETS_H_INCLUDED

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stepmgr/psets/pset_bcasts.h"
#include "stepmgr/proto/pset_call.h"
#include "stepmgr/psets/pset_bc_table.h"
#include "stepmgr/psets/pset_rendezvous.h"
#include "stepmgr/common/pset_members.h"

namespace elastic {

/* Whether a user may give a set this name: 1 to 254 printable characters without blank, of the form
 * scheme://rest, and not a name of the library. */
bool is_user_set_name(const std::string &name);

class Sets {
  public:
    struct Limits {
        size_t sets = 65536;
        size_t disconnected =
            1024; /* latest sets all of whose processes have ended: they may still be operands */
        size_t data = 64 * 1024;        /* bytes of each set's dictionary */
        size_t runs = 16 << 20; /* runs of the members of all sets */
        size_t operands_runs = 4 << 20; /* runs of the operands of one operation */
        size_t rounds =
            65536; /* of processes that request data together, and have not all queried; and as
                                         * many groups of such processes */
        size_t bcasts = 4096;   /* sets with broadcasts of texts */
        size_t rendezvous = 4096;
        size_t worlds = 1024;
        size_t worlds_runs = 1 << 20;
        size_t rebound =
            65536; /* names that have been moved to; with more of them nothing is cached */
    };

    using Caller = SetCaller;
    using Reply = SetReply;

    Sets() : Sets(Limits()) {}
    explicit Sets(const Limits &limits)
        : limits_(limits), bcasts_(limits.bcasts), rendezvous_(limits.rendezvous)
    {
    }

    /* All uids of the job's processes are less than `next_uid`. */
    void grow(uint32_t next_uid) { next_uid_ = next_uid; }
    /* Adds a set of the launch (--pset).  False: the name is in use. */
    bool add(const std::string &name, const SetMembers &members);
    /* Adds the world of an epoch as mpix://WORLD/EPOCH: lookups find it, lists do not contain it.
     * Only the latest worlds are kept. */
    void add_world(uint32_t epoch, SetMembers members);

    /* The processes of an addition that is not accepted yet. */
    void propose(uint32_t first_uid, uint32_t count);
    /* The process that was notified of the addition; UINT32_MAX: none. */
    void notify(uint32_t uid) { notified_ = uid; }
    /* The addition is accepted: its processes may start. */
    void start_proposed();
    /* Whether processes wait in a rendezvous with them until they are accepted. */
    bool are_proposed_awaited() const { return rendezvous_.wait_for_any(proposed_); }
    /* This process has started, or has begun to use MPI. */
    void run(uint32_t uid) { starting_.erase(uid); }
    /* A process of the launch that has not begun to use MPI. */
    void start(uint32_t uid) { starting_.insert(uid); }
    /* Whether the reply depends on processes of the launch that have started, or on the accept of
     * an addition. */
    bool reports_starts(Bytes call);
    bool may_report_accept(Bytes call);
    /* Adds the delta of the change with this tag.  Returns its name; "": there is no capacity.  It
     * cannot be freed before its change is over. */
    std::string add_delta(uint32_t tag, pmi_set_op kind, SetMembers members);
    /* The delta is accepted.  A call that frees it now need not wait: it is freed when the change
     * is over. */
    void delta_accepted() { delta_state_ = DeltaState::ACCEPTED; }
    std::vector<Reply> delta_over();
    /* Frees the delta of a declined change.  Returns the replies to waiting processes. */
    std::vector<Reply> free_delta();
    /* The error reply when there is no capacity for one more set. */
    std::string full_error() const;
    /* Operations that change the world (pset_operations.h).  They are open from their end until
     * they are closed, by the name of the set to which they were bound, or of a set that they
     * made. */
    struct OpenOp {
        pmi_set_op op = {};
        std::vector<std::string> names;
    };
    void open_op(const std::string &bound, OpenOp op);
    const OpenOp *find_open_op(const std::string &bound);
    std::optional<std::string> close_op(const std::string &name);
    /* Makes the union or difference of two sets for the process with this uid.  Returns its name;
     * "": it is empty, or there is no capacity. */
    std::string combine(uint32_t uid, pmi_set_op op, const std::string &first,
                        const std::string &second);
    /* Collects the same query of all members of the operand.  All get the reply that is made at the
     * last one. */
    std::vector<Reply> gather(const Caller &caller, const QueryOp &call,
                              const PsetRendezvous::Answer &answer);

    /* Writes the data of the existing set of this name, for a process that may cache it. */
    void lookup(const Caller &caller, const std::string &name, SetAnswer &answer);
    /* The same for at most `most` sets that contain the caller and were made with this delta or
     * later. */
    void lookup_since(const Caller &caller, const std::string &delta, size_t most,
                      SetAnswer &answer);
    /* The latest running set that contains this process and is not `but`; "": there is none among
     * the last few. */
    std::string find_latest(uint32_t uid, const std::string &but) const;
    /* This process may make PMI_SET_GRANT sets by itself.  Returns the number of the first one; 0:
     * there is no capacity.  Until end_grant() no other process may. */
    uint32_t grant(uint32_t uid);
    void end_grant();
    /* Whether a query may concern sets that another process has made by itself, and that are not
     * known here yet. */
    bool may_be_about_granted(const Caller &caller, Bytes call) const;
    void set_bc(uint32_t uid, const std::string &bc) { bcs_.give(uid, bc); }
    /* Appends u32 n, n * (u32 uid, text business card) of members whose business cards the caller
     * has not received.  Returns their uids. */
    std::vector<uint32_t> append_bcs(const Caller &caller, const SetMembers &members,
                                     SetAnswer &answer);
    /* Whether the members are not too many, and each has the addresses of all. */
    bool know_each_other(const SetMembers &members) const;
    /* Introduces the members to each other without a rendezvous.  Returns whether that was
     * possible.  `replies`: to processes that wait in a rendezvous with one of them. */
    bool introduce(const SetMembers &members, std::vector<Reply> &replies);

    /* The members of the operand; nothing: `error` has the reason. */
    std::optional<SetMembers> resolve_operand(const SetOperand &operand, std::string &error);

    /* The reply to this call, unless it waits, and replies to calls that waited for it.
     * `neighbours`: the other processes of the caller's proxy. */
    std::vector<Reply> call(const Caller &caller, Bytes call,
                            std::span<const uint32_t> neighbours = {});
    /* This living process received the reply to a call of another process, with these business
     * cards. */
    void mark_bcs_known(uint32_t uid, const SetMembers &bcs) { bcs_.notified(uid, bcs); }
    /* A process has ended; replies to processes that waited. */
    std::vector<Reply> ended(uint32_t uid);
    /* A proxy has counted the calls of its processes; replies to processes that waited. */
    std::vector<Reply> frozen(uint64_t proxy_id, const BcastReport &count);
    /* Orders that proxies execute before the last replies are sent. */
    std::vector<SetBcasts::Order> take_orders() { return bcasts_.take_orders(); }
    /* Whether ends of processes have an effect here. */
    bool used() const { return serial_ > 0 || !bcasts_.empty() || ends_are_counted_; }

    /* may_cache: the caller may cache a reply that is not about a set. outdate_all: such replies
     * are no longer valid. */
    void may_cache(const Caller &caller) { caching_.insert(caller.proxy_id); }
    void outdate_all() { outdated_ = outdated_ || !caching_.empty(); }
    /* Proxies of processes that may cache replies which became invalid since the last call.
     * Replies that contradict these are made by the same call or a later one. */
    std::set<uint64_t> take_outdated();

    /* A set, for lists. */
    struct View {
        std::string name;
        uint32_t serial = 0;    /* when it got its name */
        size_t size = 0;
        pmi_set_state state = PMI_SET_RUNNING;
        const SetMembers *members = nullptr;    /* until the next call */
    };
    /* At most `most` sets that were named after the serial number `after`, in that order. */
    std::vector<View> view(uint32_t after, size_t most) const;

    /* Names that were given to a set or removed since the last call, in order. */
    struct Change {
        const char *event;      /* set_made, set_freed */
        std::string name;
        uint32_t serial = 0;
        SetMembers members;
        const char *why = "";   /* of set_freed: freed, moved, ended */
    };
    std::vector<Change> take_changes() { return std::exchange(changes_, {}); }

    /* Greater after each change; 0: there has been none. */
    uint32_t serial() const { return serial_; }

  private:
    struct Set {
        uint64_t id = 0;        /* constant, also if the name changes */
        std::string name;
        SetMembers members;
        pmi_set_op op = {};
        std::vector<std::string> operands;
        SetData data;
        size_t data_bytes = 0;
        uint32_t serial = 0;    /* when it got its name */
        std::optional<OpenOp> open;
        uint64_t notified = 0;  /* value of times_outdated_ when a process may have cached it */
        uint64_t disconnected =
            0; /* when (times_queried_) all members were seen to have disconnected; 0: not */
    };
    /* A query for data that several processes make together: all get the same reply to their n-th
     * query. */
    struct Round {
        SetMembers callers;
        std::string name;
        std::vector<std::string> keys;
        bool wait = false;
        std::set<uint32_t> requested;
        size_t pending_from = 0;        /* number of callers that have neither queried nor ended */
        std::vector<Caller> waiting;
        std::optional<std::string> answer;
    };
    /* A reply about a set: how long it holds, and the processes whose business cards it
     * contains. */
    struct Written {
        pmi_set_lasts lasts;
        std::vector<uint32_t> bcs;
    };
    /* The part of a reply that is the same for all processes of a proxy. */
    struct Shared {
        SetMembers members;
        std::vector<uint32_t> bcs;
    };
    using Operands = std::vector<const SetMembers *>;
    using Rounds =
        std::map<std::pair<std::string, uint32_t>, Round>; /* by who takes part, and its number */

    std::optional<std::string> answer(const Caller &caller, const MakeSets &call);
    std::optional<std::string> answer(const Caller &caller, const MakeFromList &call);
    std::optional<std::string> answer(const Caller &caller, const LookupSet &call);
    std::optional<std::string> answer(const Caller &caller, const ListSets &call);
    std::optional<std::string> answer(const Caller &caller, const MoveSet &call);
    std::optional<std::string> answer(const Caller &caller, const FreeSet &call);
    std::vector<Reply> erase_delta(const char *why);
    std::optional<std::string> answer(const Caller &caller, const PutData &call);
    std::optional<std::string> answer(const Caller &caller, const GetData &call);
    std::optional<std::string> answer(const Caller &caller, const JoinBcast &call);
    std::optional<std::string> answer(const Caller &caller, const GiveText &call);
    std::optional<std::string> answer(const Caller &caller, const TakeTurn &call);
    std::optional<std::string> answer(const Caller &caller, const RendezvousMembers &call);
    std::optional<std::string> answer(const Caller &caller, const MadeSet &call);
    std::optional<std::string> answer(const Caller &caller, const CountEnded &call);
    std::optional<std::string> answer(const Caller &caller, const NotifyState &call);

    Set *find(const std::string &name);
    bool mentions(Bytes call, const Uids &uids);
    pmi_set_state state_of(const SetMembers &members) const;
    void insert(Set set);
    std::string describe(const SetOperand &callers);
    SetMembers running() const;
    std::string resolve(std::span<const SetOperand> operands, SetMembers &all, Operands &members);
    bool is_of_job(const SetMembers &members) const;
    bool has_capacity(size_t sets, size_t runs);
    void drop_disconnected(size_t keep);
    Written write(const Caller &caller, Set &set, SetAnswer &answer);
    void share(const Shared &shared, std::span<const uint32_t> neighbours, Reply &reply) const;
    void write_made(const Caller &caller, std::span<const std::string> names, SetAnswer &answer);
    std::string make(const Caller &caller, const std::string &proposed, Set set);
    void erase(const std::string &name, const char *why);
    void drop_lookups(const Set &set);
    pmi_set_lasts how_lasting(const Set &set) const;
    void outdate(const Set &set) { outdated_ = outdated_ || set.notified == times_outdated_; }
    std::string check_caller(const Caller &caller, const SetOperand &callers, SetMembers &all,
                             Operands &members);
    std::optional<std::string> lookup(const Round &round);
    void lookup_again(std::vector<Reply> &replies);

    Limits limits_;
    uint32_t next_uid_ = 0, serial_ = 0;
    uint64_t last_id_ = 0;
    size_t runs_ = 0;           /* of all sets */
    std::map<std::string, std::unique_ptr<Set>> sets_;
    uint64_t times_queried_ = 0;      /* of sets whose processes have all disconnected */
    /* number of sets at which sets are checked for ended processes next */
    size_t next_lookup_ = 0;
    std::map<uint32_t, Set *> by_serial_;
    std::map<uint32_t, uint32_t> made_; /* by uid: number of names that the library made for it */
    struct Grant {
        uint32_t uid = 0, next = 0, end = 0;    /* numbers */
    };
    std::optional<Grant> grant_;
    Uids ended_, proposed_, starting_;  /* a uid is in at most one of them */
    uint32_t notified_ = UINT32_MAX;    /* process that was notified of the proposed ones */
    uint64_t open_delta_ = 0;   /* id of a set, 0: none */
    enum class DeltaState { OFFERED, ACCEPTED, FREED } delta_state_ = DeltaState::OFFERED;
    Rounds rounds_;
    std::map<std::string, std::map<uint32_t, uint32_t>>
        lookups_; /* by who takes part: of each uid so far */
    std::deque<std::unique_ptr<Set>> worlds_;
    size_t worlds_runs_ = 0;
    SetBcasts bcasts_;
    PsetRendezvous rendezvous_;
    PsetBcTable bcs_;
    std::optional<Shared> shared_;      /* of the reply under construction */
    bool ends_are_counted_ = false;     /* a process has queried which processes have ended */
    std::vector<Change> changes_;
    std::set<std::string> rebound_;     /* SO7: names that are never cached */
    std::set<uint64_t> caching_;    /* proxies of processes that may cache something */
    bool outdated_ = false;     /* cached replies are no longer valid */
    uint64_t times_outdated_ = 1;
};

}  // namespace elastic

#endif /* ELASTIC_PSETS_H_INCLUDED */
