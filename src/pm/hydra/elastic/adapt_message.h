/*
 * A message between step manager and node daemon on Hydra's control connection: a Hydra header with
 * command ADAPT whose buflen counts what follows: this head, then `bytes` of payload.  The kinds and
 * payloads are enum step_command and enum step_report of step_core.h.  Both sides are one build on
 * one architecture, so the bytes are the machine's own.
 */

#ifndef ADAPT_MESSAGE_H_INCLUDED
#define ADAPT_MESSAGE_H_INCLUDED

#include <stdint.h>

struct HYD_adapt_message {
    uint32_t kind;
    uint32_t epoch;
    uint64_t bytes;
};

/* A report for mpiexec itself, not for the core: [u32 rank] a process has ended, or is about to, with
 * its PMI connection open.  Stock kills the processes of that proxy; the whole job has to end. */
#define HYD_ADAPT_BROKE 1000

#define HYD_ADAPT_MESSAGE_MAX (64 * 1024 * 1024)        /* of a payload */

#endif /* ADAPT_MESSAGE_H_INCLUDED */
