/*
 * Process sets of MPI Sessions: calls of a process to the step manager, which orders all changes of
 * sets, and what it answers.  Lines of the PMI connection (doc/developer/pmi.md):
 *
 *   cmd=adapt_set_call id=N more=0 [board=1|answer=0] call=<hex>
 *                                            one question, number N of this process: a call in
 *                                            parts of at most PMI_SET_LINE_MAX bytes, all but the
 *                                            last with more=1; with answer=0 nobody waits for an
 *                                            answer
 *   cmd=adapt_set_fetch id=N at=OFFSET       a part of its answer, once the slot's `answered` has
 *                                            been incremented: cmd=adapt_set_part bytes=TOTAL
 *                                            data=<hex>; TOTAL 0: not there (yet)
 *
 * With board=1 an answer that is short enough lies on the board instead, if one of the slot's
 * entries is free (struct pmi_adapt_answer).
 *
 * pmi_messages.h, which is generated of messages.txt, has the numbers and bounds of the calls;
 * doc/spec/protocol.md has their fields and the replies.  Processes that a program starts one by
 * one (PMI_TASK_*) go the same way.
 *
 * As pmi_adapt.h: plain C11/C++20, compiled into libmpi, Hydra and the tests.
 */

#ifndef PMI_ADAPT_SET_H_INCLUDED
#define PMI_ADAPT_SET_H_INCLUDED

#include <stdint.h>
#include "pmi_messages.h"

/* that a job has ever had, if it changes through sets: the device's table */
#define PMI_SET_PROCESSES_MAX 65536
#define PMI_SET_CALL_MAX (4 * 1024 * 1024)      /* bytes of a call, or of an answer */
#define PMI_SET_CALLS_MAX 64    /* of a process, not answered or not fetched yet */
#define PMI_SET_LINE_MAX 4096   /* bytes of a call in one line */
#define PMI_SET_PART_MAX 384    /* bytes of an answer in one line */
#define PMI_SET_ANSWERS 4       /* of a process, on the board */
#define PMI_SET_ANSWER_MAX 4088 /* bytes of such an answer */
#define PMI_SET_BCASTS_MAX 32   /* sets whose texts a process takes part in */
#define PMI_SET_GRANT 4         /* sets that a process makes by itself for a change, */
#define PMI_SET_GRANT_RUNS 64   /* runs of their members, */
/* communicators that a process makes of groups at a time, on the board */
#define PMI_SET_CREATIONS_MAX 8
/* processes that know each other, to whom others are introduced */
#define PMI_SET_INTRODUCED_MAX 64

/* Of a process request: a program has its own process on a slot that it was given.  The numbers are
 * those of MPIX_STAGE_*. */
enum pmi_task_stage {
    /* it gets no slot; text: why, if it was to get one sooner or later, else "" */
    PMI_TASK_CANCELLED = 0,
    PMI_TASK_ALLOCATED = 1,     /* text: the host */
    PMI_TASK_STARTED = 2,
    /* code as of a shell; text: why it could not be executed, "" if it was */
    PMI_TASK_EXITED = 3
};

/* of a process of such a world: how it comes to who has started it */
#define PMI_PARENT_ENV "PMI_PARENT"
#define PMI_TASK_EVENTS_MAX 1024        /* in an answer */

/* In the board's word `offer`, beside the tag: the job changes through process sets, so that it has
 * no windows. */
#define PMI_SET_BY_SETS 0x80000000u

/* Numbers as MPIX_RC_*. */
enum pmi_set_change {
    PMI_SET_CHANGE_NONE = 0,    /* there is none to report: delta "", tag 0, no keys */
    PMI_SET_CHANGE_ADD = 1,
    PMI_SET_CHANGE_SUB = 2
};

/* Data of LOOK that may be cached hold as long as the board's `invalidations` is what it was before
 * the question was sent: when they change, all proxies of processes that have received them add one
 * before any process receives the new ones.
 *
 * Data of a set in a reply: text name, u32 state, u32 serial, u32 uid of the first member that has
 * not ended (UINT32_MAX:  all have), u32 op, u32 n, n * text operand (of op), members, u32 n, n *
 * (u32 uid, text bc) of members whose business cards the caller has not received before, u32 enum
 * pmi_set_lasts. */
enum pmi_set_lasts {
    PMI_SET_LASTS_NOT = 0,      /* nothing of it may be cached */
    PMI_SET_LASTS = 1,
    PMI_SET_LASTS_BUT_STATE = 2 /* all but the state, which is not ended */
};

enum pmi_set_state {
    PMI_SET_PROPOSED = 1,       /* a member belongs to an addition that is not accepted */
    /* a member has not returned from its first MPI_Session_init; one of the launch: has not begun
     * to use MPI */
    PMI_SET_STARTING = 2,
    PMI_SET_RUNNING = 3,
    PMI_SET_ENDED = 4           /* a member has ended */
};

/* Of an operation: numbers as MPIX_PSETOP_*; 0: it was not made by one.  ADD and SUB: it is the
 * delta of a change, whose tag is its only operand. */
enum pmi_set_op {
    PMI_SET_OP_ADD = 1,
    PMI_SET_OP_SUB = 2,
    PMI_SET_OP_REPLACE = 3,     /* of REQUEST alone, as the next three */
    PMI_SET_OP_MALLEABLE = 4,
    PMI_SET_OP_GROW = 5,
    PMI_SET_OP_SHRINK = 6,
    PMI_SET_OP_UNION = 7,
    PMI_SET_OP_DIFFERENCE = 8,
    PMI_SET_OP_INTERSECTION = 9,
    PMI_SET_OP_SPLIT = 10
};

/* u32, at the front of each answer.  But for OK a text follows, for people. */
enum pmi_set_code {
    PMI_SET_OK = 0,
    PMI_SET_UNKNOWN,            /* no set has this name, or not any more */
    PMI_SET_WRONG,              /* this cannot be done with this set, or in this way */
    PMI_SET_FOREIGN,            /* a process that is not of the job */
    PMI_SET_MEMBER_ENDED,
    PMI_SET_FULL,               /* too many sets, or too much data */
    PMI_SET_PENDING,            /* the one before is not delivered yet */
    PMI_SET_LOST,               /* processes that were to join have ended */
    PMI_SET_WINDOWS,            /* the job adapts in windows, not through process sets */
    PMI_TASK_NO_PLACE           /* there could never be such slots for processes */
};

/*
 * Texts that the first process of a set gives to all its members (MPIX_Session_bcast_pset_info) are
 * delivered in the call of one number, agreed on as for a probe (pmi_adapt.h).  Each slot of the
 * board has PMI_SET_BCASTS_MAX entries, one for each set that its process takes part in.  Call n
 * (1, 2, ... since JOIN), on the process' side:
 *   store n in count; full fence; load gate; n < gate: nothing is delivered.  0 < gate <= number of
 *   the call in which the last text was delivered here: that is over, nothing is delivered.  Else
 *   PMI_SET_TURN reports, once it is known.
 * On the proxy's side gate is OPEN, SHUT while it counts (gate = SHUT; full fence; read counts;
 * gate = greatest + 1) or if nobody can call the set so any more, or the number that is agreed on.
 */
struct pmi_adapt_bcast {
    uint64_t count;             /* by the process */
    char pad0[64 - 8];
    uint64_t gate;              /* by the proxy: PMI_ADAPT_GATE_* or a number */
    char pad1[64 - 8];
};

/*
 * An entry for a reply on the board; each slot has PMI_SET_ANSWERS of them.  The proxy owns an
 * entry whose `id` is 0, the process one whose `id` is the number of its call.  The owner hands it
 * over by changing `id`, last.
 */
struct pmi_adapt_answer {
    uint32_t id;
    uint32_t bytes;
    unsigned char data[PMI_SET_ANSWER_MAX];
};

#endif /* PMI_ADAPT_SET_H_INCLUDED */
