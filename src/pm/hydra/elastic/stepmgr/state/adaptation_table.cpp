/* See adaptation_table.h. */

#include "stepmgr/state/adaptation_table.h"

#include <iterator>

namespace elastic {

namespace {

using S = AdaptState;
using E = AdaptEvent;
using A = AdaptAction;

constexpr AdaptTransition TABLE[] = {
    {S::ACCEPTED, E::NOBODY_JOINS, S::FREEZING, A::SEND_PLAN},
    {S::ACCEPTED, E::LAUNCHED, S::LAUNCHING, A::NONE},
    {S::ACCEPTED, E::LAUNCH_REFUSED, S::FAILED, A::NONE},
    {S::ACCEPTED, E::WITHDRAW, S::WITHDRAWN, A::NONE},
    {S::ACCEPTED, E::JOB_ENDED, S::WITHDRAWN, A::NONE},
    {S::ACCEPTED, E::MEMBER_FAILED, S::FAILED, A::NONE},

    {S::LAUNCHING, E::STARTED, S::JOINING, A::NONE},
    {S::LAUNCHING, E::WITHDRAW, S::WITHDRAWN, A::REMOVE_JOINING},
    {S::LAUNCHING, E::JOB_ENDED, S::WITHDRAWN, A::REMOVE_JOINING},
    {S::LAUNCHING, E::JOINING_FAILED, S::FAILED, A::REMOVE_JOINING},
    {S::LAUNCHING, E::MEMBER_FAILED, S::FAILED, A::REMOVE_JOINING},

    {S::JOINING, E::ALL_READY, S::FREEZING, A::SEND_PLAN},
    {S::JOINING, E::WITHDRAW, S::WITHDRAWN, A::REMOVE_JOINING},
    {S::JOINING, E::JOB_ENDED, S::WITHDRAWN, A::REMOVE_JOINING},
    {S::JOINING, E::JOINING_FAILED, S::FAILED, A::REMOVE_JOINING},
    {S::JOINING, E::MEMBER_FAILED, S::FAILED, A::REMOVE_JOINING},

    {S::FREEZING, E::ALL_FROZEN, S::AGREED, A::SEND_TARGET},
    {S::FREEZING, E::PLAN_TOO_LARGE, S::FAILED, A::THAW},
    {S::FREEZING, E::WITHDRAW, S::WITHDRAWN, A::THAW},
    {S::FREEZING, E::JOB_ENDED, S::WITHDRAWN, A::THAW},
    {S::FREEZING, E::JOINING_FAILED, S::FAILED, A::THAW},
    {S::FREEZING, E::MEMBER_FAILED, S::FAILED, A::THAW},

    {S::AGREED, E::ALL_COMMITTED, S::COMMITTED, A::RELEASE},
    {S::AGREED, E::JOINING_FAILED, S::FAILED, A::ABORT_STEP},
    {S::AGREED, E::MEMBER_FAILED, S::FAILED, A::ABORT_STEP},
    {S::AGREED, E::PARTICIPANT_ENDED, S::ENDING, A::QUERY_COUNTS},

    /* Either the program ended without another probe, which is permitted, or a process in the
     * window now waits for one that has ended. */
    {S::ENDING, E::ALL_COMMITTED, S::COMMITTED, A::RELEASE},
    {S::ENDING, E::PROGRAM_OVER, S::WITHDRAWN, A::THAW},
    {S::ENDING, E::WINDOW_BROKEN, S::FAILED, A::ABORT_STEP},
    {S::ENDING, E::JOINING_FAILED, S::FAILED, A::ABORT_STEP},
    {S::ENDING, E::MEMBER_FAILED, S::FAILED, A::ABORT_STEP},
    {S::ENDING, E::PARTICIPANT_ENDED, S::ENDING, A::NONE},
};

}  // namespace

const AdaptTransition *find_row(std::span<const AdaptTransition> table, AdaptState state,
                                AdaptEvent event)
{
    for (const AdaptTransition &row : table) {
        if (row.state == state && row.event == event)
            return &row;
    }
    return nullptr;
}

const AdaptTransition *find_transition(AdaptState state, AdaptEvent event)
{
    return find_row(TABLE, state, event);
}

bool is_end(AdaptState state)
{
    return state == S::COMMITTED || state == S::WITHDRAWN || state == S::FAILED;
}

bool before_agreement(AdaptState state)
{
    return state == S::ACCEPTED || state == S::LAUNCHING || state == S::JOINING ||
           state == S::FREEZING || state == S::OFFERED;
}

const char *to_string(AdaptState state)
{
    switch (state) {
        case S::ACCEPTED: return "accepted";
        case S::LAUNCHING: return "launching";
        case S::JOINING: return "joining";
        case S::FREEZING: return "freezing";
        case S::AGREED: return "agreed";
        case S::ENDING: return "ending";
        case S::OFFERED: return "offered";
        case S::NOTIFIED: return "told";
        case S::ORPHANED: return "orphaned";
        case S::APPLYING: return "taken";
        case S::COMMITTED: return "committed";
        case S::WITHDRAWN: return "withdrawn";
        case S::FAILED: return "failed";
    }
    return "?";
}

const char *to_string(AdaptEvent event)
{
    switch (event) {
        case E::NOBODY_JOINS: return "nobody joins";
        case E::LAUNCHED: return "launched";
        case E::LAUNCH_REFUSED: return "launch refused";
        case E::STARTED: return "placed";
        case E::ALL_READY: return "all ready";
        case E::PLAN_TOO_LARGE: return "plan too large";
        case E::ALL_FROZEN: return "all frozen";
        case E::ALL_COMMITTED: return "all committed";
        case E::WITHDRAW: return "withdraw";
        case E::JOB_ENDED: return "job ended";
        case E::JOINING_FAILED: return "joining failed";
        case E::MEMBER_FAILED: return "member failed";
        case E::PARTICIPANT_ENDED: return "participant ended";
        case E::PROGRAM_OVER: return "program over";
        case E::WINDOW_BROKEN: return "window broken";
        case E::QUERIED: return "asked";
        case E::ACCEPT: return "take";
        case E::DECLINE: return "decline";
        case E::NOTIFIED_ENDED: return "teller ended";
        case E::ABANDONED: return "abandoned";
        case E::ALL_THERE: return "all there";
        case E::ADDED: return "added";
    }
    return "?";
}

}  // namespace elastic
