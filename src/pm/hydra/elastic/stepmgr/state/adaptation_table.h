/*
 * One adaptation as a table: state and event give the next state and an action.  A pair that is not
 * listed is not an error of the job: the caller logs and counts it, and nothing else happens.  SPEC
 * six steps, P4, P7, E3, E4, C7.
 */

#ifndef ELASTIC_ADAPTATION_TABLE_H_INCLUDED
#define ELASTIC_ADAPTATION_TABLE_H_INCLUDED

#include <span>

namespace elastic {

enum class AdaptState {
    ACCEPTED,                   /* nothing has been done yet */
    /* step 2: the joining group is being started, placement not known */
    LAUNCHING,
    JOINING,                    /* step 3: its processes initialise */
    FREEZING,                   /* step 4: plan and freeze are sent, ceilings are awaited */
    AGREED,                     /* step 5: the target is sent; it can no longer be withdrawn */
    /* AGREED, but a process has ended by itself: queries whether processes are in the window */
    ENDING,
    /* through sets: will be announced to the first process that queries */
    OFFERED,
    NOTIFIED,                   /* announced to a process, which may accept or decline */
    /* that process ended without a decision: will be announced to the next process that queries */
    ORPHANED,
    APPLYING,                   /* accepted: joining processes return, leaving ones may end */
    COMMITTED,                  /* step 6 */
    WITHDRAWN,
    FAILED
};

enum class AdaptEvent {
    NOBODY_JOINS,               /* accepted, and there is nothing to launch */
    LAUNCHED,                   /* accepted, and the launch has begun */
    LAUNCH_REFUSED,
    STARTED,                    /* the joining group's placement is known */
    ALL_READY,
    PLAN_TOO_LARGE,             /* for the proxies; nothing has been sent */
    ALL_FROZEN,
    ALL_COMMITTED,
    WITHDRAW,                   /* by the client, or the deadline passed */
    JOB_ENDED,                  /* before agreement: a member has ended by itself */
    JOINING_FAILED,             /* a joining process or its proxy has died */
    MEMBER_FAILED,              /* a pre-existing process or its proxy has died */
    PARTICIPANT_ENDED,          /* after agreement: a process has ended by itself */
    PROGRAM_OVER,               /* ... because the program is over, and nobody is in the window */
    WINDOW_BROKEN,              /* ... and others wait for it */
    QUERIED,                    /* through sets: by a process that may be notified */
    ACCEPT,
    DECLINE,
    NOTIFIED_ENDED,             /* the process that was notified */
    ABANDONED,                  /* ... and others wait for the joining processes */
    /* the joining processes have initialised, or the leaving ones have ended */
    ALL_THERE,
    ADDED                       /* all have joined, and other processes are to leave next */
};

enum class AdaptAction {
    NONE,
    SEND_PLAN,                  /* and freeze */
    SEND_TARGET,
    RELEASE,                    /* the world is the new one */
    START_JOINING,              /* joining processes return from their first MPI_Session_init */
    COMPLETE,                   /* the change is complete */
    OFFER_REMOVAL,              /* after the addition of a request that adds and removes */
    REMOVE_JOINING,             /* boards are untouched so far */
    THAW,                       /* and remove the joining processes */
    QUERY_COUNTS,
    ABORT_STEP
};

struct AdaptTransition {
    AdaptState state;
    AdaptEvent event;
    AdaptState next;
    AdaptAction action;
};

/* nullptr if the pair is not listed. */
const AdaptTransition *find_row(std::span<const AdaptTransition> table, AdaptState state,
                                AdaptEvent event);
const AdaptTransition *find_transition(AdaptState state, AdaptEvent event);
/* The same for a change through process sets (pset_change_table.cpp). */
const AdaptTransition *find_set_transition(AdaptState state, AdaptEvent event);

bool is_end(AdaptState state);
/* Whether the application has not been notified yet, so that the adaptation can be undone (P7,
 * E3). */
bool before_agreement(AdaptState state);

const char *to_string(AdaptState state);
const char *to_string(AdaptEvent event);

}  // namespace elastic

#endif /* ELASTIC_ADAPTATION_TABLE_H_INCLUDED */
