/*
 * Every message between mpiexec and a node daemon, with what it carries in brackets.  How it is framed: message.h.
 * Handlers: stepmgr/step/step.cpp (reports to the step manager), and by tables mpiexec/reports.c, proxy/commands.c
 * (commands of the step manager) and proxy/messages.c.
 */

#ifndef WIRE_KINDS_H_INCLUDED
#define WIRE_KINDS_H_INCLUDED

#define HYD_INPUT_TO_ALL (-2)   /* rank of a message of standard input to all processes of the proxy */

#define STEP_PAYLOAD_MAX (64 * 1024 * 1024)     /* of any message */

/* mpiexec to daemon, of the core (stepmgr/stepmgr.h). */
enum step_command {
    STEP_PLAN = 1,              /* [struct pmi_adapt_plan ...] write it to the boards; joining processes go on */
    STEP_FREEZE,                /* [u64 margin, 0: by pace] step 4: freeze the board, answer with the ceiling */
    STEP_TARGET,                /* [u64 target] answer TRUE at this probe number */
    STEP_THAW,                  /* withdrawn before agreement */
    STEP_RELEASE,               /* committed everywhere */
    STEP_COUNTS,                /* report the slots */
    STEP_PERFORMANCE,           /* [u32 interval in ms, or nothing] report what is measured; processes write their loops
                                 * so often from now on; the epoch is the number of the sample, also in the answer */
    STEP_SIZE_REQUEST_ENDED,    /* [struct request_ended, {u32 uid, u32 number} ..., text] its end, for those
                                 * processes of the daemon that are listed (wire/request_messages.h); no epoch */
    STEP_SETS,                  /* [] report from now on who begins to use MPI and who ends, also of processes that do
                                 * not adapt; no epoch */
    STEP_SET_ANSWER,            /* [u32 uid, u32 id, bytes] the answer to a call on process sets (pmi_adapt_set.h), to
                                 * the proxy of the process that queried; no epoch */
    STEP_BCAST,                 /* [struct bcast_order] of texts that process sets pass on (wire/bcast.h); no epoch */
    STEP_LET_GO,                /* [u32 uid ...] they leave with a change through process sets that is accepted: however
                                 * they end, nobody is ended for it; no epoch */
    STEP_OFFER,                 /* [u32] `offer` of the board; no epoch */
    STEP_INVALIDATE,            /* [u64 number] add one to `invalidations` of the board, and confirm it with this
                                 * number; no epoch */
    STEP_TASK,                  /* [struct task_head, bytes] an order about a process that a program starts by itself
                                 * (wire/task.h); no epoch */
    STEP_SYNC,                  /* [u64 number, u32 uid] pass on all that this process has sent, then answer with the
                                 * number; no epoch */
    STEP_BREAK,                 /* [u32 uid] answer to REPORT_BROKE of a process that was not let go: its end is that of
                                 * the job; no epoch */
    STEP_BY_SETS,               /* [u64 number] the job changes through process sets: state it on the board, and confirm
                                 * it as STEP_INVALIDATE; no epoch */
    STEP_STARTS,                /* [u64 number] report which processes use MPI, with this number; no epoch */
    STEP_COMES,                 /* [u64 number, u64 creation, u32 uid] report whether this process is making this
                                 * communicator of a group; no epoch */
    STEP_SET_SHARED             /* [u32 uid, u32 id, u32 n, n * (u32 first uid, u32 count), u32 m, m * (u32 first uid,
                                 * u32 count), bytes] as STEP_SET_ANSWER; the n runs: who may have it, too, asking the
                                 * same as long as `invalidations` of the board is what it was when the question was
                                 * passed on; the m runs: whose addresses it has; no epoch */
};

/* Daemon to mpiexec, for the core. */
enum step_report {
    REPORT_INIT = 1,            /* [u32 rank, u32 adaptive, u64 pid namespace, card bytes ...] adapt_init;
                                 * adaptive: 0, 1, or 2 of a process in MPIX_Comm_modify */
    REPORT_READY,               /* [u32 rank, struct pmi_adapt_host] adapt_ready */
    REPORT_FROZEN,              /* [u64 ceiling] */
    REPORT_COMMITTED,           /* [] all participants of this daemon's board have committed */
    REPORT_COUNTS,              /* [{u32 rank, u32 phase, u64 count, u64 ms in this phase} ...] */
    REPORT_EXITED,              /* [u32 rank, u32 wait status] one process has ended */
    REPORT_PREPARED,            /* [] all participants of this daemon's board have prepared for the plan */
    REPORT_SIZES,               /* [u32 rank, text] the sizes that the program can use, pmi_adapt_sizes.h */
    REPORT_UNRECEIVED,          /* [u32 rank, u32 count, i32 source, i32 tag, text] messages that a process had not
                                 * received by commit: source and tag of the first, name of the communicator */
    REPORT_UNABLE,              /* [u32 rank, text ...] adapt_unable: why this process cannot */
    REPORT_GREETED,             /* [] all joining participants of this daemon's board have been greeted */
    REPORT_PERFORMANCE,         /* [u32 rows, u32 stale, {u32 rank, u32 every, u64 count, u64 iterations, u64 loop_ns,
                                 * u64 mpi_ns, u64 phase, u64 iteration, i64 total, u64 element} ..., loops] as in
                                 * struct pmi_adapt_slot and pmi_adapt_position; stale processes of which no loops are
                                 * known; wire/sample.h, wire/loop_set.h */
    REPORT_LOOPS,               /* [u32 group, loops] of processes of that group, put together on the way up the tree;
                                 * the epoch is the number of the sample */
    REPORT_SIZE_REQUEST,        /* [struct request_made, text] a request of a process (wire/request_messages.h) */
    REPORT_SIZE_REQUEST_WITHDRAWN,      /* [u32 rank, u32 number] it is not wanted any more */
    REPORT_SET_CALL,            /* [u32 rank, u32 id, bytes] a call on process sets (pmi_adapt_set.h) */
    REPORT_BCAST,               /* [struct bcast_frozen] answer to BCAST_FREEZE (wire/bcast.h) */
    REPORT_INVALIDATED,         /* [u64 number] STEP_INVALIDATE has been carried out */
    REPORT_TASK,                /* [struct task_head, text] such a process has been executed, or has ended */
    REPORT_SYNCED,              /* [u64 number] STEP_SYNC has been carried out */
    REPORT_BROKE,               /* [u32 rank] where changes through process sets are offered: a process breaks off, and
                                 * the proxy has not received that it was let go; STEP_LET_GO or STEP_BREAK comes */
    REPORT_STARTED,             /* [u64 number, u32 rank ...] these have begun to use MPI since the last time; number of
                                 * STEP_STARTS, 0: no query is open */
    REPORT_COMES,               /* [u64 number, u32] answer to STEP_COMES: 1, it is */
    REPORT_SET_SHARED           /* [u32 m, m * (u32 first uid, u32 count), u32 rank ...] an answer with these cards, as
                                 * STEP_SET_SHARED named, was given to these processes, too */
};

/* Between mpiexec and the daemon themselves. */
enum HYD_adapt_kind {
    HYD_ADAPT_BROKE = 1000,     /* up [u32 rank] a process has ended, or is about to, with its PMI connection open.
                                 * Stock kills the processes of that proxy; the whole job has to end. */
    HYD_ADAPT_LISTEN,           /* down [key, port range] the tree of daemons, tree.h */
    HYD_ADAPT_LISTENS,          /* up [u16 port] */
    HYD_ADAPT_RELAY,            /* down [relay] */
    HYD_ADAPT_RELAYED,          /* up [answer] */
    HYD_ADAPT_OUTPUT_SPACE,      /* down [u64] output that the daemon may have sent since it counts (proxy/output.h) */
    HYD_ADAPT_REPORTS,          /* up [{head, payload, padding to 8 bytes} ...] several reports in one (message.h) */
    HYD_ADAPT_GATHERED,         /* up [entries] reports of several daemons (tree.h) */
    HYD_ADAPT_LOST,             /* up [] reports may be missing with another daemon (proxy/upward.h) */
    HYD_ADAPT_REPEAT,           /* down [] report directly once more what was reported since the last plan or release */
    HYD_ADAPT_INPUT_TAKEN,      /* up [u32 rank, u32 messages] so many messages of standard input have been passed on to
                                 * the process, or dropped (proxy/stdin.h) */
    HYD_ADAPT_COUNTS_OUTPUT,    /* up [] the daemon counts the output that it sends after this (proxy/output.h) */
    HYD_ADAPT_CANNOT,           /* up [text] the daemon cannot start its processes, and ends: why */
    HYD_ADAPT_SPAWN_BEGAN,      /* up [] all processes that MPI_Comm_spawn started here have called MPI_Init */
    HYD_ADAPT_SPAWN_ENDED,      /* up [struct HYD_spawn_end] the first of them has ended too early (wire/spawn.h) */
    HYD_ADAPT_IS_MISSED,        /* up [struct HYD_launch_end] the first process of the launch here that has ended before
                                 * MPI_Init, or without MPI_Finalize; again when another one waits for it (wire/spawn.h)
                                 */
    HYD_ADAPT_INPUT_READER      /* down [u32 rank] the input that comes from now on is this process' (proxy/stdin.h) */
};

#endif /* WIRE_KINDS_H_INCLUDED */
