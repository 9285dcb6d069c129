/*
 * Process sets of MPI Sessions: calls of a process to the step manager, which orders all changes of sets, and what
 * it answers.  Lines of the PMI connection (doc/developer/pmi.md):
 *
 *   cmd=adapt_set_call id=N more=0 [board=1|answer=0] call=<hex>     one question, number N of this process: a call as
 *                                            below, in parts of at most PMI_SET_LINE_MAX bytes, all but the last with
 *                                            more=1; with answer=0 nobody waits for an answer
 *   cmd=adapt_set_fetch id=N at=OFFSET       a part of its answer, once the slot's `answered` has been incremented:
 *                                            cmd=adapt_set_part bytes=TOTAL data=<hex>; TOTAL 0: not there (yet)
 *
 * With board=1 an answer that is short enough lies on the board instead, if one of the slot's entries is free (struct
 * pmi_adapt_answer).
 *
 * Calls and answers are u32 (of the machine), texts (u32 bytes, then these, without a 0) and members (u32 runs, then
 * for each run u32 first uid, u32 count): an ordered list of uids.  A set in a call is an operand: text name,
 * u32 explicit (0, 1), members if explicit.  The caller sends the members of names that mean something else in each
 * process (mpi://...).
 *
 * Processes that a program starts one by one (PMI_TASK_*) go the same way.
 *
 * As pmi_adapt.h: plain C11/C++20, compiled into libmpi, Hydra and the tests.
 */

#ifndef PMI_ADAPT_SET_H_INCLUDED
#define PMI_ADAPT_SET_H_INCLUDED

#include <stdint.h>

#define PMI_SET_PROCESSES_MAX 65536     /* that a job has ever had, if it changes through sets: the device's table */
#define PMI_SET_NAME_MAX 254    /* bytes of a name */
#define PMI_SET_KEY_MAX 254     /* as MPI_MAX_INFO_KEY - 1, */
#define PMI_SET_VALUE_MAX 1023  /* MPI_MAX_INFO_VAL - 1 */
#define PMI_SET_OPERANDS_MAX 1024
#define PMI_SET_KEYS_MAX 1024
#define PMI_SET_CALL_MAX (4 * 1024 * 1024)      /* bytes of a call, or of an answer */
#define PMI_SET_CALLS_MAX 64    /* of a process, not answered or not fetched yet */
#define PMI_SET_LINE_MAX 4096   /* bytes of a call in one line */
#define PMI_SET_PART_MAX 384    /* bytes of an answer in one line */
#define PMI_SET_ANSWERS 4       /* of a process, on the board */
#define PMI_SET_ANSWER_MAX 4088 /* bytes of such an answer */
#define PMI_SET_BCASTS_MAX 32   /* sets whose texts a process takes part in */
#define PMI_SET_TEXT_MAX 65535  /* bytes of such a text */
#define PMI_SET_GRANT 4         /* sets that a process makes by itself for a change, */
#define PMI_SET_GRANT_RUNS 64   /* runs of their members, */
#define PMI_SET_GRANT_OPERANDS 8        /* and sets of which one is made */
#define PMI_SET_TAG_MAX 1024    /* of a rendezvous */
#define PMI_SET_CREATIONS_MAX 8 /* communicators that a process makes of groups at a time, on the board */
#define PMI_SET_INTRODUCED_MAX 64       /* processes that know each other, to whom others are introduced */
#define PMI_SET_CARD_MAX 1024   /* bytes of a business card in it */

enum pmi_set_call {             /* u32, at the front of each call; then */
    PMI_SET_MAKE = 1,           /* u32 op, text requested name, u32 n, n * u32 part size (SPLIT), u32 n, n * operand,
                                 * u32 1: the caller wants their data, too
                                 * -> u32 n, n * text name; "" for an empty result; if wanted u32 n or 0, n * data */
    PMI_SET_FROM_LIST,          /* text requested name, members, u32 1: as above -> text name; if wanted u32 n,
                                 * n * data */
    PMI_SET_LOOK,               /* text name, u32 1 or nothing: the caller wants to know its state, 0: only whether it
                                 * has ended -> data, see below */
    PMI_SET_LIST,               /* u32 serial -> u32 present serial, u32 n, n * (text name, u32 size): the sets that
                                 * hold the caller, are not freed, and were made after that serial */
    PMI_SET_MOVE,               /* text from, text to -> nothing */
    PMI_SET_FREE,               /* text name -> nothing */
    PMI_SET_PUT,                /* text name, u32 n, n * (text key, text value) -> nothing */
    PMI_SET_GET,                /* operand whose members all call, text name, u32 wait, u32 n, n * text key; n = 0:
                                 * all keys, and with wait at least one
                                 * -> u32 n, n * (text key, text value) */
    PMI_SET_JOIN,               /* operand, u32 entry where the caller counts its calls -> u32 entry where it has done
                                 * so before, or the same; its gate is true then */
    PMI_SET_GIVE,               /* u32 entry, text: of the set that is counted there -> nothing */
    PMI_SET_TURN,               /* u32 entry, u64 number of the call that is in front of the gate
                                 * -> u32 1, text that is delivered in it; u32 0: none */
    PMI_SET_MEET,               /* text tag, text bc or "" if it was given before, members, among them the caller,
                                 * u32 1: the caller has the bcs of all members -> u32 0 if all have them, else
                                 * u32 n, n * text bc, in the members' order, and there is another round;
                                 * u32 1: these processes need no further rendezvous.  When all of them have called
                                 * with this tag, or need none */
    PMI_SET_DYNAMIC,            /* nothing -> nothing: the job changes through process sets from now on */
    PMI_SET_ENTER,              /* text bc -> u32 1: the caller was started by an addition, 0: in another way; u32 n,
                                 * n * (u32 uid, text bc) of those whom it may be introduced to */
    PMI_SET_AWAIT,              /* u32 1: of a process of an addition that has claimed channels to all of these -> text
                                 * delta, u32 tag, u32 n, n * (text key, text value), u32 n, n * data of sets that hold
                                 * the caller, u32 1: as LEAVES, none removes it, members: they and the caller need no
                                 * rendezvous, but it has to wait for the other's decision on their channel; once the
                                 * change is accepted */
    PMI_SET_ENTERED,            /* nothing -> nothing: it goes on with this answer */
    PMI_SET_CHANGE,             /* operand that is bound; text "" without members: all processes; u32 1: only whether
                                 * there is one to report; text bc or "" if it was given before
                                 * -> u32 enum pmi_set_change, text delta, u32 tag, u32 n, n * (text key, text value),
                                 * u32 n, n * data of the delta and of the sets that it may be combined with, u32 1:
                                 * once it is accepted the caller needs no rendezvous with the joining processes,
                                 * u32 first and u32 n, numbers of sets that it may make by MADE before it accepts or
                                 * declines */
    PMI_SET_ACCEPT,             /* u32 tag, u32 n, n * (text key, text value) for those who join -> nothing; of an
                                 * addition it need not be answered */
    PMI_SET_DECLINE,            /* u32 tag -> nothing */
    PMI_SET_REQUEST,            /* text name of the set that is bound, u32 op (ADD to SHRINK), u32 how many to add,
                                 * u32 to remove -> u32 op that was done (0: not granted), u32 n, n * text name; change
                                 * and accept in one */
    PMI_SET_QUERY,              /* operand whose members all call, text name -> as REQUEST, when all have called: the
                                 * open operation of that set */
    PMI_SET_CLOSE,              /* text name: its operation, or the one that made it, is not open any more -> nothing */
    PMI_SET_MADE,               /* u32 number, u32 op (UNION, DIFFERENCE or INTERSECTION), u32 n, n * text name of an
                                 * operand, members: the caller has made mpix://op/UID.NUMBER, as CHANGE has allowed it;
                                 * not answered */
    PMI_SET_LEAVES,             /* nothing -> u32 1: a change that somebody has been notified of removes the caller;
                                 * 0: none does; u32 1: that may be cached, as data */
    PMI_SET_ENDED_COUNT,        /* members -> u32 how many of them have ended */
    PMI_SET_COMES,              /* members: one; u64 number of a creation -> u32 1: this process is making that
                                 * communicator, as its entry on the board shows */
    PMI_SET_STATE,              /* members -> u32 state, u32 uid of the first that has not ended (UINT32_MAX: all have),
                                 * u32 1: that may be cached, as data */
    PMI_SET_HINTS,              /* u32 n, n * (text key, text value) -> u32 1, u32 n, n * (text key, text value): which
                                 * of them are followed, and what holds now; u32 0, u32 0: nobody takes any */
    PMI_TASK_ALLOCATE,          /* u32 first number, u32 n, u32 hard, text arch, text words, u32 n or 0, n * text words,
                                 * u32 n or 0, n * text host -> nothing; requests first ... first + n - 1 of the caller,
                                 * which never uses a number twice */
    PMI_TASK_START,             /* u32 number, text executable, u32 n, n * text argument -> nothing */
    PMI_TASK_CANCEL,            /* u32 number: if it has no slot yet -> nothing */
    PMI_TASK_RELEASE,           /* u32 number: it is not used any more; its process runs on -> nothing */
    PMI_TASK_SIGNAL,            /* u32 number, text name without SIG -> nothing */
    PMI_TASK_EVENTS,            /* nothing -> u32 n, n * (u32 number, u32 enum pmi_task_stage, u32 code, text,
                                 * text info), as soon as there are any of the caller's requests */
    PMI_TASK_START_WORLD        /* text for PMI_PARENT_ENV, u32 n, n * (u32 number, text executable, u32 n,
                                 * n * text argument) -> nothing; they are one MPI_COMM_WORLD, in this order */
};

/* Of a process request: a program has its own process on a slot that it was given.  The numbers are those of
 * MPIX_STAGE_*. */
enum pmi_task_stage {
    PMI_TASK_CANCELLED = 0,     /* it gets no slot; text: why, if it was to get one sooner or later, else "" */
    PMI_TASK_ALLOCATED = 1,     /* text: the host */
    PMI_TASK_STARTED = 2,
    PMI_TASK_EXITED = 3         /* code as of a shell; text: why it could not be executed, "" if it was */
};

#define PMI_PARENT_ENV "PMI_PARENT"     /* of a process of such a world: how it comes to who has started it */
#define PMI_TASKS_MAX 4096      /* slots of a job, and those that wait for one */
#define PMI_TASK_ARGUMENTS_MAX 65536
#define PMI_TASK_WORLD_ARGUMENTS_MAX 997        /* of a program of START_WORLD: Hydra passes on as many */
#define PMI_TASK_TEXT_MAX 65535 /* bytes of a text */
#define PMI_TASK_EVENTS_MAX 1024        /* in an answer */

/* In the board's word `offer`, beside the tag: the job changes through process sets, so that it has no windows. */
#define PMI_SET_BY_SETS 0x80000000u

/* Numbers as MPIX_RC_*. */
enum pmi_set_change {
    PMI_SET_CHANGE_NONE = 0,    /* there is none to report: delta "", tag 0, no keys */
    PMI_SET_CHANGE_ADD = 1,
    PMI_SET_CHANGE_SUB = 2
};

/* Data of LOOK that may be cached hold as long as the board's `invalidations` is what it was before the
 * question was sent: when they change, all proxies of processes that have received them add one before
 * any process receives the new ones.
 *
 * Data of a set in a reply: text name, u32 state, u32 serial, u32 uid of the first member that has not ended
 * (UINT32_MAX:  all have), u32 op, u32 n, n * text operand (of op), members, u32 n, n * (u32 uid, text bc) of members
 * whose business cards the caller has not received before, u32 enum pmi_set_lasts. */
enum pmi_set_lasts {
    PMI_SET_LASTS_NOT = 0,      /* nothing of it may be cached */
    PMI_SET_LASTS = 1,
    PMI_SET_LASTS_BUT_STATE = 2 /* all but the state, which is not ended */
};

enum pmi_set_state {
    PMI_SET_PROPOSED = 1,       /* a member belongs to an addition that is not accepted */
    PMI_SET_STARTING = 2,       /* a member has not returned from its first MPI_Session_init; one of the launch: has not
                                 * begun to use MPI */
    PMI_SET_RUNNING = 3,
    PMI_SET_ENDED = 4           /* a member has ended */
};

/* Of an operation: numbers as MPIX_PSETOP_*; 0: it was not made by one.  ADD and SUB: it is the delta of a change,
 * whose tag is its only operand. */
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
 * Texts that the first process of a set gives to all its members (MPIX_Session_bcast_pset_info) are delivered in the
 * call of one number, agreed on as for a probe (pmi_adapt.h).  Each slot of the board has PMI_SET_BCASTS_MAX entries,
 * one for each set that its process takes part in.  Call n (1, 2, ... since JOIN), on the process' side:
 *   store n in count; full fence; load gate; n < gate: nothing is delivered.
 *   0 < gate <= number of the call in which the last text was delivered here: that is over, nothing is delivered.
 *   Else PMI_SET_TURN reports, once it is known.
 * On the daemon's side gate is OPEN, SHUT while it counts (gate = SHUT; full fence; read counts; gate = greatest + 1)
 * or if nobody can call the set so any more, or the number that is agreed on.
 */
struct pmi_adapt_bcast {
    uint64_t count;             /* by the process */
    char pad0[64 - 8];
    uint64_t gate;              /* by the daemon: PMI_ADAPT_GATE_* or a number */
    char pad1[64 - 8];
};

/*
 * An entry for a reply on the board; each slot has PMI_SET_ANSWERS of them.  The proxy owns an entry whose `id` is 0,
 * the process one whose `id` is the number of its call.  The owner hands it over by changing `id`, last.
 */
struct pmi_adapt_answer {
    uint32_t id;
    uint32_t bytes;
    unsigned char data[PMI_SET_ANSWER_MAX];
};

#endif /* PMI_ADAPT_SET_H_INCLUDED */
