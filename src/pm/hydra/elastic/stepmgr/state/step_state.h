/*
 * The state of a job step that its components share: configuration, clock, world, adaptation under
 * way, journal.  Step (step.h) owns it, and each component holds a reference.  Components do not
 * call each other: they read and write this state, and Step passes events and results between them.
 */

#ifndef ELASTIC_STEP_STATE_H_INCLUDED
#define ELASTIC_STEP_STATE_H_INCLUDED

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "stepmgr/common/size_request.h"
#include "stepmgr/common/step_events.h"
#include "stepmgr/common/world.h"
#include "stepmgr/state/adaptation.h"
#include "stepmgr/state/adaptation_statistics.h"
#include "stepmgr/stepmgr.h"

namespace elastic {

/* The request of the last adaptation that has ended. */
struct LastEnd {
    uint64_t request = 0;
    AdaptState state = AdaptState::ACCEPTED;
    std::string reason;
};

struct StepState {
    StepState(const step_config &config, const step_effects &step_effects);

    std::string step_id, program, user;
    int64_t unix_ms_at_zero = 0;
    int programs = 0;           /* number of programs launched together; 0: not known */
    bool managed = false;       /* a resource manager decides */
    /* sum of processes of the world, in slots and spawned; 0: any number */
    int processes_max = 0;
    int range_min = 0, range_max = 0;   /* 0: not given */
    step_effects effects;
    Journal journal;

    int64_t now_ms = 0;
    World world;
    InitMode mode = InitMode::UNKNOWN;
    bool ending = false;        /* a member has ended: no further change is offered */
    bool over = false;          /* all members have ended */
    bool broken = false;        /* an error or a signal ends the job */
    uint32_t epoch = 0;         /* last committed */
    int64_t epoch_began_ms = 0; /* time of that commit, or of the last initialisation */
    std::optional<Adaptation> adaptation;
    LastEnd last_end;
    /* The last change through process sets that was announced to a process, until that process
     * accepts or declines. */
    std::optional<NotifiedChange> notified;
    AdaptationStatistics statistics;
    uint32_t next_uid = 0;      /* of the next joining process; a uid is never used again */
    uint64_t requests = 0;      /* size and slot requests so far */
    std::set<int> killed_groups;
    /* groups outside the world: process requests, relay proxies */
    std::set<int> separate_groups;
    std::map<std::string, int> spawned; /* by host: number of running processes of MPI_Comm_spawn */
    /* by uid: processes that have made a call and have not ended */
    std::map<uint32_t, ProxyId> callers;

    uint64_t unix_now_ms() const { return static_cast<uint64_t>(unix_ms_at_zero + now_ms); }
    bool adapts() const { return mode == InitMode::ADAPTIVE || mode == InitMode::SETS; }
    bool is_joining(const Process &process) const;
    bool is_leaving(const Process &process) const;
    bool is_apart(int group) const
    {
        return killed_groups.contains(group) || separate_groups.contains(group);
    }
    /* For messages: "rank 3 on node a". */
    std::string describe(const Process &process) const;

    /* An event of the adaptation under way, or of the step if there is none. */
    void log(const char *event, Json fields);
    /* Sends to those of the proxies that are connected. */
    void post(const std::set<ProxyId> &proxy_ids, step_command command, uint32_t about_epoch,
              std::string_view payload);
    /* An event that does not fit the state of the step: it is counted and logged, and has no other
     * effect. */
    void unexpected(const std::string &what);
    void notify_user(const std::string &text)
    {
        effects.notify_user(effects.context, text.c_str());
    }
    void reply(int client, const std::string &line)
    {
        effects.reply(effects.context, client, line.c_str());
    }

    uint64_t unexpected_count = 0;
    unsigned unauthenticated = 0;        /* connections without the job's secret */
    RequestRate unexpected_rate;        /* of their events */
};

}  // namespace elastic

#endif /* ELASTIC_STEP_STATE_H_INCLUDED */
