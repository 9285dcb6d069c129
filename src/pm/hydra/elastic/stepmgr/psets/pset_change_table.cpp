/*
 * One change through process sets as a table, as adaptation_table.cpp for windows.  Nothing is announced before all
 * joining processes wait in MPI_Session_init; a change that was announced is announced until somebody accepts or
 * declines it, or it fails, or who was notified has ended and others wait for those who would join: these may be all
 * that could request it.  SR3, SR6-SR9, SF1, SF2.
 */

#include "stepmgr/state/adaptation_table.h"

namespace elastic {

namespace {

using S = AdaptState;
using E = AdaptEvent;
using A = AdaptAction;

constexpr AdaptTransition TABLE[] = {
    {S::ACCEPTED, E::NOBODY_JOINS, S::OFFERED, A::NONE},
    {S::ACCEPTED, E::LAUNCHED, S::LAUNCHING, A::NONE},
    {S::ACCEPTED, E::LAUNCH_REFUSED, S::FAILED, A::NONE},
    {S::ACCEPTED, E::WITHDRAW, S::WITHDRAWN, A::NONE},
    {S::ACCEPTED, E::JOB_ENDED, S::WITHDRAWN, A::NONE},
    {S::ACCEPTED, E::MEMBER_LOST, S::FAILED, A::NONE},

    {S::LAUNCHING, E::PLACED, S::JOINING, A::NONE},
    {S::LAUNCHING, E::WITHDRAW, S::WITHDRAWN, A::REMOVE_JOINERS},
    {S::LAUNCHING, E::JOB_ENDED, S::WITHDRAWN, A::REMOVE_JOINERS},
    {S::LAUNCHING, E::JOINER_LOST, S::FAILED, A::REMOVE_JOINERS},
    {S::LAUNCHING, E::MEMBER_LOST, S::FAILED, A::REMOVE_JOINERS},

    {S::JOINING, E::ALL_READY, S::OFFERED, A::NONE},
    {S::JOINING, E::WITHDRAW, S::WITHDRAWN, A::REMOVE_JOINERS},
    {S::JOINING, E::JOB_ENDED, S::WITHDRAWN, A::REMOVE_JOINERS},
    {S::JOINING, E::JOINER_LOST, S::FAILED, A::REMOVE_JOINERS},
    {S::JOINING, E::MEMBER_LOST, S::FAILED, A::REMOVE_JOINERS},

    {S::OFFERED, E::ASKED, S::TOLD, A::NONE},
    {S::OFFERED, E::WITHDRAW, S::WITHDRAWN, A::REMOVE_JOINERS},
    {S::OFFERED, E::JOB_ENDED, S::WITHDRAWN, A::REMOVE_JOINERS},
    {S::OFFERED, E::JOINER_LOST, S::FAILED, A::REMOVE_JOINERS},
    {S::OFFERED, E::MEMBER_LOST, S::FAILED, A::REMOVE_JOINERS},

    {S::TOLD, E::TAKE, S::TAKEN, A::START_JOINERS},
    {S::TOLD, E::DECLINE, S::WITHDRAWN, A::REMOVE_JOINERS},
    {S::TOLD, E::TELLER_ENDED, S::ORPHANED, A::NONE},
    {S::TOLD, E::ALL_THERE, S::COMMITTED, A::COMPLETE}, /* who is to go may do so at once */
    {S::TOLD, E::JOB_ENDED, S::WITHDRAWN, A::REMOVE_JOINERS},
    {S::TOLD, E::JOINER_LOST, S::FAILED, A::REMOVE_JOINERS},
    {S::TOLD, E::MEMBER_LOST, S::FAILED, A::REMOVE_JOINERS},

    {S::ORPHANED, E::ASKED, S::TOLD, A::NONE},
    {S::ORPHANED, E::ABANDONED, S::WITHDRAWN, A::REMOVE_JOINERS},
    {S::ORPHANED, E::ALL_THERE, S::COMMITTED, A::COMPLETE},
    {S::ORPHANED, E::JOB_ENDED, S::WITHDRAWN, A::REMOVE_JOINERS},
    {S::ORPHANED, E::JOINER_LOST, S::FAILED, A::REMOVE_JOINERS},
    {S::ORPHANED, E::MEMBER_LOST, S::FAILED, A::REMOVE_JOINERS},

    {S::TAKEN, E::ALL_THERE, S::COMMITTED, A::COMPLETE},
    {S::TAKEN, E::ADDED, S::OFFERED, A::OFFER_REMOVAL},
    {S::TAKEN, E::JOINER_LOST, S::FAILED, A::REMOVE_JOINERS},
    {S::TAKEN, E::MEMBER_LOST, S::FAILED, A::REMOVE_JOINERS},
};

}  // namespace

const AdaptTransition *find_set_transition(AdaptState state, AdaptEvent event)
{
    return find_row(TABLE, state, event);
}

}  // namespace elastic
