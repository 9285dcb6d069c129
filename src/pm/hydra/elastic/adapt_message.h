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

#define HYD_ADAPT_MESSAGE_MAX (64 * 1024 * 1024)        /* of a payload */

#endif /* ADAPT_MESSAGE_H_INCLUDED */
