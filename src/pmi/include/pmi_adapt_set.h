/*
 * Process sets of MPI Sessions: calls of a process to the step manager, which orders all changes of
 * sets, and the replies.  Lines of the PMI connection (doc/developer/pmi.md):
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
 * With board=1 a reply that is short enough is written to the board instead, if an entry of the
 * slot is free (struct pmi_adapt_answer).
 *
 * pmi_messages.h, generated from messages.txt, has the numbers and bounds of the calls;
 * doc/spec/protocol.md has their fields and the replies.  Calls about processes that a program
 * starts one by one (PMI_TASK_*) are sent in the same way.
 *
 * As pmi_adapt.h: plain C11/C++20, compiled into libmpi, Hydra and the tests.
 */

#ifndef PMI_ADAPT_SET_H_INCLUDED
#define PMI_ADAPT_SET_H_INCLUDED

#include <stdint.h>
#include "pmi_messages.h"

/* all processes that a job ever has, if it changes through sets: size of the device's table */
#define PMI_SET_PROCESSES_MAX 65536
#define PMI_SET_CALL_MAX (4 * 1024 * 1024)      /* bytes of a call, or of an answer */
#define PMI_SET_CALLS_MAX 64    /* of a process, without reply or not fetched yet */
#define PMI_SET_LINE_MAX 4096   /* bytes of a call in one line */
#define PMI_SET_PART_MAX 384    /* bytes of an answer in one line */
#define PMI_SET_ANSWERS 4       /* of a process, on the board */
#define PMI_SET_ANSWER_MAX 4088 /* bytes of such an answer */
#define PMI_SET_BCASTS_MAX 32   /* sets in whose broadcasts a process takes part */
#define PMI_SET_GRANT 4         /* sets that a process makes by itself for a change, */
#define PMI_SET_GRANT_RUNS 64   /* runs of their members, */
/* communicators that a process makes from groups at the same time, on the board */
#define PMI_SET_CREATIONS_MAX 8
/* processes in a full mesh to which others are introduced */
#define PMI_SET_INTRODUCED_MAX 64

/* Stages of a process request: a program starts a process on a slot.  Numbers as MPIX_STAGE_*. */
enum pmi_task_stage {
    /* it gets no slot; text: the reason, if it would have got one later, else "" */
    PMI_TASK_CANCELLED = 0,
    PMI_TASK_ALLOCATED = 1,     /* text: the host */
    PMI_TASK_STARTED = 2,
    /* code: as in a shell; text: the reason why it could not be executed, "" if it was */
    PMI_TASK_EXITED = 3
};

/* for a process of such a world: how it connects to its parent */
#define PMI_PARENT_ENV "PMI_PARENT"
#define PMI_TASK_EVENTS_MAX 1024        /* in an answer */

/* Flag in the board's word `offer`, beside the tag: the job changes through process sets and has no
 * windows. */
#define PMI_SET_BY_SETS 0x80000000u

/* Numbers as MPIX_RC_*. */
enum pmi_set_change {
    PMI_SET_CHANGE_NONE = 0,    /* no change to report: delta "", tag 0, no keys */
    PMI_SET_CHANGE_ADD = 1,
    PMI_SET_CHANGE_SUB = 2
};

/* Cached data of LOOK is valid as long as the board's `invalidations` has the value of before the
 * query.  When the data changes, all proxies of processes that have received it increment that
 * number before any process receives the new data.
 *
 * Data of a set in a reply: text name, u32 state, u32 serial, u32 uid of the first member that has
 * not ended (UINT32_MAX:  all have), u32 op, u32 n, n * text operand (of op), members, u32 n, n *
 * (u32 uid, text bc) of members whose business cards the caller has not received before, u32 enum
 * pmi_set_lasts. */
enum pmi_set_lasts {
    PMI_SET_LASTS_NOT = 0,      /* nothing of it may be cached */
    PMI_SET_LASTS = 1,
    PMI_SET_LASTS_BUT_STATE = 2 /* all except the state, which is not ENDED */
};

enum pmi_set_state {
    PMI_SET_PROPOSED = 1,       /* a member belongs to an addition that is not accepted */
    /* a member has not returned from its first MPI_Session_init; a member of the launch has not
     * begun to use MPI */
    PMI_SET_STARTING = 2,
    PMI_SET_RUNNING = 3,
    PMI_SET_ENDED = 4           /* a member has ended */
};

/* The operation that made a set: numbers as MPIX_PSETOP_*; 0: none.  ADD and SUB: the set is the
 * delta of a change, whose tag is its only operand. */
enum pmi_set_op {
    PMI_SET_OP_ADD = 1,
    PMI_SET_OP_SUB = 2,
    PMI_SET_OP_REPLACE = 3,     /* only for REQUEST, as the next three */
    PMI_SET_OP_MALLEABLE = 4,
    PMI_SET_OP_GROW = 5,
    PMI_SET_OP_SHRINK = 6,
    PMI_SET_OP_UNION = 7,
    PMI_SET_OP_DIFFERENCE = 8,
    PMI_SET_OP_INTERSECTION = 9,
    PMI_SET_OP_SPLIT = 10
};

/* u32, at the beginning of each reply.  Except for OK, a text for people follows. */
enum pmi_set_code {
    PMI_SET_OK = 0,
    PMI_SET_UNKNOWN,            /* no set has this name (any more) */
    /* the operation is invalid for this set, or has invalid arguments */
    PMI_SET_WRONG,
    PMI_SET_FOREIGN,            /* a process is not of the job */
    PMI_SET_MEMBER_ENDED,
    PMI_SET_FULL,               /* too many sets, or too much data */
    PMI_SET_PENDING,            /* the previous one is not delivered yet */
    PMI_SET_LOST,               /* processes that were to join have ended */
    PMI_SET_WINDOWS,            /* the job adapts in windows, not through process sets */
    PMI_TASK_NO_PLACE           /* such slots for processes are impossible */
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
 * An entry for a reply on the board; each slot has PMI_SET_ANSWERS of them.  If `id` is 0, the
 * proxy owns the entry; if `id` is the number of a call, the process owns it.  The owner passes it
 * to the other by changing `id`, last.
 */
struct pmi_adapt_answer {
    uint32_t id;
    uint32_t bytes;
    unsigned char data[PMI_SET_ANSWER_MAX];
};

#endif /* PMI_ADAPT_SET_H_INCLUDED */
