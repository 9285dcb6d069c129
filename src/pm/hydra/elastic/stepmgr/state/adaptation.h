/*
 * The adaptation under way: the request, its origin, and the proxies whose replies are pending.
 * Data only; StepState owns it, and adaptation_table.h has its transitions.
 */

#ifndef ELASTIC_ADAPTATION_H_INCLUDED
#define ELASTIC_ADAPTATION_H_INCLUDED

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/change.h"
#include "stepmgr/common/size_request.h"
#include "stepmgr/common/step_events.h"
#include "stepmgr/common/world.h"
#include "stepmgr/proto/call_reply.h"
#include "stepmgr/proto/payload.h"
#include "stepmgr/proto/pset_call.h"
#include "stepmgr/state/adaptation_table.h"

namespace elastic {

struct Waiter {
    int client = -1;
    Json id;
};

struct RankCount {
    const Process *process = nullptr;
    CountReport report;
};

/* Of a change through process sets, to the process with this uid. */
struct NotifiedChange {
    uint32_t tag = 0, uid = 0;
    bool complete = false, failed = false;        /* before that process has answered */
};

struct Adaptation {
    uint64_t request = 0;       /* number of the request, 1, 2, ... per step */
    Origin origin = Origin::CLIENT;
    std::string label;          /* for messages: "schedule entry 3" */
    std::optional<Waiter> waiter;       /* gets a second answer at the end */

    ChangeRequest requested;
    Change change;
    int old_size = 0;
    uint32_t epoch = 0;
    std::string reason;         /* for the application */
    uint64_t deadline_unix_ms = 0;      /* 0: none */

    AdaptState state = AdaptState::ACCEPTED;
    std::string end_reason;     /* of withdrawal or failure */

    int group = -1;             /* of the joining processes, -1: none (yet) */
    uint32_t first_uid = 0;
    int unready = 0;            /* joining processes that do not wait in begin yet */
    std::set<ProxyId> pre_proxies; /* hold pre-existing processes */
    std::set<ProxyId> proxy_ids;     /* and those of joining ones */
    std::set<ProxyId> prepare_pending, freeze_pending, commit_pending, counts_pending;
    std::set<ProxyId> greeted;    /* of those that hold joining processes */
    /* for these to be greeted, and the others to prepare, until freeze_at_ms */
    std::set<ProxyId> prepare_hoped;
    std::string plan;           /* until it has been sent to all */
    uint64_t target = 0;
    std::vector<RankCount> counts;      /* of the round of STEP_COUNTS under way */

    /* through process sets (pset_changes.h) */
    uint32_t tag = 0;           /* of the change that is announced; unique in the job */
    /* processes of the addition that came first, in a request that does both */
    int added = 0;
    std::vector<uint32_t> chosen;       /* the leaving processes, if the request names them */
    /* whom the joining processes are introduced to, once one has queried */
    std::optional<SetMembers> known;
    bool introduced = true;     /* none of them has reported that it could not be */
    std::vector<SetCaller> entering;    /* joining processes that wait in MPI_Session_init */
    std::optional<SetMembers> delta;    /* once it has been announced */
    std::string delta_name;
    SetData keys;               /* of the accept */
    std::set<uint32_t> awaited; /* who has not initialised since, or not ended */
    std::map<std::string, int> left_hosts;
    std::vector<uint32_t> left_uids;

    std::vector<std::string> unreceived;        /* messages that nobody received, for people */

    int64_t requested_ms = 0, ready_ms = 0, agreed_ms = 0;
    int64_t freeze_at_ms = -1;  /* at the latest; -1: not yet, or done */
    int64_t paced_ms = 0;       /* and not before */
    bool freeze_sent = false;
    int64_t straggler_report_ms = -1, straggler_wait_ms = 0;    /* P8; -1: no report planned */
    int64_t ending_query_ms = -1, ending_until_ms = -1; /* in ENDING: query again, give up asking */
    bool ending_confirmed = false;      /* the program is over, as of the last round */
};

}  // namespace elastic

#endif /* ELASTIC_ADAPTATION_H_INCLUDED */
