/*
 * Frames of the messages of kinds.h on Hydra's control connection: a Hydra header with command
 * ADAPT whose buflen counts the rest, this head, then `bytes` of payload.  HYD_ADAPT_REPORTS
 * contains several reports: head, payload and padding of each.  Both sides are one build on one
 * architecture, so the byte order is the machine's.
 */

#ifndef WIRE_MESSAGE_H_INCLUDED
#define WIRE_MESSAGE_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "kinds.h"

struct HYD_adapt_message {
    uint32_t kind;
    uint32_t epoch;
    uint64_t bytes;
    /* of a command of the core to this proxy: 1, 2, ...; in a reply that of the command; else 0 */
    uint32_t sequence;
    uint32_t unused;
};

#define HYD_ADAPT_MESSAGE_MAX STEP_PAYLOAD_MAX  /* of a payload */
/* The largest body after a Hydra header: a payload with heads and lists around it (tree.h). */
#define HYD_ADAPT_BODY_MAX (2 * HYD_ADAPT_MESSAGE_MAX)

/* ---- several reports in one ------------------------------------------------------------------ */

/* Bytes of a report with this head in HYD_ADAPT_REPORTS. */
static inline size_t HYD_adapt_report_bytes(const struct HYD_adapt_message *message)
{
    return sizeof(*message) + ((size_t) message->bytes + 7) / 8 * 8;
}

/* Whether a report with this head can be the next of those in `left` bytes. */
static inline int HYD_adapt_report_holds(const struct HYD_adapt_message *message, size_t left)
{
    return message->kind != HYD_ADAPT_REPORTS && message->bytes <= HYD_ADAPT_MESSAGE_MAX &&
        HYD_adapt_report_bytes(message) <= left;
}

#ifdef COMMON_H_INCLUDED        /* Hydra's pm/pmiserv/common.h */

/* ---- headers --------------------------------------------------------------------------------- */

/* Both heads of a message with `bytes` of payload. */
struct HYD_adapt_heads {
    struct HYD_pmcd_hdr hdr;
    struct HYD_adapt_message message;
};
void HYD_adapt_fill_heads(struct HYD_adapt_heads *heads, struct HYD_adapt_message message,
                          uint64_t bytes);

/* Bytes of the message, Hydra's or ours, that begins with this header, including the header; 0: the
 * header is invalid.  From a proxy with this number of processes to mpiexec, or from mpiexec to a
 * proxy. */
size_t HYD_adapt_frame_from_proxy(const void *hdr, int processes);
size_t HYD_adapt_frame_from_mpiexec(const void *hdr);

#endif

#endif /* WIRE_MESSAGE_H_INCLUDED */
