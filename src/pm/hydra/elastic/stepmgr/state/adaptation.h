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

/* A change through process sets that was announced to the process with this uid. */
struct NotifiedChange {
    uint32_t tag = 0, uid = 0;
    bool complete = false, failed = false;        /* before that process accepted or declined */
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
    int unready = 0;            /* number of joining processes that do not wait in begin yet */
    std::set<ProxyId> pre_proxies; /* proxies with pre-existing processes */
    std::set<ProxyId> proxy_ids;     /* these, and proxies with joining processes */
    std::set<ProxyId> prepare_pending, freeze_pending, commit_pending, counts_pending;
    std::set<ProxyId> greeted;    /* proxies with joining processes, all of which are greeted */
    /* the freeze waits for these proxies, to be greeted or to prepare, until freeze_at_ms */
    std::set<ProxyId> prepare_hoped;
    std::string plan;           /* until it has been sent to all */
    uint64_t target = 0;
    std::vector<RankCount> counts;      /* of the present round of STEP_COUNTS */

    /* through process sets (pset_changes.h) */
    uint32_t tag = 0;           /* of the announced change; unique in the job */
    /* for a request that adds and removes: number of processes that the addition added */
    int added = 0;
    std::vector<uint32_t> chosen;       /* the leaving processes, if the request names them */
    /* processes to which the joining ones are introduced; set at the first query */
    std::optional<SetMembers> known;
    bool introduced = true;     /* no joining process has reported that this failed */
    std::vector<SetCaller> entering;    /* joining processes that wait in MPI_Session_init */
    std::optional<SetMembers> delta;    /* set when the change is announced */
    std::string delta_name;
    SetData keys;               /* of the accept */
    std::set<uint32_t> awaited; /* processes that have not initialised yet, or not ended yet */
    std::map<std::string, int> left_hosts;
    std::vector<uint32_t> left_uids;

    std::vector<std::string> unreceived;        /* texts about messages that were not received */

    int64_t requested_ms = 0, ready_ms = 0, agreed_ms = 0;
    int64_t freeze_at_ms = -1;  /* latest time of the freeze; -1: not known yet, or done */
    int64_t paced_ms = 0;       /* earliest time of the freeze */
    bool freeze_sent = false;
    int64_t straggler_report_ms = -1, straggler_wait_ms = 0;    /* P8; -1: no report planned */
    /* in ENDING: time of the next query, end of the queries */
    int64_t ending_query_ms = -1, ending_until_ms = -1;
    bool ending_confirmed = false;      /* the program is over, as of the last round */
};

}  // namespace elastic

#endif /* ELASTIC_ADAPTATION_H_INCLUDED */
