/*
 * One change through process sets as a table, as adaptation_table.cpp for windows.  A change is
 * announced when all joining processes wait in MPI_Session_init.  It stays announced until a
 * process accepts or declines it, or it fails, or the notified process has ended and all remaining
 * processes may wait for the joining ones, so that none would query.  SR3, SR6-SR9, SF1, SF2.
 */

#include "stepmgr/state/adaptation_table.h"

namespace elastic {

namespace {

using S = AdaptState;
using E = AdaptEvent;
using A = AdaptAction;

/* Until the joining processes are ready, the table of windows has the rows that are missing
 * here. */
constexpr AdaptTransition TABLE[] = {
    {S::ACCEPTED, E::NOBODY_JOINS, S::OFFERED, A::NONE},
    {S::JOINING, E::ALL_READY, S::OFFERED, A::NONE},

    {S::OFFERED, E::QUERIED, S::NOTIFIED, A::NONE},
    {S::OFFERED, E::WITHDRAW, S::WITHDRAWN, A::REMOVE_JOINING},
    {S::OFFERED, E::JOB_ENDED, S::WITHDRAWN, A::REMOVE_JOINING},
    {S::OFFERED, E::JOINING_FAILED, S::FAILED, A::REMOVE_JOINING},
    {S::OFFERED, E::MEMBER_FAILED, S::FAILED, A::REMOVE_JOINING},

    {S::NOTIFIED, E::ACCEPT, S::APPLYING, A::START_JOINING},
    {S::NOTIFIED, E::DECLINE, S::WITHDRAWN, A::REMOVE_JOINING},
    {S::NOTIFIED, E::NOTIFIED_ENDED, S::ORPHANED, A::NONE},
    {S::NOTIFIED, E::ALL_THERE, S::COMMITTED, A::COMPLETE}, /* leaving processes may end at once */
    {S::NOTIFIED, E::JOB_ENDED, S::WITHDRAWN, A::REMOVE_JOINING},
    {S::NOTIFIED, E::JOINING_FAILED, S::FAILED, A::REMOVE_JOINING},
    {S::NOTIFIED, E::MEMBER_FAILED, S::FAILED, A::REMOVE_JOINING},

    {S::ORPHANED, E::QUERIED, S::NOTIFIED, A::NONE},
    {S::ORPHANED, E::ABANDONED, S::WITHDRAWN, A::REMOVE_JOINING},
    {S::ORPHANED, E::ALL_THERE, S::COMMITTED, A::COMPLETE},
    {S::ORPHANED, E::JOB_ENDED, S::WITHDRAWN, A::REMOVE_JOINING},
    {S::ORPHANED, E::JOINING_FAILED, S::FAILED, A::REMOVE_JOINING},
    {S::ORPHANED, E::MEMBER_FAILED, S::FAILED, A::REMOVE_JOINING},

    {S::APPLYING, E::ALL_THERE, S::COMMITTED, A::COMPLETE},
    {S::APPLYING, E::ADDED, S::OFFERED, A::OFFER_REMOVAL},
    {S::APPLYING, E::JOINING_FAILED, S::FAILED, A::REMOVE_JOINING},
    {S::APPLYING, E::MEMBER_FAILED, S::FAILED, A::REMOVE_JOINING},
};

}  // namespace

const AdaptTransition *find_set_transition(AdaptState state, AdaptEvent event)
{
    const AdaptTransition *row = find_row(TABLE, state, event);
    bool starts = state == S::ACCEPTED || state == S::LAUNCHING || state == S::JOINING;
    return row || !starts ? row : find_transition(state, event);
}

}  // namespace elastic
