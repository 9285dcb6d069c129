/*
 * Calls of processes on process sets, and the replies.  Calls arrive from the proxies of the
 * calling processes, and replies are sent to these proxies.  A call waits here for messages in
 * transit on which its reply depends (pset_sync.h).  A reply waits here while processes may cache
 * an older one (pset_invalidation.h).
 *
 *   process_sets.cpp   calls; processes that have not begun to use MPI; processes that are awaited
 *   pset_replies.cpp   replies, invalidation, events, lists for clients
 *
 * Owns the table of sets (psets.h).  Changes of the world through process sets are in
 * pset_changes.h.
 */

#ifndef ELASTIC_PROCESS_SETS_H_INCLUDED
#define ELASTIC_PROCESS_SETS_H_INCLUDED

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stepmgr/proto/payload.h"
#include "stepmgr/proto/protocol.h"
#include "stepmgr/proto/task_call.h"
#include "stepmgr/psets/pset_invalidation.h"
#include "stepmgr/psets/pset_sync.h"
#include "stepmgr/psets/psets.h"
#include "stepmgr/state/step_state.h"

namespace elastic {

class ProcessSets {
  public:
    /* Calls that the table of sets does not handle. */
    struct Hooks {
        std::function<void(const SetCaller &caller, const TaskCall &call)> task_call;
        std::function<void(Process &process, const SetCaller &caller, const ChangeCall &call)>
            change_call;
    };

    ProcessSets(StepState &state, Hooks hooks) : state_(state), hooks_(std::move(hooks)) {}

    Sets &table() { return sets_; }
    const Sets &table() const { return sets_; }

    /* Makes a world a process set, unless it has more processes than a set can have. */
    void add_world(uint32_t epoch, const std::vector<uint32_t> &uids);
    void add_coming_world();
    /* Proxies report every begin and end of a process from now on, also in a job that does not
     * adapt. */
    void track_ends();

    /* Reports of proxies.  False: the report does not fit. */
    void on_call(Process &process, SetReport &report);
    bool on_shared(const ProxyId &proxy_id, const SharedReport &report);
    void on_synced(const ProxyId &proxy_id, uint64_t number);
    bool on_started(const ProxyId &proxy_id, const StartedReport &report);
    bool on_comes(const ProxyId &proxy_id, const ComesReport &report);
    void on_bcast(const ProxyId &proxy_id, const BcastReport &count);
    void on_invalidated(const ProxyId &proxy_id, uint64_t number);

    /* The process has begun to use MPI, or has ended. */
    void has_begun(uint32_t uid);
    void process_ended(uint32_t uid) { send_replies(sets_.ended(uid)); }
    /* Calls that waited for a proxy which has disconnected.  They continue when its processes have
     * ended. */
    struct FreeCalls {
        SetSync::Calls synced, started;
    };
    FreeCalls proxy_disconnected(const ProxyId &proxy_id);
    void continue_calls(const ProxyId &proxy_id, const FreeCalls &calls);

    /* Queries the proxy of a process whether the process takes part in a communicator that is being
     * made.  Nothing: the reply comes later. */
    std::optional<std::string> query_arrival(const SetCaller &caller, const QueryArrival &call);

    void send_replies(const std::vector<Sets::Reply> &replies);
    /* These proxies are to invalidate the caches of their processes.  Returns the number with which
     * they confirm. */
    uint64_t begin_invalidation(const std::set<ProxyId> &proxy_ids)
    {
        return invalidation_.begin(proxy_ids);
    }
    /* Proxies that have not confirmed the first invalidation that is pending. */
    std::set<ProxyId> pending_invalidation() const { return invalidation_.owing(); }

    /* log_changes: events of sets that were made or freed. log_skipped: at the end of the job, the
     * number of skipped events. */
    void log_changes();
    void log_skipped();
    std::string answer_psets(const Json &id, const PsetsRequest &request) const;

  private:
    static constexpr size_t PSETS_MAX = 1000;   /* sets in a reply */
    static constexpr size_t PSET_RUNS_MAX = 64; /* runs of a set in a reply */

    struct PendingArrival {
        SetCaller caller;
        ProxyId proxy_id;            /* the queried proxy */
    };

    void sync();
    void continue_with(const SetSync::Calls &calls,
                       void (ProcessSets::*with)(Process &, const SetReport &));
    void count_starts();
    void answer_as_of_starts(Process &process, const SetReport &report);
    void query_starts();
    void carry_out(Process &process, const SetReport &report);
    void arrivals_without(const ProxyId &proxy_id);
    void invalidate();
    void send_answers();

    StepState &state_;
    Hooks hooks_;
    Sets sets_;
    bool tracks_ends_ = false;
    RequestRate event_rate_;
    uint64_t events_skipped_ = 0;
    PsetInvalidation invalidation_;
    SetSync sync_;              /* of sets that processes make by themselves */
    SetSync starts_;            /* of processes that have begun to use MPI */
    /* Uids of the launch that have not begun to use MPI as far as known; nothing: not needed so
     * far. */
    std::optional<std::set<uint32_t>> unbegun_;
    std::map<uint64_t, PendingArrival> pending_arrivals_;       /* by number */
    uint64_t last_arrival_query_ = 0;
    /* lookups that processes have requested; a proxy sends one for all of its processes */
    uint64_t lookups_ = 0;
};

}  // namespace elastic

#endif /* ELASTIC_PROCESS_SETS_H_INCLUDED */
