/*
 * A message between step manager and node daemon on Hydra's control connection: a Hydra header with
 * command ADAPT whose buflen counts what follows: this head, then `bytes` of payload.  The kinds and
 * payloads are enum step_command and enum step_report of core/step_core.h.  Both sides are one build on
 * one architecture, so the bytes are the machine's own.
 */

#ifndef ADAPT_MESSAGE_H_INCLUDED
#define ADAPT_MESSAGE_H_INCLUDED

#include <stdint.h>
#include "core/step_core.h"

struct HYD_adapt_message {
    uint32_t kind;
    uint32_t epoch;
    uint64_t bytes;
    uint32_t sequence;          /* of a command of the core for this daemon: 1, 2, ...; of the one that
                                 * is answered; else 0 */
    uint32_t unused;
};

/* A report for mpiexec itself, not for the core: [u32 rank] a process has ended, or is about to, with
 * its PMI connection open.  Stock kills the processes of that proxy; the whole job has to end. */
#define HYD_ADAPT_BROKE 1000
/* The tree of daemons, proxy/relay.h. */
#define HYD_ADAPT_LISTEN 1001
#define HYD_ADAPT_LISTENS 1002
#define HYD_ADAPT_RELAY 1003
#define HYD_ADAPT_RELAYED 1004

/* From mpiexec: [u64] output that the daemon may have sent since it counts (proxy/output.h). */
#define HYD_ADAPT_OUTPUT_ROOM 1005

#define HYD_ADAPT_MESSAGE_MAX STEP_PAYLOAD_MAX  /* of a payload */
/* What may follow a Hydra header: that, and the heads and lists around it (proxy/relay.h). */
#define HYD_ADAPT_BODY_MAX (2 * HYD_ADAPT_MESSAGE_MAX)

#endif /* ADAPT_MESSAGE_H_INCLUDED */
