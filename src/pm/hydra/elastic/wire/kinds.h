/*
 * Every message between mpiexec and a proxy.  src/pmi/messages.txt describes those of the
 * core (stepmgr/stepmgr.h), enum step_command and step_report; doc/spec/protocol.md has their
 * fields.  The others are below, with their fields in brackets.  How a message is framed:
 * message.h.  Handlers: stepmgr/step/step.cpp (reports to the step manager), and by tables
 * mpiexec/reports.c, proxy/commands.c (commands of the step manager) and proxy/messages.c.
 */

#ifndef WIRE_KINDS_H_INCLUDED
#define WIRE_KINDS_H_INCLUDED

#include "messages/kinds.h"

/* rank of a message of standard input to all processes of the proxy */
#define HYD_INPUT_TO_ALL (-2)

#define STEP_PAYLOAD_MAX (64 * 1024 * 1024)     /* of any message */

enum report_mode {              /* of a process, in REPORT_INIT */
    REPORT_MODE_RIGID = 0,
    REPORT_MODE_ADAPTIVE = 1,
    REPORT_MODE_MODIFY = 2      /* in MPIX_Comm_modify, or created by it; adaptive or not */
};

/* Between mpiexec and the proxy themselves. */
enum HYD_adapt_kind {
    /* up [u32 rank] a process has ended, or will end, with its PMI connection open.  Stock kills
     * the processes of that proxy; the whole job has to end. */
    HYD_ADAPT_BROKE = 1000,
    HYD_ADAPT_LISTEN,           /* down [key, port range] the tree of proxies, tree.h */
    HYD_ADAPT_LISTENS,          /* up [u16 port] */
    HYD_ADAPT_RELAY,            /* down [relay] */
    HYD_ADAPT_RELAYED,          /* up [answer] */
    /* down [u64] output that the proxy may have sent since it counts (proxy/output.h) */
    HYD_ADAPT_OUTPUT_SPACE,
    /* up [{head, payload, padding to 8 bytes} ...] several reports in one (message.h) */
    HYD_ADAPT_REPORTS,
    HYD_ADAPT_GATHERED,         /* up [entries] reports of several proxies (tree.h) */
    /* up [] reports may have been lost at another proxy (proxy/upward.h) */
    HYD_ADAPT_LOST,
    /* down [] send all reports since the last plan or release again, directly */
    HYD_ADAPT_REPEAT,
    /* up [u32 rank, u32 messages] this number of messages of standard input was written to the
     * process, or dropped (proxy/stdin.h) */
    HYD_ADAPT_INPUT_TAKEN,
    /* up [] the proxy counts the output that it sends after this (proxy/output.h) */
    HYD_ADAPT_COUNTS_OUTPUT,
    /* up [text] the proxy cannot start its processes, and ends; reason */
    HYD_ADAPT_CANNOT,
    /* up [] all processes that MPI_Comm_spawn started here have called MPI_Init */
    HYD_ADAPT_SPAWN_BEGAN,
    /* up [struct HYD_spawn_end] the first of them has ended too early (wire/spawn.h) */
    HYD_ADAPT_SPAWN_ENDED,
    /* up [struct HYD_launch_end] the first process here that has ended before MPI_Init, or without
     * MPI_Finalize; again when another one waits for it (wire/spawn.h) */
    HYD_ADAPT_IS_MISSED,
    /* up [] a process with calls on process sets enters a barrier: it detects the ends of others
     * itself (proxy/early_ends.c) */
    HYD_ADAPT_IN_SETS,
    /* down [u32 rank] later input is for this process (proxy/stdin.h) */
    HYD_ADAPT_INPUT_READER
};

#endif /* WIRE_KINDS_H_INCLUDED */
